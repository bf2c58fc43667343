"""Text to states and facts: grids, inventories, histories, recalled source."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backbones.scripted.index import index_in
from backbones.scripted.names import by_analogy, difference, likeness
from backbones.scripted.plancraft.facts import Made
from backbones.scripted.plancraft.grids import CELLS, is_pattern, needs, pattern_of, placements, shape_of
from backbones.scripted.plancraft.memory import about, facts_in
from backbones.scripted.plancraft.reading import Event, seen_in, state_in
from knowledge_store.index import level0
from tests.scripted.texts import inventory

ITEMS = st.sampled_from(["red_thing", "thing", "odd:name", "x"])
GRIDS = st.dictionaries(st.sampled_from(CELLS), ITEMS, min_size=1, max_size=9)


@given(GRIDS)
def test_a_pattern_lies_where_it_was_read(grid: dict[str, str]) -> None:
    pattern = pattern_of(grid)
    assert is_pattern(pattern)
    assert grid in placements(pattern)
    assert {pattern_of(place) for place in placements(pattern)} == {pattern}
    assert needs(pattern).total() == len(grid)


def test_what_is_no_pattern() -> None:
    for text in ("", "-", "- a", "a a a a", "a / a / a / a", 'a"', "a\nb", "a  b"):
        assert not is_pattern(text), text


def test_shape_of_a_pattern() -> None:
    assert shape_of("p p / - s") == "aa/-b"


def test_a_state_is_read() -> None:
    state = state_in(inventory("y", "0 y 4", "A1 x 1", "B2 x 2", "I7 z 64"))
    assert state is not None
    assert state.output == Made("y", 4)
    assert state.pattern == "x - / - x"
    assert state.stock == {"x": 3, "z": 64}
    assert state.free == "I1"
    assert state_in("Format error: nothing was sent.") is None


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    state_in(text)
    index_in(text)
    facts_in(f"### objects.py\n```python\n{text}\n```")


def test_a_history_shows_recipes_smelts_and_failures() -> None:
    first = state_in(inventory("t", "I1 ore 2", "I2 log 1"))
    placed = state_in(inventory("t", "0 board 4", "A1 log 1", "I1 ore 2"))
    smelted = state_in(inventory("t", "0 board 4", "A1 log 1", "I1 ore 1", "I2 ingot 1"))
    moved = state_in(inventory("t", "A1 log 1", "A2 ore 1", "I2 ingot 1"))
    seen = seen_in(
        first,
        [
            Event("move: from [I2] to [A1] with quantity 1", first, placed),
            Event("smelt: from [I1] to [I2] with quantity 1", placed, smelted),
            Event("smelt: from [I2] to [I3] with quantity 1", smelted, smelted),
            Event("move: from [I1] to [A2] with quantity 1", smelted, moved),
        ],
    )
    assert seen.facts.recipes == {"log": ("board", 4)}
    assert seen.facts.smelts == {"ore": "ingot"}
    assert seen.facts.unsmeltable == {"ingot"}
    assert seen.barren == {"log ore"}


def test_a_smelt_refused_for_other_reasons_is_no_evidence() -> None:
    state = state_in(inventory("t", "I1 ore 1", "I2 log 1"))
    events = [
        Event("smelt: from [I1] to [I2] with quantity 1", state, state),  # target slot taken
        Event("smelt: from [I1] to [I3] with quantity 2", state, state),  # too few
        Event("smelt: from [I9] to [I3] with quantity 1", state, state),  # nothing there
    ]
    assert seen_in(state, events).facts.empty


def test_source_is_recalled_by_parsing() -> None:
    text = """### Board
```python
class Board(Kind):
    recipes = {"log": ("board", 4), "bad / a / b / c": ("x", 1), "log log": "no pair"}
```
### procedures/craft_board.py
```python
assert Plate.craft("board board") == ("plate", 1)
assert smelt("ore") == "ingot"
```
### UNSMELTABLE
```python
UNSMELTABLE = (
    "log",
    "*_board",
```
UNSMELTABLE is cut here: 100 of 200 characters are not shown."""
    facts = facts_in(text)
    assert facts.recipes == {"log": ("board", 4), "board board": ("plate", 1)}
    assert facts.smelts == {"ore": "ingot"}
    assert facts.is_unsmeltable("log") and facts.is_unsmeltable("red_board")
    assert not facts.is_unsmeltable("ore")


def test_the_index_is_read_in_each_of_its_forms() -> None:
    objects = 'TABLE = {}\n\n\nclass Board:\n    """Makes board."""\n\n\ndef smelt(item):\n    return None\n'
    memory = {"objects.py": objects} | {
        f"procedures/craft_b{n}_board.py": '"""Craft."""\n' for n in range(40)
    }
    for budget in (6_000, 260, 100):
        index = index_in(level0(memory, budget).text)
        assert index.has("Board") and index.has("smelt") and index.has("TABLE"), budget
    full = index_in(level0(memory, 6_000).text)
    assert set(about(full, "b3_board")) == {"Board", "procedures/craft_b3_board.py"}


def test_names_are_compared_by_words() -> None:
    assert likeness("oak_slab", "oak_planks") > likeness("oak_slab", "pig_spawn_egg") == 0
    assert likeness("golden_axe", "gold_ingot") > 0
    assert difference("oak_slab", "dark_oak_slab") == (("oak",), ("dark", "oak"), 1)
    assert difference("gray_terracotta", "light_gray_terracotta")[:2] == (("gray",), ("light", "gray"))
    assert by_analogy("oak_planks", ("oak",), ("dark", "oak")) == "dark_oak_planks"
    assert by_analogy("stick", ("oak",), ("birch",)) == "stick"
