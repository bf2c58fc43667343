"""Expansion of a spec into chains, and the checks before anything runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from agents.registry import METHODS
from agents.workload import one_update
from envs import registry as environments
from flows.estimate import estimate_chain, total, turn_tokens
from flows.planning import ordered, plan
from flows.spec_file import parse_spec
from ocm.errors import SpecError
from ocm.spec import SweepSpec
from ocm.types import TaskRef

TASKS = tuple(TaskRef("e", "s", str(number), "easy") for number in range(50))


def spec(**changes: object) -> SweepSpec:
    table = {"name": "s", "methods": ["ocm"], "environments": ["plancraft"], "backbones": ["scripted"]}
    return parse_spec({**table, **changes}, "s")


def test_the_product_in_a_stable_order() -> None:
    chains = plan(spec(methods=["ocm", "react"], seeds=[0, 7]), {}).chains
    assert [(chain.key.method, chain.key.seed) for chain in chains] == [
        ("ocm", 0),
        ("ocm", 7),
        ("react", 0),
        ("react", 7),
    ]
    assert len({chain.id for chain in chains}) == 4
    assert all(len(chain.tasks) == 117 for chain in chains)


def test_limit_and_running_do_not_change_a_chains_identity() -> None:
    limited = plan(spec(environments=[{"name": "plancraft", "limit": 3}], run={"chains": 1}), {}).chains
    whole = plan(spec(), {}).chains
    assert [chain.id for chain in limited] == [chain.id for chain in whole]
    assert limited[0].tasks == whole[0].tasks[:3]


@pytest.mark.parametrize(
    "changes",
    [
        {"methods": [{"name": "ocm", "settings": {"max_repairs": 1}}]},
        {"methods": ["ocm-no-verification"]},
        {"environments": [{"name": "plancraft", "settings": {"think": True}}]},
        {"environments": [{"name": "plancraft", "task_set": "val.small"}]},
        {"environments": [{"name": "plancraft", "order": "shuffled"}]},
        {"backbones": [{"kind": "scripted", "error_rate": 0.5}]},
        {"seeds": [5, 6, 7]},
    ],
)
def test_what_changes_a_result_changes_the_identity(changes: dict[str, object]) -> None:
    assert plan(spec(**changes), {}).chains[0].id != plan(spec(), {}).chains[0].id


def test_shuffled_order_is_a_permutation_that_depends_on_the_seed_alone() -> None:
    assert ordered(TASKS, "benchmark", 1) == TASKS
    assert ordered(TASKS, "shuffled", 1) == ordered(TASKS, "shuffled", 1) != ordered(TASKS, "shuffled", 2)
    assert sorted(ordered(TASKS, "shuffled", 1), key=lambda task: int(task.id)) == list(TASKS)


def test_strata_are_planned_in_the_benchmarks_order_whatever_the_tasks() -> None:
    world = {"name": "plancraft", "task_set": "test", "order": "shuffled", "limit": 3}
    for chain in plan(spec(environments=[world], seeds=[0, 1]), {}).chains:
        planned = {one.stratum: one.episodes for one in chain.strata}
        assert list(planned) == ["easy", "medium", "hard", "impossible"]
        assert {name: count for name, count in planned.items() if count} == Counter(
            task.stratum for task in chain.tasks
        )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"methods": ["ocmm"]}, "did you mean ocm"),
        ({"environments": ["plancarft"]}, "did you mean plancraft"),
        ({"environments": [{"name": "plancraft", "task_set": "tset"}]}, "environments[0].task_set: 'tset'"),
        ({"environments": [{"name": "plancraft", "settings": {"serch": True}}]}, "serch"),
        (
            {"methods": [{"name": "ocm", "settings": {"max_repairs": "two"}}]},
            "methods[0].settings.max_repairs",
        ),
        ({"backbones": [{"model": "gpt-4.1-mini"}]}, "OPENAI_API_KEY"),
    ],
)
def test_unknown_names_wrong_settings_and_missing_keys(changes: dict[str, object], expected: str) -> None:
    with pytest.raises(SpecError) as caught:
        plan(spec(**changes), {})
    lines = [str(problem) for problem in caught.value.problems]
    assert len(lines) == 1
    assert expected in lines[0]


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        plan(spec(methods=["x"], environments=["y"], backbones=["gpt-4.1-mini"]), {})
    assert len(caught.value.problems) == 3


def test_estimates_add_up_and_never_guess_a_price() -> None:
    key = {"OPENAI_API_KEY": "k"}
    known = plan(spec(backbones=["gpt-4.1-mini"]), key).chains[0]
    unknown = plan(spec(backbones=[{"model": "nobody-knows-it"}]), key).chains[0]
    estimates = [estimate_chain(known), estimate_chain(unknown)]
    cost = estimates[0].cost
    assert cost is not None
    assert cost > 0
    assert estimates[1].cost is None
    assert total(estimates).cost is None
    assert total(estimates).calls == estimates[0].calls + estimates[1].calls
    assert estimates[0].calls < estimates[0].calls_at_most


def test_react_neither_inspects_nor_learns() -> None:
    ocm, react = plan(spec(methods=["ocm", "react"], seeds=[0]), {}).chains
    assert estimate_chain(react).calls < estimate_chain(ocm).calls
    assert estimate_chain(react).cost == 0.0


@pytest.mark.parametrize(
    ("method", "calls", "at_most", "prompt", "completion"),
    [
        # 0.7 of 30 steps, 0.3 corrections; OCM: 3 inspects, 1 plan, 1.3 updates, at most 15 inspects and 8
        ("react", 21.3, 60, 0, 21.3 * 90),
        ("ocm", 24.3 + 2.3, 60 + 15 + 8, 24.3 * 3_000, 24.3 * 90 + 500 + 1.3 * 1_500),
        ("ocm-no-verification", 24.3 + 2, 60 + 15 + 8, 24.3 * 3_000, 24.3 * 90 + 2_000),
        ("ocm-no-disclosure", 21.3 + 2.3, 60 + 15 + 8, 21.3 * 3_000, 21.3 * 90 + 500 + 1.3 * 1_500),
    ],
)
def test_an_estimate_by_hand(
    method: str, calls: float, at_most: int, prompt: float, completion: float
) -> None:
    chain = replace(plan(spec(methods=[method], seeds=[0]), {}).chains[0], step_limit=30, rules="")
    chain = replace(chain, tasks=chain.tasks[:1])
    found = estimate_chain(chain)
    turns = calls if method == "react" else calls - (2 if method == "ocm-no-verification" else 2.3)
    turn = turn_tokens("plancraft")
    acting = prompt + turns * 150 + turn * turns * (turns - 1) / 2
    learning = (calls - turns) * (2_000 + 3_000 + min(turns * turn, 12_000))
    assert found.calls == pytest.approx(calls)
    assert found.calls_at_most == at_most
    assert found.prompt_tokens == pytest.approx(acting + learning)
    assert found.completion_tokens == pytest.approx(completion)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_workload_and_its_bound_holds(method: str) -> None:
    chain = plan(spec(methods=[method], seeds=[0]), {}).chains[0]
    assert METHODS[method].workload is not one_update, "declare its workload in agents/workloads.py"
    found = estimate_chain(chain)
    assert 0 < found.calls < found.calls_at_most
    assert found.prompt_tokens > found.completion_tokens > 0


def test_a_workload_follows_the_settings() -> None:
    few, many = (
        plan(spec(methods=[{"name": "worldcoder", "settings": {"calls_per_episode": n}}], seeds=[0]), {})
        for n in (0, 20)
    )
    assert estimate_chain(few.chains[0]).calls < estimate_chain(many.chains[0]).calls
    assert estimate_chain(many.chains[0]).calls_at_most == len(many.chains[0].tasks) * (3 * 30 + 22)


def test_longer_observations_longer_rules_and_more_steps_cost_more() -> None:
    chain = plan(spec(), {}).chains[0]
    wordy = replace(environments.entry("plancraft"), observation_characters=2_000)
    before = estimate_chain(chain).prompt_tokens
    assert estimate_chain(replace(chain, rules="x" * 8_000)).prompt_tokens > before
    assert estimate_chain(replace(chain, step_limit=100)).prompt_tokens > 3 * before
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environments, "ENVIRONMENTS", {"plancraft": wordy})
        assert estimate_chain(chain).prompt_tokens > before


@pytest.mark.parametrize("second", [{"limit": 2}, {"settings": {"search": False}}, {"order": "shuffled"}])
def test_one_task_set_twice_would_be_averaged_as_seeds(second: dict[str, object]) -> None:
    twice = [
        {"name": "plancraft", "task_set": "val.small"},
        {"name": "plancraft", "task_set": "val.small", **second},
    ]
    with pytest.raises(SpecError) as raised:
        plan(spec(environments=twice), {})
    assert "environments[1]: plancraft val.small" in str(raised.value.problems[0])
