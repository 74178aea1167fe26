"""Everything about one task: its attempts, its finished steps, what it waits for, what went in and came out."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Final

from dura.records import AttemptRow, CheckpointRow, TaskDetail, TaskRow
from dura.states import State
from dura.store.views.look import Look, moment_of, shown, shown_or_none
from dura.store.views.progress import Progress, declared_steps
from dura.store.views.runs import awaited_name
from dura.store.views.taskrows import task_rows
from dura.store.views.waits import waits_of

_MOST_ATTEMPTS: Final = 200
"""The latest attempts of a task that are shown."""

_MOST_STEPS: Final = 500
"""The latest finished steps of a task that are shown."""

_VALUE_LIMIT: Final = 256 * 1024
"""Characters of a stored value that the detail carries."""


def task_detail(look: Look, task_id: str, progress: Progress) -> TaskDetail | None:
    """One task; None if it is not in the store."""
    row = look.first(
        """
        SELECT rowid AS seq, substr(params, 1, ?) AS params, substr(completed_payload, 1, ?) AS result, steps,
               retry_strategy, max_reclaims
        FROM tasks WHERE task_id = ?
        """,
        (_VALUE_LIMIT + 1, _VALUE_LIMIT + 1, task_id),
    )
    lines = task_rows(look, [row["seq"]], progress) if row else ()
    if not row or not lines:
        return None
    task = lines[0]
    return TaskDetail(
        task=task,
        params=shown(row["params"], _VALUE_LIMIT),
        result=shown_or_none(row["result"], _VALUE_LIMIT),
        steps=declared_steps(row["steps"]) or (),
        retry=row["retry_strategy"],
        max_reclaims=row["max_reclaims"],
        attempts=_attempts(look, task),
        checkpoints=_checkpoints(look, task),
        waits=waits_of(look, task_id),
    )


def _attempts(look: Look, task: TaskRow) -> tuple[AttemptRow, ...]:
    rows = look.rows(
        "SELECT * FROM runs WHERE task_id = ? ORDER BY attempt DESC LIMIT ?", (task.task_id, _MOST_ATTEMPTS)
    )
    return tuple(_attempt(row, task) for row in reversed(rows))


def _attempt(row: sqlite3.Row, task: TaskRow) -> AttemptRow:
    return AttemptRow(
        run_id=row["run_id"],
        attempt=row["attempt"],
        state=row["state"],
        worker_id=row["claimed_by"],
        available_at=moment_of(row["available_at"]),
        started_at=moment_of(row["started_at"]),
        ended_at=_ended_at(row, task),
        claim_expires_at=moment_of(row["claim_expires_at"]),
        claim_token=row["claim_token"],
        reclaims=row["reclaims"],
        deferrals=row["deferrals"],
        sleep_cause=row["sleep_cause"],
        wake_event=awaited_name(row),
        failure_reason=shown_or_none(row["failure_reason"], _VALUE_LIMIT),
    )


def _ended_at(row: sqlite3.Row, task: TaskRow) -> datetime | None:
    match row["state"]:
        case State.COMPLETED:
            return moment_of(row["completed_at"])
        case State.FAILED:
            return moment_of(row["failed_at"])
        case State.CANCELLED if row["run_id"] == task.run_id:
            # A cancelled run has no time of its own.
            return task.ended_at
    return None


def _checkpoints(look: Look, task: TaskRow) -> tuple[CheckpointRow, ...]:
    rows = look.rows(
        """
        SELECT checkpoint_name, substr(state, 1, ?) AS value, length(CAST(state AS BLOB)) AS size, owner_run_id,
               updated_at
        FROM checkpoints WHERE task_id = ? ORDER BY rowid DESC LIMIT ?
        """,
        (_VALUE_LIMIT + 1, task.task_id, _MOST_STEPS + 1),
    )
    rows.reverse()
    previous = task.started_at
    if len(rows) > _MOST_STEPS:
        previous = moment_of(rows.pop(0)["updated_at"])
    found = []
    for row in rows:
        finished_at = moment_of(row["updated_at"])
        seconds = None
        if finished_at is not None and previous is not None:
            # A clock that stepped back makes no negative time.
            seconds = max(0.0, (finished_at - previous).total_seconds())
        found.append(
            CheckpointRow(
                name=row["checkpoint_name"],
                value=shown_or_none(row["value"], _VALUE_LIMIT),
                size=row["size"] or 0,
                finished_at=finished_at,
                seconds=seconds,
                run_id=row["owner_run_id"],
            )
        )
        previous = finished_at or previous
    return tuple(found)
