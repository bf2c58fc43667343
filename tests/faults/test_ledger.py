"""The judgement on repeated requests can fail."""

from __future__ import annotations

from tests.faults.ledger import Kept, answered_twice, asked_again, in_flight
from tests.faults.model_server import Asked


def asked(content: str, came: float, *, whole: bool = True) -> Asked:
    return Asked(content, 0, "", "", whole, came, came + 0.5)


LIFE = Kept(started=10.0, at=20.0, contents=frozenset({"kept"}))


def test_a_kept_reply_is_not_to_be_asked_for_again() -> None:
    assert asked_again([asked("kept", 12.0), asked("lost", 12.0), asked("lost", 22.0)], [LIFE]) == []
    again = asked("kept", 22.0, whole=False)
    assert asked_again([asked("kept", 12.0), again], [LIFE]) == [again]


def test_in_flight_is_what_was_sent_whole_in_that_life_and_is_not_on_the_disk() -> None:
    lost = asked("lost", 19.0)
    others = [
        asked("kept", 12.0),
        asked("cut", 19.0, whole=False),
        asked("before", 5.0),
        asked("after", 22.0),
    ]
    assert in_flight([lost, *others], LIFE) == [lost]


def test_whole_replies_are_counted_by_content() -> None:
    requests = [asked("a", 1.0), asked("a", 2.0, whole=False), asked("b", 3.0), asked("b", 4.0)]
    assert answered_twice(requests) == {"b": 1}
