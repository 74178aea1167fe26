"""The engine's own reads: one task, how much is ready, how many there are, what failed lately."""

from __future__ import annotations

import sqlite3

from dura.codec import decode
from dura.errors import TaskNotFound
from dura.records import FailureInfo, TaskInfo
from dura.states import State
from dura.store.counts import counts


def task_info(connection: sqlite3.Connection, task_id: str) -> TaskInfo:
    """A task's state, with its result or its last failure."""
    row = connection.execute(
        """
        SELECT t.state, t.attempts, t.completed_payload, r.failure_reason
        FROM tasks t LEFT JOIN runs r ON r.run_id = t.last_attempt_run WHERE t.task_id = ?
        """,
        (task_id,),
    ).fetchone()
    if row is None:
        raise TaskNotFound(
            f"there is no task {task_id or '(empty)'}: it was never spawned here, or cleanup removed it"
        )
    state, attempts, result, reason = row
    return TaskInfo(
        task_id=task_id,
        state=state,
        attempts=attempts,
        result=decode(result) if state == State.COMPLETED else None,
        failure_reason=decode(reason) if state == State.FAILED else None,
    )


def ready_runs(connection: sqlite3.Connection, now: str) -> int:
    """Runs claimable now: what is pending, and sleepers that are due."""
    pending = sum(count for _, _, state, count in counts(connection) if state == State.PENDING)
    due = connection.execute(
        "SELECT COUNT(*) FROM runs INDEXED BY runs_sleeping WHERE state = 'sleeping' AND available_at <= ?",
        (now,),
    ).fetchone()[0]
    return pending + due  # type: ignore[no-any-return]


def recent_failures(connection: sqlite3.Connection, limit: int) -> list[FailureInfo]:
    """The latest failed attempts, newest first."""
    rows = connection.execute(
        """
        SELECT r.run_id, r.task_id, t.task_name, r.attempt, r.failed_at, r.failure_reason
        FROM runs r INDEXED BY runs_failed JOIN tasks t ON t.task_id = r.task_id
        WHERE r.state = 'failed' AND r.failed_at IS NOT NULL ORDER BY r.failed_at DESC, r.rowid DESC LIMIT ?
        """,
        (limit,),
    )
    return [
        FailureInfo(
            run_id=run_id,
            task_id=task_id,
            task_name=name,
            attempt=attempt,
            failed_at=failed_at,
            failure_reason=decode(reason),
        )
        for run_id, task_id, name, attempt, failed_at, reason in rows
    ]
