"""Counts as people write them."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str) -> str:
    """``1 chain``, ``1,200 chains``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
