"""Free text as a memory can hold it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.parsing import UnreadableReply, read_prose

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60)


@given(ANYTHING)
def test_what_is_read_can_be_written_and_is_read_again(text: str) -> None:
    try:
        kept = read_prose(text)
    except UnreadableReply:
        return
    assert kept == kept.strip() and kept.encode()
    assert read_prose(kept) == kept


def test_thinking_goes_and_half_a_pair_is_replaced() -> None:
    assert read_prose("<think>hm</think> a \ud800 b \n") == "a � b"
    assert read_prose("\ud83d\ude00") == "😀"


@pytest.mark.parametrize("text", ["", " \n", "<think>only thinking", "\t"])
def test_nothing_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableReply, match="empty"):
        read_prose(text)


def test_a_withheld_reply_is_unreadable() -> None:
    with pytest.raises(UnreadableReply, match="content filter"):
        read_prose("partly", "content_filter")
