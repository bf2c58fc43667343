"""Floor 1: the words of the project.

Frozen, typed data (:mod:`ocm.types`), the sweep spec (:mod:`ocm.spec`), the error tree
(:mod:`ocm.errors`) and identity (:mod:`ocm.identity`: hashes and seeds). No I/O, and no import
from any other room.
"""
