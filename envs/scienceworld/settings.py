"""What a sweep may set about ScienceWorld."""

from __future__ import annotations

from pydantic import Field, field_validator

from ocm.spec import Model

TELEPORT = "teleportAction"
EASY = "easy"
NO_ELECTRICAL = "noElectricalAction"
SIMPLIFICATIONS = (EASY, "openContainers", "openDoors", "selfWateringFlowerPots", TELEPORT)
_EASY = ("openDoors", "selfWateringFlowerPots", TELEPORT)


class ScienceworldSettings(Model):
    """The simulator's simplifications. The default is the whole world, without any."""

    simplifications: list[str] = Field(default_factory=list)
    """Any of ``easy``, ``openContainers``, ``openDoors``, ``selfWateringFlowerPots`` and
    ``teleportAction``. ``easy`` is the simulator's own mix: all but ``openContainers``, and no
    electrical actions in the tasks that need none. Order and repetition mean nothing."""

    @field_validator("simplifications")
    @classmethod
    def _are_known(cls, values: list[str]) -> list[str]:
        for value in values:
            if value == NO_ELECTRICAL:
                raise ValueError(
                    f"{value!r} would make the electrical tasks impossible, and every task set has some; "
                    f"use {EASY!r}, which removes electrical actions from all other tasks"
                )
            if value not in SIMPLIFICATIONS:
                raise ValueError(f"{value!r} is none of {', '.join(SIMPLIFICATIONS)}")
        return sorted(set(values))

    def names(self, *, electrical: bool) -> tuple[str, ...]:
        """The simulator's names of what is simplified, sorted, in a task that is electrical or not."""
        chosen = set(self.simplifications)
        if EASY in chosen:
            chosen = chosen - {EASY} | set(_EASY) | (set() if electrical else {NO_ELECTRICAL})
        return tuple(sorted(chosen))
