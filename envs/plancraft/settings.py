"""What a sweep may set about PlanCraft."""

from __future__ import annotations

from ocm.spec import Model


class PlancraftSettings(Model):
    """The benchmark's optional actions. The paper's protocol has neither."""

    search: bool = False
    """Allow ``search: <item>``, which answers with the item's recipes and costs a step."""
    think: bool = False
    """Allow ``think: <text>``, which is answered with ``Ok`` and costs a step."""
