"""Budgets: whether another episode may be begun."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from knowledge_store.lake.paths import chains
from knowledge_store.lake.spending import Spending, Spent
from ocm.spec import Budget, BudgetSpec

FIELDS = ("usd", "tokens", "calls", "hours")


class OutOfBudget(Exception):
    """No further episode may be begun; the message says which budget is spent."""


class Purse:
    """The budgets of a sweep against what it has spent. May be asked from any thread."""

    def __init__(self, budgets: BudgetSpec, spending: Spending) -> None:
        self._budgets = budgets
        self._spending = spending
        self._lock = threading.Lock()
        self._limited = budgets != BudgetSpec()

    def check(self, chain: str) -> None:
        """See that the chain may begin another episode; costs nothing where there is no budget.

        Raises:
            OutOfBudget: it may not.
            StorageError: a commit record is damaged.
        """
        if not self._limited:
            return
        with self._lock:
            self._spending.refresh()
            of_sweep, of_chain = self._spending.of_sweep(), self._spending.of_chain(chain)
        reason = spent_up("budget.sweep", self._budgets.sweep, of_sweep) or spent_up(
            "budget.chain", self._budgets.chain, of_chain
        )
        if reason:
            raise OutOfBudget(reason)


def sweep_spending(root: Path, sweep: str, planned: Iterable[str]) -> Spending:
    """What the sweep's chains have spent: the planned ones, and those that an earlier form of its spec
    planned. An edit of the spec gives no money back."""
    return Spending(root, sweep, dict.fromkeys([*planned, *(one.chain for one in chains(root, sweep))]))


def spent_up(where: str, budget: Budget, spent: Spent) -> str:
    """Which field of a budget is spent, and what to do; empty if none is."""
    for field in FIELDS:
        limit, used = getattr(budget, field), getattr(spent, field)
        if limit is None:
            continue
        if used is None:
            return (
                f"{where}.{field} = {limit:,.12g} cannot be kept: the server told no usage for some calls, "
                f"so their price is unknown; remove it, or set {where}.calls instead"
            )
        if used >= limit:
            what = f"{where}.{field} = {limit:,.12g} is spent ({used:,.12g})"
            return f"{what}; raise it and the same command goes on"
    return ""
