"""Tasks as lines of a list: the task, its latest run, its latest failure and how far it is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from dura.records import TaskRow
from dura.states import TERMINAL, State
from dura.store.views.failures import in_a_line
from dura.store.views.look import Look, moment_of
from dura.store.views.progress import Progress, declared_steps
from dura.store.views.runs import awaited_name

_ROWS = """
    SELECT t.rowid AS seq, t.task_id, t.task_name, t.queue, t.state, t.attempts, t.max_attempts, t.enqueue_at,
           t.first_started_at, t.terminal_at, t.idempotency_key, t.steps, t.last_attempt_run, r.state AS run_state,
           r.priority, r.available_at, r.claim_expires_at, r.sleep_cause, r.wake_event, r.claim_token,
           CASE WHEN json_valid(t.steps) THEN (
               SELECT COUNT(*) FROM json_each(t.steps) s
               CROSS JOIN checkpoints c ON c.task_id = t.task_id AND c.checkpoint_name = s.value)
           ELSE (SELECT COUNT(*) FROM checkpoints c WHERE c.task_id = t.task_id) END AS steps_done,
           CASE WHEN t.attempts > 1 OR t.state = 'failed' THEN (
               SELECT f.failure_reason FROM runs f WHERE f.task_id = t.task_id AND f.failure_reason IS NOT NULL
               ORDER BY f.attempt DESC LIMIT 1) END AS reason
    FROM json_each(?) pick CROSS JOIN tasks t ON t.rowid = pick.value
    LEFT JOIN runs r ON r.run_id = t.last_attempt_run
"""


def task_rows(look: Look, seqs: Sequence[int], progress: Progress) -> tuple[TaskRow, ...]:
    """The tasks with these rowids, in this order."""
    rows = {row["seq"]: row for row in look.rows(_ROWS, (json.dumps(seqs),))}
    found = [rows[seq] for seq in seqs if seq in rows]
    progress.learn(look, {row["task_name"] for row in found if row["steps"] is None})
    return tuple(_task_row(row, progress) for row in found)


def _task_row(row: sqlite3.Row, progress: Progress) -> TaskRow:
    steps = declared_steps(row["steps"])
    sleeps = row["state"] == row["run_state"] == State.SLEEPING
    due_at = None
    if sleeps:
        due_at = row["available_at"]
    elif row["state"] == row["run_state"] == State.RUNNING:
        due_at = row["claim_expires_at"]
    return TaskRow(
        task_id=row["task_id"],
        run_id=row["last_attempt_run"] or "",
        name=row["task_name"],
        queue=row["queue"],
        state=row["state"],
        attempts=row["attempts"],
        max_attempts=row["max_attempts"],
        priority=row["priority"] or 0,
        enqueued_at=moment_of(row["enqueue_at"]),
        started_at=moment_of(row["first_started_at"]),
        # 1.3.0 can revive a task that was over; it keeps the time of its end, which says nothing any more.
        ended_at=moment_of(row["terminal_at"]) if row["state"] in TERMINAL else None,
        due_at=moment_of(due_at),
        sleep_cause=row["sleep_cause"] if sleeps else None,
        wake_event=awaited_name(row) if sleeps else None,
        claim_token=row["claim_token"] or 0,
        steps_done=row["steps_done"],
        steps_total=len(steps) if steps is not None else progress.expected(row["task_name"]),
        steps_declared=steps is not None,
        idempotency_key=row["idempotency_key"],
        error=in_a_line(row["reason"]),
    )
