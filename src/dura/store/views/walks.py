"""Ways through the tasks in a given order, each along an index, beginning anywhere.

A walk yields the tasks that the filter lets through, and now and then one that it does not, so that a search that is cut
short knows where it stopped. Its position is a key: the values by which it is ordered, ending with a rowid, so that no two
tasks share one and a page can begin after it whatever was inserted meanwhile.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, Final

from dura.records import Condition
from dura.states import State
from dura.store.views.conditions import Matches, matches, one_queue, one_state
from dura.store.views.look import Look

Key = tuple[Any, ...]

_MOST_QUEUES: Final = 500
"""Queues whose pending tasks are merged."""

_FIRST: Final = -(2**63)
_LAST: Final = 2**63 - 1
"""The ends of the rowids."""

_AFTER_ALL_TIMES: Final = "~"


@dataclass(frozen=True, slots=True)
class Passed:
    """A task on the way."""

    key: Key
    seq: int
    """The task's rowid."""
    matches: bool


Walk = Generator[Passed]

_SEEN: Final = "(matches OR t.rowid % 256 = 0)"
"""What a walk yields: all that matches, and now and then where it is."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a walk lets through."""

    state: State | None
    """The one state that it goes along; None for any."""
    queue: str | None
    """The one queue; None for any."""
    matches: Matches


def asked(look: Look, conditions: Sequence[Condition]) -> Wanted:
    """What these conditions let through.

    Raises:
        InvalidValue: They cannot be asked.
    """
    found = matches(look, conditions)
    return Wanted(one_state(conditions), one_queue(conditions), found)


def _walk(look: Look, sql: str, wanted: Wanted, key: Key, queue: str | None = None) -> Walk:
    bounds = {f"k{number}": part for number, part in enumerate(key)}
    values = wanted.matches.values | {"state": wanted.state, "queue": queue} | bounds
    sql = sql.replace("MATCHES", f"{wanted.matches.sql} AS matches").replace("SEEN", _SEEN)
    with closing(look.stream(sql, values)) as rows:
        for row in rows:
            yield Passed(row[2:], row[0], bool(row[1]))


def newest(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """All tasks, the latest spawned first."""
    sql = "SELECT t.rowid, MATCHES, -t.rowid FROM tasks t WHERE t.rowid < -:k0 AND SEEN ORDER BY t.rowid DESC"
    return _walk(look, sql, wanted, after or (-_LAST,))


def oldest(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """All tasks, the first spawned first."""
    sql = "SELECT t.rowid, MATCHES, t.rowid FROM tasks t WHERE t.rowid > :k0 AND SEEN ORDER BY t.rowid"
    return _walk(look, sql, wanted, after or (_FIRST,))


def newest_of_state(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """Tasks of the filter's state, the latest spawned first, along a 1.3.0 file's index."""
    sql = """
        SELECT t.rowid, MATCHES, -t.rowid FROM tasks t WHERE t.state = :state AND t.rowid < -:k0 AND SEEN ORDER BY t.rowid DESC
    """
    return _walk(look, sql, wanted, after or (-_LAST,))


def oldest_of_state(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """Tasks of the filter's state, the first spawned first, along a 1.3.0 file's index."""
    sql = "SELECT t.rowid, MATCHES, t.rowid FROM tasks t WHERE t.state = :state AND t.rowid > :k0 AND SEEN ORDER BY t.rowid"
    return _walk(look, sql, wanted, after or (_FIRST,))


def last_ended(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """Tasks of the filter's final state, the one that ended last first."""
    sql = """
        SELECT t.rowid, MATCHES, t.terminal_at, t.rowid FROM tasks t
        WHERE t.state = :state AND t.state IN ('completed', 'failed', 'cancelled') AND t.terminal_at IS NOT NULL
          AND (t.terminal_at, t.rowid) < (:k0, :k1) AND SEEN
        ORDER BY t.terminal_at DESC, t.rowid DESC
    """
    return _walk(look, sql, wanted, after or (_AFTER_ALL_TIMES, _LAST))


def first_ended(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """Tasks of the filter's final state, the one that ended first first."""
    sql = """
        SELECT t.rowid, MATCHES, t.terminal_at, t.rowid FROM tasks t
        WHERE t.state = :state AND t.state IN ('completed', 'failed', 'cancelled') AND t.terminal_at IS NOT NULL
          AND (t.terminal_at, t.rowid) > (:k0, :k1) AND SEEN
        ORDER BY t.terminal_at, t.rowid
    """
    return _walk(look, sql, wanted, after or ("", _FIRST))


def sleeping(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """Sleeping tasks by the time at which they are due, those without one last."""
    sql = """
        SELECT t.rowid, MATCHES, r.available_at, r.rowid
        FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id AND t.last_attempt_run = r.run_id
        WHERE r.state = 'sleeping' AND t.state = 'sleeping' AND (r.available_at, r.rowid) > (:k0, :k1) AND SEEN
        ORDER BY r.available_at, r.rowid
    """
    return _walk(look, sql, wanted, after or ("", _FIRST))


def running(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """Running tasks by the time at which their leases run out."""
    sql = """
        SELECT t.rowid, MATCHES, r.claim_expires_at, r.rowid
        FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id AND t.last_attempt_run = r.run_id
        WHERE r.state = 'running' AND t.state = 'running' AND (r.claim_expires_at, r.rowid) > (:k0, :k1) AND SEEN
        ORDER BY r.claim_expires_at, r.rowid
    """
    return _walk(look, sql, wanted, after or ("", _FIRST))


def due(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """Sleeping and running tasks together, by the time at which that ends."""
    return _merged([sleeping(look, wanted, after), running(look, wanted, after)])


def pending(look: Look, wanted: Wanted, after: Key | None) -> Walk:
    """Pending tasks in the order in which they will be claimed: by priority, then since when, then as inserted."""
    queues = [wanted.queue] if wanted.queue is not None else _pending_queues(look)
    return _merged([_pending_of(look, wanted, queue, after) for queue in queues])


_PENDING: Final = """
    SELECT t.rowid, MATCHES, -r.priority, r.available_at, r.rowid
    FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id AND t.last_attempt_run = r.run_id
    WHERE r.state = 'pending' AND t.state = 'pending' AND r.queue = :queue AND {bound} AND SEEN
    ORDER BY r.priority DESC, r.available_at, r.rowid
"""


def _pending_of(look: Look, wanted: Wanted, queue: str, after: Key | None) -> Walk:
    if after is not None:
        rest = _PENDING.format(bound="r.priority = -:k0 AND (r.available_at, r.rowid) > (:k1, :k2)")
        yield from _walk(look, rest, wanted, after, queue)
    lower = _PENDING.format(bound="r.priority < -:k0")
    yield from _walk(look, lower, wanted, (after[0] if after else -math.inf,), queue)


def _pending_queues(look: Look) -> list[str]:
    found: list[str] = []
    row = look.first("SELECT queue FROM runs WHERE state = 'pending' ORDER BY queue LIMIT 1")
    while row:
        found.append(row[0])
        if len(found) == _MOST_QUEUES:
            look.shorten()
            break
        row = look.first(
            "SELECT queue FROM runs WHERE state = 'pending' AND queue > ? ORDER BY queue LIMIT 1", (row[0],)
        )
    return found


def _merged(ways: list[Walk]) -> Walk:
    with ExitStack() as closed:
        for way in ways:
            closed.enter_context(closing(way))
        yield from heapq.merge(*ways, key=lambda passed: passed.key)


FEW: Final = 10_000
"""Tasks that are sorted here where no index gives the order."""


def few(look: Look, state: State) -> bool:
    """Whether there are at most that many runs in a state in which tasks are alive."""
    sql = {
        State.PENDING: "SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE state = 'pending' LIMIT ?)",
        State.RUNNING: "SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE state = 'running' LIMIT ?)",
        State.SLEEPING: "SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE state = 'sleeping' LIMIT ?)",
    }[state]
    row = look.first(sql, (FEW + 1,))
    return row is not None and row[0] <= FEW
