"""Executes model-written code; nothing else in the project does.

A warm, exec-started zygote forks one confined process per procedure. See docs/sandbox.md for the layers,
the tiers and what cannot be closed. ``jail/`` is what runs inside and imports nothing of the project.
"""

from knowledge_store.sandbox.cache import VerdictCache
from knowledge_store.sandbox.policy import LAYERS, PRELOADED, Policy
from knowledge_store.sandbox.protections import Protection, Protections, Tier
from knowledge_store.sandbox.sandbox import Sandbox, probe

__all__ = [
    "LAYERS",
    "PRELOADED",
    "Policy",
    "Protection",
    "Protections",
    "Sandbox",
    "Tier",
    "VerdictCache",
    "probe",
]
