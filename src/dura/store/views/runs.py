"""Runs that somebody holds, and runs that sleep: each by the time at which that ends."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from dura.records import Condition, Lease, Sleeper
from dura.states import SleepCause
from dura.store.events import SLEEP_EVENT
from dura.store.views.conditions import matches
from dura.store.views.look import Look, moment_of


def leases(look: Look, limit: int, where: Sequence[Condition] = ()) -> tuple[Lease, ...]:
    """Running runs of tasks that match, the lease that runs out first at the top."""
    asked = matches(look, where)
    rows = look.rows(
        f"""
        SELECT r.run_id, r.task_id, t.task_name, r.queue, r.attempt, t.max_attempts, r.reclaims, t.max_reclaims,
               r.claim_token, r.claimed_by, r.started_at, r.claim_expires_at
        FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id
        WHERE r.state = 'running' AND {asked.sql} ORDER BY r.claim_expires_at LIMIT :limit
        """,  # noqa: S608 - the conditions bind their values
        asked.values | {"limit": limit},
    )
    return tuple(
        Lease(
            run_id=row["run_id"],
            task_id=row["task_id"],
            name=row["task_name"],
            queue=row["queue"],
            attempt=row["attempt"],
            max_attempts=row["max_attempts"],
            reclaims=row["reclaims"],
            max_reclaims=row["max_reclaims"],
            claim_token=row["claim_token"],
            worker_id=row["claimed_by"] or "",
            started_at=moment_of(row["started_at"]),
            expires_at=moment_of(row["claim_expires_at"]),
        )
        for row in rows
    )


def sleepers(look: Look, limit: int, where: Sequence[Condition] = ()) -> tuple[Sleeper, ...]:
    """Sleeping runs of tasks that match, the one that is due first at the top, those without a due time last."""
    asked = matches(look, where)
    rows = look.rows(
        f"""
        SELECT r.run_id, r.task_id, t.task_name, r.queue, r.attempt, r.sleep_cause, r.available_at, r.wake_event,
               r.deferrals, t.terminal_at IS NOT NULL OR t.last_attempt_run IS NOT r.run_id AS stray,
               (SELECT w.step_name FROM waits w WHERE w.run_id = r.run_id AND +w.event_name = r.wake_event LIMIT 1)
                   AS step_name
        FROM runs r CROSS JOIN tasks t ON t.task_id = r.task_id
        WHERE r.state = 'sleeping' AND {asked.sql} ORDER BY r.available_at, r.rowid LIMIT :limit
        """,  # noqa: S608 - the conditions bind their values
        asked.values | {"limit": limit},
    )
    return tuple(
        Sleeper(
            run_id=row["run_id"],
            task_id=row["task_id"],
            name=row["task_name"],
            queue=row["queue"],
            attempt=row["attempt"],
            cause=row["sleep_cause"] or SleepCause.DELAY.value,
            due_at=moment_of(row["available_at"]),
            event_name=awaited_name(row),
            step_name=row["step_name"],
            deferrals=row["deferrals"],
            stray=bool(row["stray"]),
        )
        for row in rows
    )


def awaited_name(row: sqlite3.Row) -> str | None:
    """The event that a run sleeps on; None for a durable sleep, whose reserved event nobody can emit."""
    name: str | None = row["wake_event"]
    return None if name == SLEEP_EVENT else name
