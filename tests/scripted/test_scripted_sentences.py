"""Facts in words say what they are read as."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.sentences import sentences, stated_in

NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
PATTERNS = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(NAMES, min_size=width, max_size=width).map(" ".join), min_size=1, max_size=3
    ).map(" / ".join)
)
FACTS = st.builds(
    lambda recipes, smelts, inert: Facts(recipes, smelts, frozenset(inert) - smelts.keys()),
    st.dictionaries(PATTERNS, st.builds(Made, NAMES, st.integers(1, 64)), max_size=4),
    st.dictionaries(NAMES, NAMES, max_size=4),
    st.sets(NAMES, max_size=4),
)


@settings(deadline=None)
@given(FACTS, st.sampled_from([". ", ".\n", "\n- "]))
def test_what_is_written_is_read_again(facts: Facts, between: str) -> None:
    assert stated_in(between.join(sentences(facts))) == facts


def test_prose_states_nothing() -> None:
    assert stated_in("The grid '' gives 0 nothing. Smelting takes time.").empty
