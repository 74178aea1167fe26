"""Which events runs wait for, and who waits for each."""

from __future__ import annotations

import sqlite3
from typing import Final

from dura.records import AwaitedEvent, Waiter
from dura.store.events import SLEEP_EVENT
from dura.store.views.look import Look, like, moment_of

_CANDIDATES: Final = 2_000
"""Sleeping runs with the soonest deadlines, and oldest waits, from which the events to show are chosen."""

_MOST_COUNTED: Final = 10_000
"""Waiters of one event that are counted."""

_MOST_SHOWN: Final = 50
"""Waiters of one event that are shown."""

_LAST: Final = "~"
"""Sorts after every time."""


def awaited(look: Look, limit: int, part: str | None) -> tuple[AwaitedEvent, ...]:
    """Events that runs sleep on, the one with the soonest deadline at the top, those without a deadline last.

    With more than 2,000 such waits in the store, the events are those of the soonest deadlines and of the oldest waits.

    Args:
        look: The look.
        limit: How many at most.
        part: A part of the name, in any case of ASCII letters; None for all.
    """
    pattern = None if part is None else like(part)
    soonest: dict[str, str] = {}
    for name, timeout_at in (*_by_deadline(look, pattern), *_by_age(look, pattern)):
        soonest[name] = min(soonest.get(name, _LAST), timeout_at or _LAST)
    names = sorted(soonest, key=lambda name: (soonest[name], name))[:limit]
    return tuple(event for event in (_event(look, name) for name in names) if event.waiter_count)


def waits_for(look: Look, name: str) -> AwaitedEvent | None:
    """Who waits for the event of exactly this name; None if nobody does."""
    event = _event(look, name) if name != SLEEP_EVENT else None
    return event if event is not None and event.waiter_count else None


def _by_deadline(look: Look, pattern: str | None) -> list[tuple[str, str | None]]:
    soonest = look.rows(
        r"""
        SELECT r.wake_event, w.timeout_at
        FROM (SELECT run_id, wake_event FROM runs
              WHERE state = 'sleeping' AND (? IS NULL OR wake_event LIKE ? ESCAPE '\')
              ORDER BY available_at, rowid LIMIT ?) r
        CROSS JOIN waits w ON w.run_id = r.run_id AND +w.event_name = r.wake_event
        WHERE r.wake_event IS NOT NULL AND r.wake_event != ?
        """,
        (pattern, pattern, _CANDIDATES, SLEEP_EVENT),
    )
    return [(row["wake_event"], row["timeout_at"]) for row in soonest]


def _by_age(look: Look, pattern: str | None) -> list[tuple[str, str | None]]:
    oldest = look.rows(
        r"""
        SELECT w.event_name, w.timeout_at, r.state = 'sleeping' AND r.wake_event = w.event_name AS waiting
        FROM (SELECT run_id, event_name, timeout_at FROM waits
              WHERE rowid < ? AND (? IS NULL OR event_name LIKE ? ESCAPE '\') ORDER BY rowid LIMIT ?) w
        CROSS JOIN runs r ON r.run_id = w.run_id
        """,
        (2**63 - 1, pattern, pattern, _CANDIDATES),
    )
    if len(oldest) == _CANDIDATES:
        look.shorten()
    return [
        (row["event_name"], row["timeout_at"])
        for row in oldest
        if row["waiting"] and row["event_name"] != SLEEP_EVENT
    ]


def _event(look: Look, name: str) -> AwaitedEvent:
    rows = look.rows(
        """
        SELECT w.run_id, w.task_id, t.task_name, w.step_name, w.event_name, w.timeout_at, 1 AS waiting
        FROM (SELECT * FROM waits WHERE event_name = ? LIMIT ?) w
        CROSS JOIN runs r ON r.run_id = w.run_id CROSS JOIN tasks t ON t.task_id = w.task_id
        WHERE r.state = 'sleeping' AND r.wake_event = w.event_name
        ORDER BY w.timeout_at IS NULL, w.timeout_at LIMIT ?
        """,
        (name, _MOST_COUNTED, _MOST_SHOWN),
    )
    count, registered = len(rows), len(rows)
    if count == _MOST_SHOWN:
        counted = look.first(
            """
            SELECT COUNT(*), total(r.state = 'sleeping' AND r.wake_event = w.event_name)
            FROM (SELECT run_id, event_name FROM waits WHERE event_name = ? LIMIT ?) w
            CROSS JOIN runs r ON r.run_id = w.run_id
            """,
            (name, _MOST_COUNTED),
        )
        if counted:
            registered, count = counted[0], int(counted[1])
    waiters = tuple(_waiter(row) for row in rows)
    return AwaitedEvent(
        event_name=name,
        waiter_count=count,
        soonest_timeout=waiters[0].timeout_at if waiters else None,
        waiters=waiters,
        capped=registered == _MOST_COUNTED,
    )


def waits_of(look: Look, task_id: str) -> tuple[Waiter, ...]:
    """A task's steps that wait, durable sleeps included."""
    rows = look.rows(
        """
        SELECT w.run_id, w.task_id, t.task_name, w.step_name, w.event_name, w.timeout_at,
               r.state = 'sleeping' AND r.wake_event = w.event_name AS waiting
        FROM runs r CROSS JOIN waits w ON w.run_id = r.run_id CROSS JOIN tasks t ON t.task_id = w.task_id
        WHERE r.task_id = ? ORDER BY r.attempt, w.rowid LIMIT 200
        """,
        (task_id,),
    )
    return tuple(_waiter(row) for row in rows)


def _waiter(row: sqlite3.Row) -> Waiter:
    return Waiter(
        run_id=row["run_id"],
        task_id=row["task_id"],
        name=row["task_name"],
        step_name=row["step_name"],
        event_name=row["event_name"],
        timeout_at=moment_of(row["timeout_at"]),
        waiting=bool(row["waiting"]),
    )
