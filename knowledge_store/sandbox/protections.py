"""Which protections are in force, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """How well model-written code is contained."""

    A = "A"
    """Every layer is in force."""
    B = "B"
    """Seccomp, and at least one further wall (Landlock, namespaces or an empty root)."""
    C = "C"
    """Seccomp is the only wall."""
    D = "D"
    """No seccomp: not contained. Refused unless the policy says ``allow_degraded``."""


MEANING = {
    Tier.A: "all layers are in force",
    Tier.B: "seccomp and at least one further wall are in force",
    Tier.C: "seccomp is the only wall",
    Tier.D: "NOT CONTAINED: model-written code can read files, use the network and start processes",
}

WALLS = ("landlock", "namespaces", "empty_root")


@dataclass(frozen=True, slots=True)
class Protection:
    """One layer. ``reason`` says why it is missing; empty when active."""

    name: str
    active: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Protections:
    """What a running zygote found to be in force, each layer checked by its effect."""

    layers: tuple[Protection, ...]

    def has(self, name: str) -> bool:
        """Whether the named layer is in force."""
        return any(layer.active for layer in self.layers if layer.name == name)

    @property
    def tier(self) -> Tier:
        if not self.has("seccomp"):
            return Tier.D
        if all(layer.active for layer in self.layers):
            return Tier.A
        return Tier.B if any(map(self.has, WALLS)) else Tier.C

    def describe(self) -> tuple[str, ...]:
        """One line for the tier, one for each layer."""
        head = f"sandbox tier {self.tier}: {MEANING[self.tier]}"
        return (head, *(_line(layer) for layer in self.layers))

    def key(self) -> str:
        """The active layers as one word, for cache keys and provenance."""
        return "+".join(layer.name for layer in self.layers if layer.active)


def _line(layer: Protection) -> str:
    return f"  {layer.name}: in force" if layer.active else f"  {layer.name}: missing, {layer.reason}"
