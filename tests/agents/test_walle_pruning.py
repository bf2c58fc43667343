"""Which rules stay, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from agents.walle import rules
from agents.walle.judging import Effect
from agents.walle.pruning import Selection, fault, outcomes, select, without_replaced
from agents.walle.rules import Rule, RuleBook
from agents.walle.transitions import Key, Played, Taken
from knowledge_store.memory import apply, diff

CODE = "def rule(state, action):\n    return '', True, ''\n"
EPISODE = Played(
    1, "g", "o", (Taken("a", "", True, True), Taken("b", "", False, True), Taken("c", "", False, False))
)


def rule(number: int, lines: int = 2) -> Rule:
    return Rule(number, "go", f"rule {number}", "", CODE + "#\n" * (lines - 2))


def vetoes(*steps: int) -> Effect:
    return Effect(frozenset(Key(1, step) for step in steps))


def chosen(covers: Mapping[int, Iterable[int]], max_rules: int = 20, max_pool: int = 30) -> Selection:
    """Rules by number with what they veto, of the unforeseen failures 0 to 9."""
    known = [rule(number) for number in covers]
    tested = {rule(number).name: vetoes(*steps) for number, steps in covers.items()}
    return select(known, tested, frozenset(Key(1, step) for step in range(10)), max_rules, max_pool)


def numbers(found: Iterable[Rule]) -> list[int]:
    return [one.number for one in found]


def test_a_false_alarm_or_an_exception_is_a_fault() -> None:
    seen = outcomes([EPISODE])
    assert fault(vetoes(1, 2), seen) == ""
    assert fault(vetoes(0), seen).startswith("1 false alarm(s)") and "'a'" in fault(vetoes(0), seen)
    assert fault(Effect(problem="KeyError: 'x'"), seen) == "KeyError: 'x'"


def test_only_failures_that_the_model_did_not_foresee_are_to_be_covered() -> None:
    assert outcomes([EPISODE]).unforeseen == {Key(1, 1)}


def test_greedy_coverage() -> None:
    found = chosen({1: [0, 1], 2: [0, 1, 2], 3: [3], 4: [2, 3], 5: [], 6: [12]})
    assert numbers(found.active) == [2, 3] and numbers(found.pool) == [1, 4, 5, 6]


def test_equal_coverage_prefers_the_shorter_then_the_older() -> None:
    tested = {rule(number).name: vetoes(1) for number in (1, 2, 3)}
    found = select([rule(1, 5), rule(3), rule(2)], tested, frozenset([Key(1, 1)]), 20, 30)
    assert numbers(found.active) == [2] and numbers(found.pool) == [1, 3]


def test_a_rule_that_was_put_better_stays_where_others_cover_less() -> None:
    effects = {rule(1).name: vetoes(1, 2), rule(2).name: vetoes(1), rule(3).name: vetoes(2)}
    unforeseen = frozenset([Key(1, 1), Key(1, 2)])
    for others, kept in (([2], [2, 1]), ([2, 3], [2, 3])):
        known = [rule(1), *map(rule, others)]
        assert numbers(without_replaced(known, {rule(1).name}, effects, unforeseen)) == kept


def test_bounds_keep_the_most_useful_and_the_newest() -> None:
    found = chosen({number: range(number) for number in range(1, 9)}, max_rules=1, max_pool=3)
    assert numbers(found.active) == [8] and numbers(found.pool) == [5, 6, 7]
    assert chosen({1: [1]}, max_rules=0, max_pool=0) == Selection((), ())


@given(st.dictionaries(st.integers(1, 60), st.frozensets(st.integers(0, 9), max_size=4)), st.integers(0, 4))
def test_selection_covers_what_can_be_covered_within_the_bounds(
    covers: dict[int, frozenset[int]], most: int
) -> None:
    found = chosen(covers, max_rules=most)
    assert len(found.active) <= most and len(found.pool) <= 30
    assert not set(numbers(found.active)) & set(numbers(found.pool))
    if len(found.active) < most:
        covered = {step for number in numbers(found.active) for step in covers[number]}
        assert covered == {step for steps in covers.values() for step in steps}


def test_a_rule_book_is_read_as_it_was_written() -> None:
    book = RuleBook((rule(1), rule(10)), (rule(2), Rule(11, "pick-up!", "é", "c", CODE)), 12)
    memory = apply({}, diff({}, rules.written(book)))
    assert rules.read(memory) == book and rules.read({}) == RuleBook() and rules.written(RuleBook()) == {}
    assert [path for path in memory if path.endswith(".py")] == [
        "pool/go_00002.py",
        "pool/pick_up_00011.py",
        "rules/go_00001.py",
        "rules/go_00010.py",
    ]


@given(
    st.lists(st.tuples(st.integers(1, 99_999), st.text(max_size=30)), max_size=20, unique_by=lambda a: a[0])
)
def test_no_name_is_the_beginning_of_another(made: list[tuple[int, str]]) -> None:
    names = [Rule(number, verb, "", "", CODE).name for number, verb in made]
    assert len({*names}) == len(names)
    assert not any(a != b and b.startswith(a) for a in names for b in names)
    apply({}, diff({}, rules.written(RuleBook(tuple(Rule(n, v, "", "", CODE) for n, v in made), (), 99_999))))
