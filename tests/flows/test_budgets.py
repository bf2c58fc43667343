"""Budgets: which is spent, what the message says, and that a price is never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from flows.budgets import OutOfBudget, Purse, spent_up, sweep_spending
from flows.planning import plan
from flows.spec_file import parse_spec
from knowledge_store.lake.spending import Spending, Spent
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import SpecError
from ocm.spec import Budget, BudgetSpec
from tests.lake.fake import fake_chain


@pytest.mark.parametrize(
    ("budget", "spent", "said"),
    [
        (Budget(), Spent(9.0, 9, 9, 9.0), ""),
        (Budget(usd=2.0), Spent(1.99), ""),
        (Budget(usd=2.0), Spent(2.0), "b.usd = 2 is spent (2)"),
        (Budget(tokens=10), Spent(tokens=12), "b.tokens = 10 is spent (12)"),
        (Budget(calls=10), Spent(calls=9), ""),
        (Budget(calls=10), Spent(calls=10), "b.calls = 10 is spent (10)"),
        (Budget(hours=0.5), Spent(hours=0.75), "b.hours = 0.5 is spent (0.75)"),
        (Budget(usd=2.0), Spent(None), "b.usd = 2 cannot be kept"),
        (Budget(calls=10), Spent(None, calls=9), ""),
    ],
)
def test_which_budget_is_spent(budget: Budget, spent: Spent, said: str) -> None:
    found = spent_up("b", budget, spent)
    assert found.startswith(said) and bool(found) == bool(said)


def test_no_budget_reads_nothing(tmp_path: Path) -> None:
    class Unread(Spending):
        def refresh(self) -> None:
            raise AssertionError

    Purse(BudgetSpec(), Unread(tmp_path, "s", [])).check("chain")
    with pytest.raises(AssertionError):
        Purse(BudgetSpec(chain=Budget(calls=1)), Unread(tmp_path, "s", [])).check("chain")


def test_each_chain_and_all_together(tmp_path: Path) -> None:
    class Told(Spending):
        def refresh(self) -> None: ...

        def of_chain(self, chain: str) -> Spent:
            return Spent(calls={"a": 5, "b": 6}[chain])

        def of_sweep(self) -> Spent:
            return Spent(calls=11)

    told = Told(tmp_path, "s", [])
    of_each = Purse(BudgetSpec(chain=Budget(calls=6)), told)
    of_each.check("a")
    with pytest.raises(OutOfBudget, match=r"budget\.chain\.calls"):
        of_each.check("b")
    with pytest.raises(OutOfBudget, match=r"budget\.sweep\.calls"):
        Purse(BudgetSpec(sweep=Budget(calls=11)), told).check("a")


def spec(backbone: Mapping[str, object], budget: Mapping[str, object]) -> dict[str, object]:
    world = {"name": "plancraft", "limit": 1}
    given: dict[str, object] = {"name": "s", "methods": ["react"], "environments": [world]}
    return given | {"backbones": [backbone], "budget": budget, "seeds": [0]}


def test_money_needs_a_price() -> None:
    unknown: dict[str, object] = {"model": "my-model", "api_key_env": ""}
    for where in ("sweep", "chain"):
        with pytest.raises(SpecError) as raised:
            plan(parse_spec(spec(unknown, {where: {"usd": 5.0}}), "spec"), {})
        (problem,) = raised.value.problems
        assert problem.where == f"budget.{where}.usd"
        assert "my-model" in problem.found and "prices" in problem.mend
    prices: dict[str, object] = {"prices": {"input": 1.0, "output": 2.0}}
    plan(parse_spec(spec(unknown | prices, {"sweep": {"usd": 5.0}}), "spec"), {})
    plan(parse_spec(spec({"model": "gpt-4.1-mini", "api_key_env": ""}, {"sweep": {"usd": 5.0}}), "spec"), {})
    plan(parse_spec(spec(unknown, {"sweep": {"tokens": 5}}), "spec"), {})
    plan(parse_spec(spec({"kind": "scripted"}, {"chain": {"usd": 5.0}}), "spec"), {})


def test_a_budget_changes_no_chain() -> None:
    without, within = (
        plan(parse_spec(spec({"kind": "scripted"}, budget), "spec"), {}).chains[0].id
        for budget in ({}, {"sweep": {"calls": 1}})
    )
    assert without == within


@pytest.mark.parametrize("value", [0, -1.0, "much"])
def test_nonsense_is_refused(value: object) -> None:
    with pytest.raises(SpecError, match=r"problem"):
        parse_spec(spec({"kind": "scripted"}, {"sweep": {"usd": value}}), "spec")


def test_what_an_earlier_form_of_the_spec_has_spent_counts(tmp_path: Path) -> None:
    key = plan(parse_spec(spec({"kind": "scripted"}, {}), "s"), {}).chains[0].key
    commits = []
    for seed in (0, 1):
        first = next(fake_chain(replace(key, seed=seed), 1, steps=3))
        commits.append(ChainWriter(tmp_path, first.sweep, first.chain, first.key).commit(first))
    spending = sweep_spending(tmp_path, first.sweep, [first.chain])
    spending.refresh()
    assert spending.of_sweep().calls == sum(one.calls for one in commits)
    assert spending.of_chain(first.chain).calls == commits[1].calls > 0
