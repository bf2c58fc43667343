"""Floor 5: orchestration. The ``sweep`` flow fans out, a ``chain`` plays its episodes in order, and
the ``ocm`` command line (:mod:`flows.cli`) drives both.

A flow knows nothing of prompts. Nothing is read back from Prefect: the lake is the truth.
"""
