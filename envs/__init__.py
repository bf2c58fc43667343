"""Floor 2: text environments behind one protocol, and the Ray actor that hosts one.

A new environment is one folder here and one line in :mod:`envs.registry`.
"""
