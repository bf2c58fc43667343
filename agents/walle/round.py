"""One learning round: predict, test, mine, write, test again, prune."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents.protocol import Bench
from agents.walle import mining
from agents.walle.checking import Unfit, checked, same
from agents.walle.judging import Effect, tested
from agents.walle.mining import Case
from agents.walle.pruning import Outcomes, fault, outcomes, select, without_replaced
from agents.walle.rules import ACTIVE, Rule, RuleBook
from agents.walle.settings import WalleSettings
from agents.walle.transitions import Key, Played, bounded
from ocm.identity import generator
from ocm.types import TaskRef, Verdict, VerificationRound


@dataclass(frozen=True, slots=True)
class Learned:
    """What a round leaves."""

    book: RuleBook
    episodes: Sequence[Played]
    plan: str
    """The mined rules in words."""
    rounds: tuple[VerificationRound, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What mining gave."""

    rules: tuple[Rule, ...] = ()
    """New ones, without code."""
    improves: Mapping[int, str] = field(default_factory=dict)
    """A new rule's number -> the name of the known rule that it puts better."""
    conflicting: frozenset[str] = frozenset()
    """Names of known rules that it found wrong. One in use stays until something seen contradicts it."""
    examples: Mapping[str, Case] = field(default_factory=dict)
    """By verb, a failure that led to a new rule."""


async def learned(
    book: RuleBook, episodes: Sequence[Played], task: TaskRef, settings: WalleSettings, bench: Bench
) -> Learned:
    """The rules after one more episode, the last one of ``episodes``.

    Raises:
        UnreadableReply: a request got two unreadable replies.
    """
    number = episodes[-1].number
    is_due = number % settings.interval == 0
    if is_due:
        recent = max(0, len(episodes) - settings.interval)
        predicted = await bench.stage("reflect", lambda: _predicted(episodes[recent:], task, settings, bench))
        episodes = [*episodes[:recent], *predicted]
    episodes = bounded(episodes, settings.buffer_cap)
    seen = outcomes(episodes)
    kept = await _effects(book.rules, episodes, bench)
    mined = Findings()
    if is_due:
        current = [played for played in episodes if played.number > number - settings.interval]
        foreseen = _foreseen(book, kept, seen)
        mined = await bench.stage("reflect", lambda: _mined(book, current, foreseen, task, settings, bench))
    new, unfit = await _coded(mined, book, bench)
    fresh = await _effects(new, episodes, bench)
    return _settled(book, new, mined, {**kept, **fresh}, unfit, episodes, settings)


async def _effects(rules: Sequence[Rule], episodes: Sequence[Played], bench: Bench) -> Mapping[str, Effect]:
    return await bench.stage("verify", lambda: tested(bench, rules, episodes)) if rules else {}


def _foreseen(book: RuleBook, kept: Mapping[str, Effect], seen: Outcomes) -> frozenset[Key]:
    """What the active rules hold back, those apart that have turned out to be wrong."""
    good = [kept[rule.name] for rule in book.active if not fault(kept[rule.name], seen)]
    return frozenset(key for one in good for key in one.vetoed)


async def _predicted(
    episodes: Sequence[Played], task: TaskRef, settings: WalleSettings, bench: Bench
) -> list[Played]:
    """The episodes with what the world model says of their actions; not asked where none failed."""
    chance = generator("walle", task.id, episodes[-1].number, "predict")
    chosen = mining.to_predict(mining.cases(episodes), settings.batch, chance)
    said = await mining.predict(bench, chosen) if chosen else {}
    return [
        replace(
            played,
            steps=tuple(
                replace(taken, foreseen=said.get(Key(played.number, index), taken.foreseen))
                for index, taken in enumerate(played.steps)
            ),
        )
        for played in episodes
    ]


async def _mined(
    book: RuleBook,
    episodes: Sequence[Played],
    foreseen: frozenset[Key],
    task: TaskRef,
    settings: WalleSettings,
    bench: Bench,
) -> Findings:
    """One request for each of the verbs that surprised most."""
    found = mining.cases(episodes)
    rules: list[Rule] = []
    improves: dict[int, str] = {}
    conflicting: set[str] = set()
    examples: dict[str, Case] = {}
    for verb in mining.to_mine(found, foreseen, settings):
        chance = generator("walle", task.id, episodes[-1].number, "mine", verb)
        chosen = mining.of_verb(verb, found, foreseen, settings.batch, chance)
        known = [rule for rule in book.rules if rule.verb == verb]
        said = await mining.mine(bench, verb, chosen, known, settings.miner_temp)
        drafts = mining.drafts(verb, said, known, book.last + len(rules))
        rules += [draft.rule for draft in drafts]
        improves |= {draft.rule.number: draft.improves for draft in drafts if draft.improves}
        conflicting |= {rule.name for rule in known if rule.name in said.conflicting}
        examples[verb] = next(case for case in chosen if mining.is_surprise(case, foreseen))
    return Findings(tuple(rules), improves, frozenset(conflicting), examples)


async def _coded(mined: Findings, book: RuleBook, bench: Bench) -> tuple[list[Rule], list[Verdict]]:
    """The new rules with their code, and a verdict for each whose code is not even tried."""
    if not mined.rules:
        return [], []
    verbs = {rule.verb for rule in mined.rules}
    examples = {verb: case for verb, case in mined.examples.items() if verb in verbs}
    written = await bench.stage("update", lambda: mining.code(bench, mined.rules, examples))
    good: list[Rule] = []
    unfit: list[Verdict] = []
    for place, rule in enumerate(mined.rules, start=1):
        try:
            code = checked(written.get(place, ""))
        except Unfit as problem:
            unfit.append(Verdict(_path(rule), False, "static", f"{_path(rule)}: {problem}"))
            continue
        if not any(same(code, other.code) for other in (*book.rules, *good)):
            good.append(replace(rule, code=code))
    return good, unfit


def _settled(
    book: RuleBook,
    new: Sequence[Rule],
    mined: Findings,
    found: Mapping[str, Effect],
    unfit: Sequence[Verdict],
    episodes: Sequence[Played],
    settings: WalleSettings,
) -> Learned:
    """The rules that stay, and a verdict for each new one and for each that goes."""
    seen = outcomes(episodes)
    faults = {rule.name: fault(found[rule.name], seen) for rule in (*book.rules, *new)}
    replaced = {mined.improves[rule.number] for rule in new if rule.number in mined.improves}
    left = {rule.name for rule in book.pool} & mined.conflicting
    good = [rule for rule in (*book.rules, *new) if not faults[rule.name] and rule.name not in left]
    good = without_replaced(good, replaced, found, seen.unforeseen)
    chosen = select(good, found, seen.unforeseen, settings.max_rules, settings.max_pool)
    verdicts = [_verdict(rule, faults[rule.name], found[rule.name], seen) for rule in new]
    verdicts += [
        _verdict(rule, faults[rule.name], found[rule.name], seen) for rule in book.rules if faults[rule.name]
    ]
    told = sorted((*unfit, *verdicts), key=lambda verdict: verdict.path)
    return Learned(
        RuleBook(chosen.active, chosen.pool, book.last + len(mined.rules)),
        episodes,
        "\n".join(f"{rule.name}: {rule.rule}" for rule in mined.rules),
        (VerificationRound(0, tuple(told)),) if told else (),
    )


def _verdict(rule: Rule, problem: str, found: Effect, seen: Outcomes) -> Verdict:
    path = _path(rule)
    if found.problem:
        return Verdict(path, False, "exception", f"{path}: {problem}")
    if problem:
        return Verdict(path, False, "false_alarm", f"{path}: {problem}")
    covered = len(found.vetoed & seen.unforeseen)
    return Verdict(path, True, "ok", output=f"foresees {covered} of {len(seen.unforeseen)} failures")


def _path(rule: Rule) -> str:
    return f"{ACTIVE}{rule.name}.py"
