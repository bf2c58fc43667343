"""The journal: what was recorded is replayed, what cannot be used is counted, nothing is asked twice."""

from __future__ import annotations

import errno
import os
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.lake.journal import RESERVED, Journal, discard_journals, read, replies_in
from knowledge_store.lake.paths import ChainPaths
from ocm.errors import StorageError
from ocm.types import Message, Replay, Reply, Request, Usage

TEXTS = ("one", "zwei\n", "\ud800", "x" * 5000)


def request(call: int, said: str = "observation", prompt: str = "prompt") -> Request:
    return Request("act", (Message("system", prompt), Message("user", said)), None, "chain", 3, call)


def reply(text: str, cost: float | None = 0.5) -> Reply:
    return Reply(text, "stop", Usage(10, 2, 1, 1), cost, 0.25, "model", "print", 2)


def recorded(path: Path, count: int = len(TEXTS)) -> Journal:
    journal = Journal(path)
    journal.begin()
    for call, text in enumerate(TEXTS[:count]):
        assert journal.recorded(request(call)) is None
        journal.reserve()
        journal.append(request(call), reply(text))
    return journal


def taken(journal: Journal, requests: list[Request]) -> list[str]:
    """Texts of the replies that the journal gives, up to the first that it has not."""
    found: list[str] = []
    for one in requests:
        answer = journal.recorded(one)
        if answer is None:
            break
        found.append(answer.text)
    return found


REQUESTS = [request(call) for call in range(len(TEXTS) + 1)]


def test_another_process_replays_every_reply_as_it_was(tmp_path: Path) -> None:
    recorded(tmp_path / "j").close()
    again = Journal(tmp_path / "j")
    again.begin()
    assert [again.recorded(one) for one in REQUESTS[:-1]] == [reply(text) for text in TEXTS]
    assert again.recorded(REQUESTS[-1]) is None
    assert again.replay == Replay(resumes=1, calls=len(TEXTS))


def test_another_attempt_of_the_same_process_replays_too(tmp_path: Path) -> None:
    journal = recorded(tmp_path / "j")
    assert journal.replay == Replay()
    journal.begin()
    assert taken(journal, REQUESTS) == list(TEXTS)
    journal.append(REQUESTS[-1], reply("more"))
    journal.begin()
    assert taken(journal, REQUESTS) == [*TEXTS, "more"]
    assert journal.replay == Replay(resumes=2, calls=len(TEXTS) + 1)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [(request(2, said="another"), "transcript"), (request(2, prompt="another"), "prompt")],
)
def test_a_request_that_differs_ends_the_replay(tmp_path: Path, changed: Request, reason: str) -> None:
    recorded(tmp_path / "j").close()
    journal = Journal(tmp_path / "j")
    journal.begin()
    assert taken(journal, [*REQUESTS[:2], changed]) == list(TEXTS[:2])
    expected = Replay(1, 2, reason, dropped=2, dropped_tokens=24, dropped_cost=1.0)
    assert journal.replay == expected
    journal.append(changed, reply("new"))
    journal.close()
    third = Journal(tmp_path / "j")
    third.begin()
    assert taken(third, [*REQUESTS[:2], changed]) == [*TEXTS[:2], "new"]
    assert third.replay == replace(expected, resumes=2, calls=3), "what was dropped stays counted"


def test_an_unknown_price_stays_unknown(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.append(request(0), reply("a", None))
    assert journal.recorded(request(0, "another")) is None
    assert journal.replay.dropped_cost is None


@given(st.data())
def test_cut_anywhere_what_is_whole_is_kept(data: st.DataObject) -> None:
    whole = _bytes()
    cut = data.draw(st.integers(0, len(whole)))
    content = read(whole[:cut])
    lines = whole[:cut].count(b"\n")
    assert [one.reply.text for one in content.replies] == list(TEXTS[:lines])
    assert content.whole == (whole[:cut].endswith(b"\n") or cut == 0)
    assert content.replay.ended == ("" if content.whole else "torn")
    assert content.replay.dropped == (not content.whole)


@given(st.data())
def test_a_changed_byte_ends_the_replay_before_it(data: st.DataObject) -> None:
    whole = bytearray(_bytes())
    position = data.draw(st.integers(0, len(whole) - 2))
    whole[position] ^= data.draw(st.integers(1, 255))
    content = read(bytes(whole))
    line = _bytes()[:position].count(b"\n")
    assert [one.reply.text for one in content.replies] == list(TEXTS[:line])
    assert content.replay.ended in ("damaged", "torn")
    assert not content.whole
    assert content.replay.dropped >= 1


def _bytes() -> bytes:
    from knowledge_store.lake.journal import Recorded, _first, _reply_line
    from ocm.identity import request_hash

    return b"".join(
        _reply_line(Recorded(call, request_hash(request(call)), _first(request(call)), reply(text)))
        for call, text in enumerate(TEXTS)
    )


def test_reserved_room_is_no_content(tmp_path: Path) -> None:
    journal = recorded(tmp_path / "j", 1)
    assert (tmp_path / "j").stat().st_size == RESERVED
    journal.close()
    content = read((tmp_path / "j").read_bytes())
    assert content.whole
    assert len(content.replies) == 1


def test_a_torn_line_is_written_away_and_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "j"
    recorded(path).close()
    path.write_bytes(path.read_bytes().rstrip(b"\0")[:-20])
    for _ in range(2):
        Journal(path).close()
    journal = Journal(path)
    journal.begin()
    assert taken(journal, REQUESTS) == list(TEXTS[:-1])
    assert journal.replay == Replay(1, len(TEXTS) - 1, "torn", dropped=1)


def test_a_full_disk_is_met_before_the_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    journal = Journal(tmp_path / "j")
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StorageError, match="free disk space"):
        journal.reserve()


def test_a_file_system_that_cannot_reserve_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    recorded(tmp_path / "j").close()
    journal = Journal(tmp_path / "j")
    assert taken(journal, REQUESTS) == list(TEXTS)


def test_journals_of_committed_episodes_are_removed(tmp_path: Path) -> None:
    paths = ChainPaths(tmp_path, "sweep", "chain")
    for index in (3, 4, 5):
        recorded(paths.journal(index)).close()
    discard_journals(paths, 5)
    assert [path.name for path in paths.journals.iterdir()] == ["00005.jsonl"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"7", b'{"kind":"later"}', b'{"call":0,"request":"","first":"","reply":[]}']
)
def test_a_line_of_another_program_is_damage_and_no_crash(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "j"
    recorded(path, 2).close()
    first, second = path.read_bytes().rstrip(b"\0").splitlines(keepends=True)
    path.write_bytes(first + b"%08x %s\n" % (zlib.crc32(body), body) + second)
    assert replies_in(path) == 1
    journal = Journal(path)
    assert taken(journal, REQUESTS) == ["one"]
    assert (journal.replay.ended, journal.replay.dropped, journal.replay.dropped_cost) == ("damaged", 2, 0.5)


def test_what_was_dropped_before_is_counted_also_behind_damage(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = recorded(path, 3)
    assert taken(journal, [request(0), request(1), request(2, "another")]) == ["one", "zwei\n"]
    journal.begin()
    journal.close()
    assert journal.replay.dropped == 1
    lines = path.read_bytes().rstrip(b"\0").splitlines(keepends=True)
    path.write_bytes(b"".join([b"?" + lines[0], b"?" + lines[1], *lines[2:]]))
    replay = read(path.read_bytes()).replay
    assert replay == Replay(resumes=1, ended="damaged", dropped=3, dropped_tokens=12, dropped_cost=0.5)


def test_a_journal_that_is_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "j").mkdir()
    for look in (Journal, replies_in):
        with pytest.raises(StorageError, match="j: Is a directory"):
            look(tmp_path / "j")
    assert replies_in(tmp_path / "none") == 0
