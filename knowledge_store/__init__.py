"""Floor 2: what agents know, and where it is kept.

Memory as content-addressed files, deltas and merge (:mod:`knowledge_store.merge`), signatures and
inspection by parsing, static rules; :mod:`knowledge_store.sandbox` executes model-written code, and
nothing else in the project does; :mod:`knowledge_store.lake` is the durable record.
"""
