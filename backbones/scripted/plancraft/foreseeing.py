"""What an action in PlanCraft does, as PoE-World's experts: from what was seen once to what may hold always.

What was seen stands in the first line of an expert, in the sentences that any memory is read for.
"""

from __future__ import annotations

from collections.abc import Iterator

from backbones.scripted.names import kind
from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.reading import OUTPUT, Command, Event, State, command_in
from backbones.scripted.plancraft.sentences import sentences

EXTRACTOR = r'''import re

STACK = re.compile(r"- (\S+) \[(\w+)\] quantity (\d+)")
SLOTS = ["0", *(row + column for row in "ABC" for column in "123"), *("I" + str(n) for n in range(1, 37))]


def extract(observation):
    """All slots, empty ones too."""
    if "inventory:" not in observation:
        return {}
    held = {slot: (item, count) for item, slot, count in STACK.findall(observation)}
    found = {}
    for slot in SLOTS:
        item, count = held.get(slot, ("empty", "0"))
        found["[" + slot + "]"] = {"type": item, "state": count + " " + item, "location": "[" + slot + "]"}
    return found
'''
_OPENING = r"""import re

PARTS = re.compile(r"(move|smelt).*?from (\[\w+\]) to (\[\w+\]) with quantity (\d+)")
"""
_EXPERT = '''

def expert(objs, action):
    """{words}."""
    parts = PARTS.search(action)
    if not parts or parts[1] != "{verb}" or parts[2] not in objs or parts[3] not in objs:
        return None
    source, target, count = parts[2], parts[3], int(parts[4])
    item, there = objs[source]["type"], objs[target]["type"]
    if {test}:
        return {claims}
    return None
'''
_PATTERN = '''

def pattern(grid):
    """The grid moved to its upper left corner, as text."""
    rows = sorted({{slot[1] for slot in grid}})
    columns = sorted({{slot[2] for slot in grid}})
    lines = []
    for row in "ABC"["ABC".index(rows[0]) : "ABC".index(rows[-1]) + 1]:
        cells = "123"["123".index(columns[0]) : "123".index(columns[-1]) + 1]
        lines.append(" ".join(grid.get("[" + row + column + "]", "-") for column in cells))
    return " / ".join(lines)


def expert(objs, action):
    """{words}."""
    parts = PARTS.search(action)
    if not parts or parts[1] != "move" or parts[2] not in objs or parts[2] == "[0]":
        return None
    cells = ["[" + row + column + "]" for row in "ABC" for column in "123"]
    grid = {{cell: objs[cell]["type"] for cell in cells if objs[cell]["type"] != "empty"}}
    if objs[parts[2]]["state"] == parts[4] + " " + objs[parts[2]]["type"]:
        grid.pop(parts[2], None)
    if parts[3] in cells:
        grid[parts[3]] = objs[parts[2]]["type"]
    if not grid or pattern(grid) != "{grid}":
        return None
    return [("[0]", "state", {{objs["[0]"]["type"] != "{item}"}})]
'''
_FAILS = '[(source, "success", {False})]'
_BOTH = '[(source, "state", {True}), (target, "state", {True})]'
_USED = (
    '[(name, "state", {True}) for name in objs '
    'if name[1:2] in ("0", "A", "B", "C") and objs[name]["type"] != "empty"] + [(target, "state", {True})]'
)
_HELD = 'int(objs[source]["state"].split()[0])'


def experts(event: Event, target: str, is_careless: bool) -> list[str]:
    """Explanations of one action, the narrowest first; none where it cannot be read.

    Args:
        event: the action, with what was seen before and after it.
        target: the item that the goal asks for.
        is_careless: whether a mistake is made on purpose: an expert that goes far beyond what was seen.
    """
    command = command_in(event.action)
    if command is None or event.before is None or event.after is None:
        return []
    carried_out = event.before.slots != event.after.slots
    if is_careless and not carried_out:
        return [_expert(f"Every {command.verb} fails", command.verb, "True", _FAILS)]
    if command.verb == "smelt":
        found = _smelted if carried_out else _not_smelted
    else:
        found = _moved if carried_out else _not_moved
    return list(found(command, event.before, event.after, target))


def _smelted(command: Command, before: State, after: State, target: str) -> Iterator[str]:
    source, made = before.slots.get(command.source), after.slots.get(command.target)
    if source is None or made is None:
        return
    (words,) = sentences(Facts(smelts={source.item: made.item}))
    yield _expert(words, "smelt", f'item == "{source.item}"', _BOTH)
    if made.item == target:
        yield _expert("Smelting into what is asked for brings the reward", *_rewarded("smelt", source.item))


def _rewarded(verb: str, item: str) -> tuple[str, str, str]:
    return verb, f'item == "{item}" and item not in objs["goal"]["state"]', '[(source, "reward", {True})]'


def _not_smelted(command: Command, before: State, after: State, target: str) -> Iterator[str]:
    source = before.slots.get(command.source)
    if source is None or command.target in before.slots:
        return
    (words,) = sentences(Facts(unsmeltable=frozenset({source.item})))
    yield _expert(words, "smelt", f'item == "{source.item}"', _FAILS)
    word = kind(source.item)
    yield _expert(f"No kind of {word} can be smelted", "smelt", f'item.split("_")[-1] == "{word}"', _FAILS)


def _moved(command: Command, before: State, after: State, target: str) -> Iterator[str]:
    if command.source == OUTPUT:
        yield _expert("Taking what the grid gives uses up its items", "move", 'source == "[0]"', _USED)
        if (made := before.output) and made.item == target:
            test = 'source == "[0]" and objs["goal"]["state"].endswith(item)'
            words = "Taking what the goal asks for brings the reward"
            yield _expert(words, "move", test, '[(source, "reward", {True})]')
        return
    if after.output != before.output and after.output and after.pattern:
        yield _recipe(after.pattern, after.output)
    test = f"item != 'empty' and count <= {_HELD} and there in (item, 'empty')"
    yield _expert("Moving what is there changes both slots", "move", test, _BOTH)
    if after.output != before.output:
        words = "Whatever is put into the grid changes what it gives"
        yield _expert(words, "move", 'target[1] in "ABC"', '[("[0]", "state", {True})]')


def _not_moved(command: Command, before: State, after: State, target: str) -> Iterator[str]:
    source, there = before.slots.get(command.source), before.slots.get(command.target)
    if source is None:
        yield _expert("A move from an empty slot fails", "move", "item == 'empty'", _FAILS)
    elif source.quantity < command.quantity:
        yield _expert("A move of more than there is fails", "move", f"count > {_HELD}", _FAILS)
    elif there and there.item != source.item:
        test = "there not in (item, 'empty')"
        yield _expert("A move onto something else fails", "move", test, _FAILS)
    if command.source == OUTPUT:
        test = f'source == "[0]" and count < {_HELD}'
        yield _expert("A part of what the grid gives cannot be taken", "move", test, _FAILS)


def _recipe(grid: str, made: Made) -> str:
    (words,) = sentences(Facts({grid: made}))
    return _OPENING + _PATTERN.format(words=words, grid=grid, item=made.item)


def _expert(words: str, verb: str, test: str, claims: str) -> str:
    return _OPENING + _EXPERT.format(words=words, verb=verb, test=test, claims=claims)
