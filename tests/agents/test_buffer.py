"""The replay buffer: bounded, read back as written, and sampled without doubles for WorldCoder."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agents import buffer
from agents.acting import malformed_observation
from agents.buffer import Outcome, Played
from agents.worldcoder.sampling import Key, sample
from knowledge_store.memory import check_path
from ocm.types import EndReason, Step, Trajectory, Validity
from tests.agents.fakes import TASK

outcomes = st.builds(
    Outcome,
    st.sampled_from("ab"),
    st.sampled_from("xy"),
    st.booleans(),
    st.just(0.0),
    st.none() | st.booleans(),
)
episodes = st.lists(st.lists(outcomes, min_size=1, max_size=8), min_size=1, max_size=12).map(
    lambda listed: [Played(n, "goal", "first", tuple(steps)) for n, steps in enumerate(listed, start=1)]
)


@given(episodes)
def test_what_is_written_is_read_back(played: list[Played]) -> None:
    assert buffer.read(buffer.written(played)) == played
    assert all(check_path(path) for path in buffer.written(played))


@given(episodes, st.integers(1, 30))
def test_the_oldest_episodes_go_first_and_whole(played: list[Played], cap: int) -> None:
    kept = buffer.bounded(played, cap)
    assert kept and kept == played[-len(kept) :]
    assert len(kept) == 1 or sum(len(one.steps) for one in kept) <= cap


@given(episodes, st.data(), st.integers(1, 30))
def test_the_sample_is_bounded_distinct_and_prefers_what_went_wrong(
    played: list[Played], data: st.DataObject, cap: int
) -> None:
    keys = [Key(one.number, index) for one in played for index in range(len(one.steps))]
    wrong = frozenset(data.draw(st.sets(st.sampled_from(keys))))
    drawn = sample(played, wrong, cap)
    steps = {key: played[key.episode - 1].steps[key.step] for key in keys}
    pairs = [(steps[key].action, steps[key].observation) for key in drawn]
    assert len(set(pairs)) == len(pairs) <= cap and list(drawn) == sorted(drawn)
    missed = {(steps[key].action, steps[key].observation) for key in wrong} - set(pairs)
    assert not missed or all(key in wrong for key in drawn)


def test_rewards_are_gains_and_replies_without_an_action_are_left_out() -> None:
    steps = (
        Step("a", "x", 0.25, False, False, Validity.VALID),
        Step("hm", malformed_observation(), 0.25, False, False, Validity.MALFORMED),
        Step("b\ud800", "y" * 9, 0.75, True, False, Validity.REFUSED),
    )
    lost = Trajectory(TASK, "goal", "first", steps, (), (), EndReason.FAILURE)
    assert buffer.finished(lost, 3, 4).steps == (
        Outcome("a", "x", True, 0.25, False),
        Outcome("b?", "yyyy", False, 0.5, True),
    )


def test_whether_the_last_action_allowed_ended_the_task_is_unknown() -> None:
    steps = (Step("a", "x", 0.0, True, False, Validity.VALID),)
    cut = Trajectory(TASK, "goal", "first", steps, (), (), EndReason.STEP_LIMIT)
    assert buffer.finished(cut, 1, 99).steps[0].done is None
