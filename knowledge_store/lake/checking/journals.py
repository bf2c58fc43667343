"""Journals of episodes under way. Pure functions of bytes."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge_store.lake import journal
from knowledge_store.lake.checking.findings import RERUN, Finding, Kind, damage, leftover, unfinished
from knowledge_store.lake.checking.layout import ChainListing
from knowledge_store.lake.checking.source import Unreadable


def check_journals(
    chain: ChainListing, done: int, planned: int | None, read: Mapping[int, bytes | Unreadable]
) -> list[Finding]:
    """What is left of episodes under way; ``done`` episodes are committed.

    ``read`` holds the bytes of those journals that are to be read.
    """
    findings = []
    for index, inside in chain.journals.items():
        path = chain.path(inside)
        if index < done:
            findings.append(leftover(Kind.JOURNAL_DONE, path, "its episode is committed"))
        elif planned is not None and done >= planned:
            findings.append(leftover(Kind.JOURNAL_DONE, path, "its chain is finished"))
        elif index > done:
            findings.append(_ahead(path, index, done))
        elif index in read:
            findings.append(_content(path, read[index]))
    return findings


def _ahead(path: str, index: int, done: int) -> Finding:
    what = (
        f"an episode begins once those before it are committed, but there are {done} commit records:"
        f" those of {done} to {index - 1} are lost, or the journal is misplaced"
    )
    mend = "restore the records from a copy, or delete the journal if it does not belong here"
    return damage(Kind.JOURNAL_AHEAD, path, what, mend)


def _content(path: str, data: bytes | Unreadable) -> Finding:
    dropped = f"{RERUN}: what cannot be used is asked for again"
    if isinstance(data, Unreadable):
        return unfinished(Kind.JOURNAL_DAMAGED, path, f"cannot be read: {data.reason}", dropped)
    try:
        content = journal.read(data)
    except (ValueError, KeyError, TypeError) as error:
        return unfinished(Kind.JOURNAL_DAMAGED, path, f"damaged ({error!r})", dropped)
    replies = f"holds {len(content.replies)} replies that need not be paid for again"
    if content.whole:
        return unfinished(Kind.JOURNAL_OPEN, path, replies, f"{RERUN}: it goes on in the middle")
    if content.replay.ended == "torn":
        return leftover(Kind.JOURNAL_TORN, path, f"ends in half a line; {replies}")
    return unfinished(Kind.JOURNAL_DAMAGED, path, f"damaged after {len(content.replies)} replies", dropped)
