"""Measurements: each module is run with ``python -m benchmarks.NAME`` and prints a table."""
