"""ExpeL: episodes are recorded and paired, insights are voted on, and both stand in bounded prompts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents import registry
from agents.expel import insights as voting
from agents.expel.agent import memory_text
from agents.expel.experience import INDEX, read_pool
from agents.expel.insights import PATH
from agents.expel.settings import ExpelSettings
from agents.protocol import View
from knowledge_store.index import estimate_tokens
from knowledge_store.memory import apply, check_path
from ocm.types import Files, MemoryUpdate, Observation, Reply, Trajectory, UpdateOutcome
from tests.agents.fakes import FIRST, TASK, FakeBench, reply, step, trajectory

ADD = "ADD 1: Put logs on the grid."
HEAT, COOL, SING = "heat an egg in the oven", "heat a mug in the oven", "sing loudly"


def played(goal: str, success: bool, *, word: str = "ok", steps: int = 2) -> Trajectory:
    actions = [step(f"do {word}", text=word) for _ in range(steps - 1)]
    return replace(trajectory(*actions, step("end", done=success, success=success, text=word)), goal=goal)


class Chain:
    """A chain of learning with an agent that is made anew each time."""

    def __init__(self, memory: Files | None = None, **settings: float) -> None:
        self.settings = settings
        self.memory = dict(memory or {})
        self.bench = FakeBench()

    async def learn(self, episode: Trajectory, *replies: str | Reply) -> MemoryUpdate:
        self.bench = FakeBench(*replies)
        update = await registry.create("expel", self.settings).learn(episode, self.memory, self.bench)
        assert not self.bench.replies, "fewer calls than expected"
        self.memory = apply(self.memory, update.delta)
        assert all(check_path(path) for path in self.memory)
        files = {path for path in self.memory if path.startswith("experience/") and path != INDEX}
        assert files == {past.path for past in read_pool(self.memory)}, "one file for each listed episode"
        return update

    @property
    def pool(self) -> list[tuple[str, bool, bool]]:
        return [(past.goal, past.success, past.is_new) for past in read_pool(self.memory)]

    @property
    def insights(self) -> list[tuple[str, int]]:
        return [(one.text, one.importance) for one in voting.read(self.memory.get(PATH, ""))]


async def prompt(chain: Chain, goal: str) -> str:
    bench = FakeBench("Action: go")
    view = View(TASK, "Rules.", 30, Observation(goal, FIRST.text), (), 0, (), chain.memory, {})
    await registry.create("expel", chain.settings).act(view, bench)
    return bench.prompt(0, 0)


# --- what is asked, and when ---------------------------------------------------------------------


async def test_an_episode_without_counterpart_is_recorded_without_a_call() -> None:
    chain = Chain()
    update = await chain.learn(played(HEAT, False))
    assert update.outcome is UpdateOutcome.COMMITTED and "nothing to compare" in update.reason
    await chain.learn(played(SING, True))
    assert chain.pool == [(HEAT, False, False), (SING, True, True)] and not chain.insights


async def test_a_success_is_compared_with_the_failure_before_it_which_leaves_the_pool() -> None:
    chain = Chain()
    await chain.learn(played(HEAT, False, word="smoke"))
    update = await chain.learn(played(COOL, True, word="steam"), ADD)
    assert chain.bench.purposes == ["compare"] and chain.bench.stages == ["update"]
    assert chain.bench.temperatures == [0.0]
    system, user = chain.bench.prompt(0, 0), chain.bench.prompt(0)
    assert "similar, not the same" in system and "The list is full" not in system
    assert user.index(HEAT) < user.index("smoke") < user.index(f"# Task\n{COOL}") < user.index("steam")
    assert user.endswith("# What is known\nNothing yet.")
    assert chain.pool == [(COOL, True, True)]
    assert chain.insights == [("Put logs on the grid.", 2)]
    assert (update.plan, update.reason) == ("ADD: Put logs on the grid.", "")


async def test_a_failure_is_compared_with_a_success_before_it_which_stays() -> None:
    chain = Chain({PATH: "- (2) Look.\n"})
    await chain.learn(played(HEAT, True, word="steam"))
    await chain.learn(played(COOL, False, word="smoke"), "AGREE 1: Look.")
    user = chain.bench.prompt(0)
    assert user.index("smoke") < user.index("steam") < user.index("# What is known\n1. Look.")
    assert chain.pool == [(HEAT, True, True)] and chain.insights == [("Look.", 3)]


async def test_tasks_that_are_not_similar_are_not_compared() -> None:
    chain = Chain()
    await chain.learn(played(HEAT, False))
    await chain.learn(played(SING, True))
    eager = Chain(similarity=0.0)
    await eager.learn(played(HEAT, False))
    await eager.learn(played(SING, True), ADD)
    assert len(chain.pool) == 2 and eager.pool == [(SING, True, True)]


async def test_four_new_successes_are_looked_at_together_once() -> None:
    chain = Chain()
    for number in range(3):
        await chain.learn(played(f"{HEAT} {number}", True, word=f"word{number}"))
    await chain.learn(played(f"{HEAT} 3", True, word="word3"), ADD)
    assert chain.bench.purposes == ["critique"]
    assert [chain.bench.prompt(0).count(f"do word{number}") for number in range(4)] == [1, 1, 1, 1]
    assert [is_new for *_, is_new in chain.pool] == [False] * 4
    await chain.learn(played(f"{HEAT} 4", True))
    assert chain.pool[-1][-1] and len(chain.pool) == 5


async def test_no_changes_counts_as_a_lesson() -> None:
    chain = Chain({PATH: "- (2) Look.\n"})
    await chain.learn(played(HEAT, False))
    update = await chain.learn(played(COOL, True), "NO CHANGES")
    assert update.reason == "the insights stay as they are" and len(chain.pool) == 1


async def test_a_full_list_asks_for_removals() -> None:
    chain = Chain({PATH: "- (2) Look.\n"}, max_rules=1)
    await chain.learn(played(HEAT, False))
    await chain.learn(played(COOL, True), "REMOVE 1: Look.")
    assert "The list is full" in chain.bench.prompt(0, 0) and chain.insights == [("Look.", 1)]


# --- replies that cannot be used -----------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "I am sorry, I cannot help.",
        reply("ADD 1: Cut off here.", "length"),
        '{"operations": [{"ADD": 3}]}',
        "```python\nimport os\nos.remove('x')\n```",
        "ADD 1: no full stop",
    ],
)
async def test_unreadable_operations_change_no_insight_and_lose_no_episode(bad: str | Reply) -> None:
    chain = Chain({PATH: "- (2) Look.\n"})
    await chain.learn(played(HEAT, False))
    update = await chain.learn(played(COOL, True), bad, bad)
    assert chain.bench.purposes == ["compare", "compare_correction"]
    assert "no operations" in update.reason and chain.insights == [("Look.", 2)]
    assert PATH not in {change.path for change in update.delta}
    assert chain.pool == [(HEAT, False, False), (COOL, True, True)]


async def test_a_second_reply_mends_the_first() -> None:
    chain = Chain()
    await chain.learn(played(HEAT, False))
    await chain.learn(played(COOL, True), "Well.", ADD)
    assert chain.insights == [("Put logs on the grid.", 2)]


async def test_half_a_surrogate_pair_in_a_thought_or_an_insight_can_be_kept() -> None:
    chain = Chain()
    episode = played(HEAT, False)
    turns = tuple(replace(turn, thought="odd \ud800 thought") for turn in episode.turns)
    await chain.learn(replace(episode, turns=turns))
    await chain.learn(played(COOL, True), "ADD 1: Odd \udfff text.")
    assert all(text.encode() for text in chain.memory.values())


# --- the acting prompt ---------------------------------------------------------------------------


async def test_the_prompt_holds_insights_and_the_most_similar_successes() -> None:
    chain = Chain({PATH: "- (5) Look twice.\n- (2) Open doors.\n"})
    for goal, word in ((HEAT, "steam"), (SING, "song"), ("heat a pan in the oven", "hiss")):
        await chain.learn(played(goal, True, word=word))
    shown = await prompt(chain, "heat a cup in the oven")
    assert "\n# Insights\n" in shown and "1. Look twice.\n2. Open doors." in shown and "(5)" not in shown
    assert "do steam" in shown and "do hiss" in shown and "do song" not in shown
    assert shown == await prompt(chain, "heat a cup in the oven")


async def test_failures_are_no_examples_and_an_empty_memory_shows_nothing() -> None:
    chain = Chain()
    await chain.learn(played(HEAT, False, word="smoke"))
    shown = await prompt(chain, HEAT)
    assert "smoke" not in shown and shown.endswith("the environment answers.")


async def test_a_long_success_is_skipped_for_the_next_one() -> None:
    chain = Chain(example_tokens=200)
    await chain.learn(played(HEAT, True, word="long", steps=40))
    await chain.learn(played(SING, True, word="short"))
    shown = await prompt(chain, HEAT)
    assert "do long" not in shown and "do short" in shown


async def test_hundreds_of_episodes_stay_within_the_bounds() -> None:
    chain = Chain({PATH: ""}, max_experience=20)
    for number in range(150):
        success = number % 3 > 0
        asks = _is_lesson(chain, number)
        operations = [f"ADD 1: {'Insight ' * 60}{number}-{part}." for part in range(4)]
        episode = played(HEAT, success, word="w" * 400, steps=30)
        await chain.learn(episode, *(["\n".join(operations)] if asks else []))
    assert len(chain.pool) <= 20 and len(chain.insights) == 15
    assert estimate_tokens(memory_text(HEAT, chain.memory, ExpelSettings())) <= 6_000
    assert estimate_tokens(memory_text(HEAT, chain.memory, ExpelSettings(memory_tokens=500))) <= 500


def _is_lesson(chain: Chain, number: int) -> bool:
    """All tasks are similar: a failure meets a success; a success meets a failure or fills a chunk."""
    pool = read_pool(chain.memory)
    if number % 3 == 0:
        return any(past.success for past in pool)
    return any(not past.success for past in pool) or sum(past.is_new for past in pool) >= 3


async def test_the_oldest_episode_goes_first_with_its_file() -> None:
    chain = Chain(max_experience=2)
    for goal in (HEAT, SING, COOL):
        await chain.learn(played(goal, True))
    assert [goal for goal, *_ in chain.pool] == [SING, COOL]
    assert sorted(chain.memory) == ["experience/0002.md", "experience/0003.md", INDEX]
