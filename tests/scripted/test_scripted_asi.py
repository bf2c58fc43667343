"""ASI at work on PlanCraft: a skill is induced, verified on the same task, shown, and called later."""

from __future__ import annotations

from envs.plancraft.environment import PlancraftEnvironment
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Episode, TurnKind, UpdateOutcome
from tests.scripted.texts import Boxed, play_tasks

TEACHES, USES = "VAL0346", "VAL0155"
"""A wall of mossy cobblestone, found by trying; then one of cobblestone."""


def chain(error_rate: float = 0.0) -> tuple[list[Episode], dict[str, str]]:
    environment = PlancraftEnvironment()
    by_id = {task.id: task for task in environment.tasks("val.small")}
    tasks = [by_id[TEACHES], by_id[USES]]
    with Sandbox(Policy(wall_seconds=2.0)) as sandbox:
        return play_tasks(environment, tasks, "asi", error_rate=error_rate, verifier=Boxed(sandbox))


def test_a_skill_that_was_induced_and_verified_is_called_in_a_later_episode() -> None:
    (taught, used), memory = chain()
    assert taught.trajectory.success and taught.update.outcome is UpdateOutcome.COMMITTED
    ((verdict,),) = (one.verdicts for one in taught.update.rounds)
    assert (verdict.path, verdict.ok) == ("skills/craft_wall.py", True)
    assert taught.rehearsal_steps == 7, "it was carried out again on a new instance"

    acting = [call.request for call in used.calls if call.request.purpose == "act"]
    assert all(memory["skills/craft_wall.py"].strip() in one.messages[0].content for one in acting)
    (turn,) = used.trajectory.turns
    assert (turn.kind, turn.content) == (TurnKind.PROGRAM, "craft_wall(['cobblestone'], 1)")
    assert used.trajectory.success and len(used.trajectory.steps) == 7, "each action in it is a step"
    assert used.trajectory.invalid_actions == 0
    assert '"craft_wall": 1' in memory["usage.json"]


def test_a_wrong_skill_is_rejected_and_the_library_stays() -> None:
    """The stand-in's wrong skills ask for more than the grid gives."""
    (taught, later), memory = chain(error_rate=1.0)
    assert taught.trajectory.success and taught.update.outcome is UpdateOutcome.REJECTED
    ((verdict,),) = (one.verdicts for one in taught.update.rounds)
    assert verdict.kind == "exception" and "did not carry out move: from [0]" in verdict.report
    assert 0 < taught.rehearsal_steps <= len(taught.trajectory.steps)
    assert memory == {} and taught.memory_before == taught.memory_after
    assert not later.trajectory.success, "the skill would have helped"


def test_what_was_found_by_trying_is_rewritten_straight() -> None:
    """28 steps of trying end with five that matter; the replay shows that those suffice."""
    environment = PlancraftEnvironment()
    tasks = [task for task in environment.tasks("val.small") if task.id == "VAL0338"]
    with Sandbox(Policy(wall_seconds=2.0)) as sandbox:
        ((taught,), memory) = play_tasks(environment, tasks, "asi", verifier=Boxed(sandbox))
    assert taught.trajectory.success and len(taught.trajectory.steps) == 28
    assert taught.rehearsal_steps == 5 and "skills/craft_wool.py" in memory
