"""Floor 3: the methods, one folder each, prompts as text files beside the code.

An agent knows nothing of Prefect, Ray, MLflow or Parquet. A new method is one folder here and one
line in :mod:`agents.registry`.
"""
