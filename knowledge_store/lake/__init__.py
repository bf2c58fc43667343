"""The lake: the durable record of a storage root, in Parquet and small commit records.

One episode is one Parquet file and one commit record (:mod:`.writer`); a finished chain gets flat
tables (:mod:`.compact`); DuckDB views show both as one (:mod:`.views`). The per-episode files and
their commit records are the truth: flat tables can be made again from them at any time.
"""
