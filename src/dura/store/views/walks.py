"""Ways through the tasks in a given order, each along an index, beginning anywhere.

A walk yields the tasks that the filter lets through, and now and then one that it does not, so that a search that is cut
short knows where it stopped. Its position is a key: the values by which it is ordered, ending with a rowid, so that no two
tasks share one and a page can begin after it whatever was inserted meanwhile.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, Final

from dura.codec import encode
from dura.errors import InvalidValue
from dura.records import TaskQuery
from dura.states import State
from dura.store.views.look import Look, like

Key = tuple[Any, ...]

_LONGEST_TEXT: Final = 1_000
"""Characters that a search text may have."""

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

_MATCHES: Final = r"""
    CASE WHEN (:state IS NULL OR t.state = :state) AND (:queue IS NULL OR t.queue = :queue)
          AND (:name IS NULL OR t.task_name GLOB :name)
          AND (:text IS NULL OR t.task_id LIKE :text ESCAPE '\' OR t.idempotency_key LIKE :text ESCAPE '\'
               OR t.params LIKE :text ESCAPE '\' OR t.params LIKE :json ESCAPE '\')
    THEN 1 ELSE 0 END AS matches
"""
"""Evaluated task by task, not searched by: which index a query uses is its walk's affair."""


_SEEN: Final = "(matches OR t.rowid % 256 = 0)"
"""What a walk yields: all that matches, and now and then where it is."""


def filter_values(query: TaskQuery) -> dict[str, Any]:
    """The filter's values, by the names under which every walk's query takes them.

    Raises:
        InvalidValue: The search text is too long.
    """
    text = query.text or None
    if text is not None and len(text) > _LONGEST_TEXT:
        raise InvalidValue(f"a search text has at most {_LONGEST_TEXT} characters, not {len(text)}")
    # Parameters lie in the store as JSON, which writes quotes and all but ASCII in its own way.
    as_json = None if text is None else encode(text, "the search text")[1:-1]
    return {
        "state": query.state,
        "queue": query.queue,
        "name": None if query.name is None else _glob(query.name),
        "text": None if text is None else like(text),
        "json": None if as_json is None or as_json == text else like(as_json),
    }


def _glob(name: str) -> str:
    """A GLOB pattern in which only `*` is special."""
    return name.replace("[", "[[]").replace("?", "[?]")


def _walk(look: Look, sql: str, values: dict[str, Any], key: Key) -> Walk:
    bounds = {f"k{number}": part for number, part in enumerate(key)}
    with closing(
        look.stream(sql.replace("MATCHES", _MATCHES).replace("SEEN", _SEEN), values | bounds)
    ) as rows:
        for row in rows:
            yield Passed(row[2:], row[0], bool(row[1]))


def newest(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """All tasks, the latest spawned first."""
    sql = "SELECT t.rowid, MATCHES, -t.rowid FROM tasks t WHERE t.rowid < -:k0 AND SEEN ORDER BY t.rowid DESC"
    return _walk(look, sql, values, after or (-_LAST,))


def oldest(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """All tasks, the first spawned first."""
    sql = "SELECT t.rowid, MATCHES, t.rowid FROM tasks t WHERE t.rowid > :k0 AND SEEN ORDER BY t.rowid"
    return _walk(look, sql, values, after or (_FIRST,))


def newest_of_state(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """Tasks of the filter's state, the latest spawned first, along a 1.3.0 file's index."""
    sql = """
        SELECT t.rowid, MATCHES, -t.rowid FROM tasks t WHERE t.state = :state AND t.rowid < -:k0 AND SEEN ORDER BY t.rowid DESC
    """
    return _walk(look, sql, values, after or (-_LAST,))


def oldest_of_state(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """Tasks of the filter's state, the first spawned first, along a 1.3.0 file's index."""
    sql = "SELECT t.rowid, MATCHES, t.rowid FROM tasks t WHERE t.state = :state AND t.rowid > :k0 AND SEEN ORDER BY t.rowid"
    return _walk(look, sql, values, after or (_FIRST,))


def last_ended(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """Tasks of the filter's final state, the one that ended last first."""
    sql = """
        SELECT t.rowid, MATCHES, t.terminal_at, t.rowid FROM tasks t
        WHERE t.state = :state AND t.state IN ('completed', 'failed', 'cancelled') AND t.terminal_at IS NOT NULL
          AND (t.terminal_at, t.rowid) < (:k0, :k1) AND SEEN
        ORDER BY t.terminal_at DESC, t.rowid DESC
    """
    return _walk(look, sql, values, after or (_AFTER_ALL_TIMES, _LAST))


def first_ended(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """Tasks of the filter's final state, the one that ended first first."""
    sql = """
        SELECT t.rowid, MATCHES, t.terminal_at, t.rowid FROM tasks t
        WHERE t.state = :state AND t.state IN ('completed', 'failed', 'cancelled') AND t.terminal_at IS NOT NULL
          AND (t.terminal_at, t.rowid) > (:k0, :k1) AND SEEN
        ORDER BY t.terminal_at, t.rowid
    """
    return _walk(look, sql, values, after or ("", _FIRST))


def sleeping(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """Sleeping tasks by the time at which they are due, those without one last."""
    sql = """
        SELECT t.rowid, MATCHES, r.available_at, r.rowid
        FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id AND t.last_attempt_run = r.run_id
        WHERE r.state = 'sleeping' AND t.state = 'sleeping' AND (r.available_at, r.rowid) > (:k0, :k1) AND SEEN
        ORDER BY r.available_at, r.rowid
    """
    return _walk(look, sql, values, after or ("", _FIRST))


def running(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """Running tasks by the time at which their leases run out."""
    sql = """
        SELECT t.rowid, MATCHES, r.claim_expires_at, r.rowid
        FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id AND t.last_attempt_run = r.run_id
        WHERE r.state = 'running' AND t.state = 'running' AND (r.claim_expires_at, r.rowid) > (:k0, :k1) AND SEEN
        ORDER BY r.claim_expires_at, r.rowid
    """
    return _walk(look, sql, values, after or ("", _FIRST))


def due(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """Sleeping and running tasks together, by the time at which that ends."""
    return _merged([sleeping(look, values, after), running(look, values, after)])


def pending(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    """Pending tasks in the order in which they will be claimed: by priority, then since when, then as inserted."""
    queues = [values["queue"]] if values["queue"] is not None else _pending_queues(look)
    return _merged([_pending_of(look, values | {"queue": queue}, after) for queue in queues])


_PENDING: Final = """
    SELECT t.rowid, MATCHES, -r.priority, r.available_at, r.rowid
    FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id AND t.last_attempt_run = r.run_id
    WHERE r.state = 'pending' AND t.state = 'pending' AND r.queue = :queue AND {bound} AND SEEN
    ORDER BY r.priority DESC, r.available_at, r.rowid
"""


def _pending_of(look: Look, values: dict[str, Any], after: Key | None) -> Walk:
    if after is not None:
        rest = _PENDING.format(bound="r.priority = -:k0 AND (r.available_at, r.rowid) > (:k1, :k2)")
        yield from _walk(look, rest, values, after)
    lower = _PENDING.format(bound="r.priority < -:k0")
    yield from _walk(look, lower, values, (after[0] if after else -math.inf,))


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
