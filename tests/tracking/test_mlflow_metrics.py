"""The numbers of one episode."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocm.redaction import without_password
from ocm.types import (
    Call,
    Episode,
    MemoryUpdate,
    TurnKind,
    UpdateOutcome,
    Usage,
    Validity,
    Verdict,
    VerificationRound,
)
from tasks.mlflow_metrics import Running, episode_metrics, flatten, parameters
from tasks.mlflow_store import metric_name, next_unknown
from tests.lake.fake import fake_chain, fake_episode, fake_key

MEMORY = {
    "objects.py": "class Table:\n    pass\n\ndef craft():\n    return 'ä'\n",
    "procedures/a.py": "from objects import Table\nTable()\n",
    "procedures/b.py": "x = 1\n",
    "notes.md": "é",
}


def metrics_of(episode: Episode) -> dict[str, float]:
    return episode_metrics(episode, MEMORY, Running().after(episode.trajectory))


def test_counts_of_one_episode() -> None:
    episode = fake_episode(fake_key(), 0, steps=20, success=True)
    found = metrics_of(episode)
    trajectory = episode.trajectory
    assert found["success"] == found["reward"] == found["running_sr"] == 1.0
    assert found["steps"] == found["turns"] == 20
    assert found["inspects"] == 0
    kinds = [found[f"invalid_{kind}"] for kind in ("malformed", "refused", "no_effect")]
    assert sum(kinds) == found["invalid_actions"] == trajectory.invalid_actions > 0
    assert found["invalid_refused"] == sum(step.validity is Validity.REFUSED for step in trajectory.steps)
    assert found["calls"] == 22
    assert found["tokens_prompt"] == sum(100 + number for number in range(22))
    assert (found["tokens_completion"], found["tokens_cached"], found["tokens_reasoning"]) == (220, 1100, 0)
    assert found["seconds_total"] == 30.0
    assert found["seconds_verify"] == 0.1


def test_knowledge_is_of_the_memory_after() -> None:
    found = metrics_of(fake_episode(fake_key(), 0))
    assert found["knowledge_objects_definitions"] == 2
    assert found["knowledge_procedures"] == 2


def test_fairness_is_measured_per_episode() -> None:
    episode = fake_episode(fake_key(), 1, steps=4)
    first, second, *others = episode.trajectory.turns
    turns = (replace(first, kind=TurnKind.PROGRAM), replace(second, kind=TurnKind.VETOED), *others)
    found = metrics_of(replace(episode, trajectory=replace(episode.trajectory, turns=turns)))
    assert (found["programs"], found["vetoes"], found["rehearsal_steps"]) == (1, 1, 1)
    assert (found["calls"], found["acting_calls"]) == (6, 4)
    assert found["acting_prompt_tokens"] == (100 + 101 + 102 + 103) / 4
    assert found["memory_bytes"] == episode.memory_bytes > 0


def test_an_unknown_price_is_not_a_price() -> None:
    episode = fake_episode(fake_key(), 0, cost=0.5, steps=2)
    assert metrics_of(episode)["cost"] == pytest.approx(2.0)
    call = episode.calls[0]
    unknown = Call(call.request, replace(call.reply, cost=None))
    assert "cost" not in metrics_of(replace(episode, calls=(unknown, *episode.calls[1:])))


def test_a_repaired_rejection() -> None:
    bad, good = Verdict("procedures/a.py", False, "exception"), Verdict("procedures/b.py", True, "ok")
    rounds = (VerificationRound(0, (bad, bad)), VerificationRound(1, (bad, good)))
    update = MemoryUpdate(UpdateOutcome.REJECTED, rounds=rounds)
    found = metrics_of(replace(fake_episode(fake_key(), 0), update=update))
    assert found["verification_committed"] == 0.0
    assert found["verification_rounds"] == 2
    assert found["verdicts_failed"] == 3


def test_an_episode_without_calls_or_steps() -> None:
    episode = fake_episode(fake_key(), 0)
    bare = replace(
        episode, calls=(), acting_calls=0, trajectory=replace(episode.trajectory, steps=(), turns=())
    )
    found = episode_metrics(bare, {}, Running().after(bare.trajectory))
    assert found["cost"] == found["reward"] == found["calls"] == 0.0
    assert "acting_prompt_tokens" not in found
    assert found["tokens_prompt"] == Usage().prompt


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_running_means_are_the_means_so_far(wins: list[bool]) -> None:
    running = Running()
    for index, won in enumerate(wins):
        episode = fake_episode(fake_key(), index, success=won, steps=2)
        running = running.after(episode.trajectory)
        found = episode_metrics(episode, {}, running)
        assert found["running_sr"] == pytest.approx(sum(wins[: index + 1]) / (index + 1))
        assert found["running_reward"] == pytest.approx(found["running_sr"])


def test_metrics_are_a_function_of_the_records() -> None:
    first, second = (list(fake_chain(fake_key(), 3)) for _ in range(2))
    assert [metrics_of(one) for one in first] == [metrics_of(one) for one in second]


def test_parameters_are_flat() -> None:
    flat = parameters(fake_key(settings={"max_repairs": 2, "inspect": {"per_step": 3}, "empty": {}}))
    assert flat["method_settings.max_repairs"] == "2"
    assert flat["method_settings.inspect.per_step"] == "3"
    assert flat["method_settings.empty"] == "{}"
    assert flat["seed"] == "0"


@given(st.recursive(st.integers(), lambda inner: st.dictionaries(st.text(min_size=1), inner, max_size=3)))
def test_flattening_keeps_every_leaf(nested: object) -> None:
    flat = flatten({"top": nested})
    assert flat
    assert all(isinstance(value, str) for value in flat.values())


@given(st.sets(st.integers(0, 20)))
def test_next_unknown_is_the_first_hole(known: set[int]) -> None:
    found = next_unknown(dict.fromkeys(known, 0))
    assert found not in known
    assert set(range(found)) <= known


def test_names_that_mlflow_takes() -> None:
    assert metric_name("sr/ocm-1.2/planc raft/gpt_4") == "sr/ocm-1.2/planc raft/gpt_4"
    assert metric_name("a+b=ü") == "a_b__"


def test_passwords_stay_out() -> None:
    assert without_password("https://ann:secret@mlflow.example:5000/x") == "https://ann@mlflow.example:5000/x"
    assert without_password("sqlite:////tmp/m.db") == "sqlite:////tmp/m.db"
