"""The requests of the last minute, the queue of those that wait, and what the server has said of its limits.

One SQLite database: a file that several processes share, or one in memory. Every method is one
transaction, so what holds in one process holds over all of them.

- No 60 seconds hold more requests or tokens than the limits allow.
- Who must wait has a ticket, and tickets are served in order. Any process grants those in front, also
  those of other processes, which pick them up when they look the next time. The tickets of a process that
  has not looked for :data:`STALE` seconds of the observer's own clock are dropped; should it live after
  all, it puts them back in their old places.
- A moment that lies in the future, after a clock was set back or from a machine with another clock, counts
  as now. So it holds nobody back for longer than a window.

Nothing here is worth a flush to the disk: after a power cut the last minute is over.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backbones.rate_headers import Allowance, Hints
from backbones.window_file import opened

WINDOW = 60.0
"""Seconds over which a limit holds."""
LONGEST_PAUSE = 132.0
"""Seconds for which a server may close the gate; then it is asked again."""
FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 60.0
"""Seconds that all wait after a refusal without a hint: doubled with every one, up to the longest."""
STALE = 5.0
"""Seconds after which the tickets of a process that does not look any more are dropped."""
LEARNED_FOR = 3600.0
"""Seconds for which limits count that the server has named and not confirmed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One admitted request, by its number in the window, and when it was admitted. ``tokens`` is an estimate
    until it is settled. Number 0 is one that no limit holds."""

    number: int
    at: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Ticket:
    """A place in the queue."""

    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Poll:
    """``granted``: entries by ticket number. ``wait``: seconds until the next ticket may go, of whichever
    process; infinite if none waits."""

    granted: Mapping[int, Entry]
    wait: float


class Window:
    """See the module's text. ``path`` None: in memory. ``clock``: seconds, the same for all who share it.

    Limits of None are no limits; those that the server has named count where they are lower. Methods raise
    ``sqlite3.Error``; :func:`backbones.window_file.is_busy` tells whether another process was in the way.
    """

    def __init__(
        self,
        path: Path | None,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        clock: Callable[[], float],
    ) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._clock = clock
        self._process = secrets.token_hex(8)
        self._beats: dict[str, tuple[int, float]] = {}
        self._database = opened(path)

    def wait_for_others(self, seconds: float) -> None:
        """For so long a transaction waits for one of another process."""
        self._database.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def enter(self, tokens: int) -> Entry | Ticket:
        """Admit a request, or give it a ticket if others wait or the limits say so."""
        with self._transaction() as now:
            queue = self._one("SELECT EXISTS (SELECT 1 FROM waiting WHERE admission IS NULL)")[0]
            if not queue and self._free_at(tokens, now) <= now:
                return self._admit(tokens, now)
            row = self._database.execute(
                "INSERT INTO waiting (process, tokens) VALUES (?, ?)", (self._process, tokens)
            )
            return Ticket(row.lastrowid or 0, tokens)

    def poll(self, tickets: Mapping[int, Ticket]) -> Poll:
        """Serve the queue. ``tickets``: all of this process that still wait; others of it are given up."""
        with self._transaction() as now:
            self._show_life(tickets)
            self._drop_the_dead(now)
            granted = self._picked_up(now)
            wait = math.inf
            for number, process, tokens in self._database.execute(
                "SELECT id, process, tokens FROM waiting WHERE admission IS NULL ORDER BY id"
            ).fetchall():
                if (wait := self._free_at(tokens, now) - now) > 0:
                    break
                entry, wait = self._admit(tokens, now), math.inf
                if process == self._process:
                    granted[number] = entry
                    self._database.execute("DELETE FROM waiting WHERE id = ?", (number,))
                else:
                    self._database.execute(
                        "UPDATE waiting SET admission = ? WHERE id = ?", (entry.number, number)
                    )
            return Poll(granted, wait)

    def settle(self, entry: Entry, tokens: int) -> None:
        """Replace an entry's estimate by what it really took."""
        with self._transaction():
            self._settle(entry, tokens)

    def withdraw(self, entry: Entry) -> None:
        """Take an entry back whose request was not sent."""
        with self._transaction():
            self._database.execute("DELETE FROM admitted WHERE id = ?", (entry.number,))

    def answered(self, entry: Entry, tokens: int | None, hints: Hints) -> str:
        """Settle an entry, if its tokens are known, and learn; in words what is new of the limits."""
        with self._transaction() as now:
            if tokens is not None:
                self._settle(entry, tokens)
                self._database.execute(
                    "UPDATE state SET backoffs = backoffs - 1 WHERE backoffs > 0 AND closed_since < ?",
                    (entry.at,),
                )
            return self._learn(hints, now) if hints.are_said else ""

    def pause(self, seconds: float) -> bool:
        """Close the gate for all; whether it was open before."""
        with self._transaction() as now:
            return self._close(min(seconds, LONGEST_PAUSE), now)

    def back_off(self, entry: Entry) -> float:
        """Close the gate for all after a refusal without a hint; seconds, or 0 if nothing changes.

        Of the requests that were under way together, the first refused one closes it: one pause, one
        doubling. A reply to a later request takes a doubling back. So the pauses are bounded, and between
        two of them lies at least one request that was let through.
        """
        with self._transaction() as now:
            since, backoffs = self._one("SELECT closed_since, backoffs FROM state")
            if entry.at <= since:
                return 0.0
            seconds = min(FIRST_BACKOFF * 2.0 ** min(backoffs, 32), LONGEST_BACKOFF)
            self._database.execute(
                "UPDATE state SET backoffs = ?, closed_since = ?", (min(backoffs + 1, 32), now)
            )
            self._close(seconds, now)
            return seconds

    @contextmanager
    def _transaction(self) -> Iterator[float]:
        """One transaction; yields the time, which is read when it has begun."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            now = self._clock()
            self._forget(now)
            yield now
            self._database.execute("COMMIT")
        finally:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def _one(self, query: str, values: tuple[object, ...] = ()) -> tuple[int, ...]:
        row: tuple[int, ...] = self._database.execute(query, values).fetchone()
        return row

    def _forget(self, now: float) -> None:
        self._database.execute("DELETE FROM admitted WHERE at <= ?", (now - WINDOW,))
        self._database.execute("UPDATE admitted SET at = ? WHERE at > ?", (now, now))
        latest = now + LONGEST_PAUSE
        self._database.execute(
            "UPDATE state SET closed_until = min(closed_until, ?1), closed_since = min(closed_since, ?2),"
            " requests_reset = min(requests_reset, ?1), tokens_reset = min(tokens_reset, ?1),"
            " learned_at = min(learned_at, ?2)"
            " WHERE max(closed_until, requests_reset, tokens_reset) > ?1"
            " OR max(closed_since, learned_at) > ?2",
            (latest, now),
        )

    def _admit(self, tokens: int, now: float) -> Entry:
        row = self._database.execute("INSERT INTO admitted (at, tokens) VALUES (?, ?)", (now, tokens))
        self._database.execute(
            "UPDATE state SET requests_left = requests_left - 1, tokens_left = tokens_left - ?"
            " WHERE requests_left IS NOT NULL OR tokens_left IS NOT NULL",
            (tokens,),
        )
        return Entry(row.lastrowid or 0, now, tokens)

    def _settle(self, entry: Entry, tokens: int) -> None:
        self._database.execute("UPDATE admitted SET tokens = ? WHERE id = ?", (tokens, entry.number))

    def _free_at(self, tokens: int, now: float) -> float:
        """When a request of so many tokens may go.

        One that is larger than the whole limit goes when the window is empty, or it would never go.
        """
        row = self._database.execute("SELECT * FROM state").fetchone()
        requests, total, most_requests, most_tokens, learned_at = row[:5]
        requests_left, requests_reset, tokens_left, tokens_reset, _, free_at, _ = row[5:]
        if learned_at + LEARNED_FOR < now:
            most_requests = most_tokens = None
        if requests_left is not None and requests_left <= 0:
            free_at = max(free_at, requests_reset)
        if tokens_left is not None and tokens_left < tokens:
            free_at = max(free_at, tokens_reset)
        request_limit, token_limit = _least(self._requests, most_requests), _least(self._tokens, most_tokens)
        if request_limit is not None and requests >= request_limit:
            free_at = max(free_at, self._request_free_at(requests - request_limit))
        if token_limit is not None and total + tokens > token_limit:
            free_at = max(free_at, self._tokens_free_at(total + tokens - token_limit))
        return float(free_at)

    def _request_free_at(self, older: int) -> float:
        (at,) = self._one("SELECT at FROM admitted ORDER BY at LIMIT 1 OFFSET ?", (older,))
        return at + WINDOW

    def _tokens_free_at(self, excess: int) -> float:
        free_at = -math.inf
        for at, tokens in self._database.execute("SELECT at, tokens FROM admitted ORDER BY at"):
            if excess <= 0:
                break
            excess -= tokens
            free_at = at + WINDOW
        return free_at

    def _show_life(self, tickets: Mapping[int, Ticket]) -> None:
        self._database.execute(
            "INSERT INTO processes VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET beat = beat + 1",
            (self._process,),
        )
        there = self._tickets_of(self._process)
        self._give_up(there - tickets.keys())
        self._database.executemany(
            "INSERT OR IGNORE INTO waiting (id, process, tokens) VALUES (?, ?, ?)",
            [(one.number, self._process, one.tokens) for one in tickets.values() if one.number not in there],
        )
        if not tickets:
            self._database.execute("DELETE FROM processes WHERE name = ?", (self._process,))

    def _give_up(self, numbers: set[int]) -> None:
        for number in numbers:
            self._database.execute(
                "DELETE FROM admitted WHERE id = (SELECT admission FROM waiting WHERE id = ?)", (number,)
            )
            self._database.execute("DELETE FROM waiting WHERE id = ?", (number,))

    def _drop_the_dead(self, now: float) -> None:
        rows = self._database.execute(
            "SELECT DISTINCT process, coalesce(beat, 0) FROM waiting LEFT JOIN processes ON name = process"
            " WHERE process <> ?",
            (self._process,),
        ).fetchall()
        seen = {}
        for process, beat in rows:
            before, since = self._beats.get(process, (None, now))
            since = since if before == beat and since <= now else now
            seen[process] = (beat, since)
            if now - since > STALE:
                self._give_up(self._tickets_of(process))
                self._database.execute("DELETE FROM processes WHERE name = ?", (process,))
        self._beats = seen

    def _tickets_of(self, process: str) -> set[int]:
        rows = self._database.execute("SELECT id FROM waiting WHERE process = ?", (process,))
        return {number for (number,) in rows.fetchall()}

    def _picked_up(self, now: float) -> dict[int, Entry]:
        """What other processes have granted to this one: it counts from now on, when it is sent."""
        granted = {}
        for number, tokens, admission, lasts in self._database.execute(
            "SELECT waiting.id, waiting.tokens, admission, admitted.id IS NOT NULL FROM waiting"
            " LEFT JOIN admitted ON admission = admitted.id WHERE process = ? AND admission IS NOT NULL",
            (self._process,),
        ).fetchall():
            if lasts:
                self._database.execute("UPDATE admitted SET at = ? WHERE id = ?", (now, admission))
                self._database.execute("DELETE FROM waiting WHERE id = ?", (number,))
                granted[number] = Entry(admission, now, tokens)
            else:
                self._database.execute("UPDATE waiting SET admission = NULL WHERE id = ?", (number,))
        return granted

    def _learn(self, hints: Hints, now: float) -> str:
        before = self._one("SELECT requests_limit, tokens_limit FROM state")
        for what, said in (("requests", hints.requests), ("tokens", hints.tokens)):
            self._note(what, said, now)
        after = self._one("SELECT requests_limit, tokens_limit FROM state")
        return "" if before == after else _limits_in_words(*after)

    def _note(self, what: str, said: Allowance, now: float) -> None:
        if said.limit is not None:
            self._database.execute(f"UPDATE state SET {what}_limit = ?, learned_at = ?", (said.limit, now))
        if said.remaining is not None and said.reset is not None:
            until = now + min(said.reset, LONGEST_PAUSE)
            self._database.execute(
                f"UPDATE state SET {what}_left = ?, {what}_reset = ?", (said.remaining, until)
            )

    def _close(self, seconds: float, now: float) -> bool:
        (until,) = self._one("SELECT closed_until FROM state")
        self._database.execute("UPDATE state SET closed_until = ?", (max(until, now + seconds),))
        return until <= now


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _limits_in_words(requests: int | None, tokens: int | None) -> str:
    said = [f"{count:,} {what}" for count, what in ((requests, "requests"), (tokens, "tokens")) if count]
    return " and ".join(said) + " per minute"
