"""What a sweep may set about ALFWorld."""

from __future__ import annotations

from ocm.spec import Model


class AlfworldSettings(Model):
    """Nothing: the benchmark's protocol has no options."""
