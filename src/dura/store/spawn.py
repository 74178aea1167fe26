"""Spawning: a task and its first run, or the task that the idempotency key already names."""

from __future__ import annotations

from dataclasses import dataclass

from dura.clock import later
from dura.ids import new_id
from dura.records import TaskRef
from dura.states import SleepCause, State
from dura.store.connections import Transaction


@dataclass(frozen=True, kw_only=True, slots=True)
class Spawn:
    """A task to be, checked and encoded by the caller."""

    name: str
    params: str
    idempotency_key: str | None
    retry: str | None
    max_attempts: int | None
    delay_seconds: float
    priority: int
    queue: str
    steps: str | None
    max_reclaims: int | None


def spawn(tx: Transaction, task: Spawn) -> TaskRef:
    """Insert the task with its first run, pending or asleep until its delay has passed."""
    if task.idempotency_key is not None:
        existing = tx.execute(
            "SELECT task_id, last_attempt_run, attempts FROM tasks WHERE idempotency_key = ?",
            (task.idempotency_key,),
        ).fetchone()
        if existing is not None:
            return TaskRef(task_id=existing[0], run_id=existing[1], attempt=existing[2], created=False)
    task_id, run_id = new_id(), new_id()
    available_at = later(tx.now, task.delay_seconds) if task.delay_seconds else tx.now
    state = State.SLEEPING if available_at > tx.now else State.PENDING
    tx.execute(
        """
        INSERT INTO tasks (task_id, task_name, params, state, attempts, max_attempts, retry_strategy, enqueue_at,
                           last_attempt_run, idempotency_key, queue, steps, max_reclaims)
        VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (task_id, task.name, task.params, state, task.max_attempts, task.retry, tx.now,
         run_id, task.idempotency_key, task.queue, task.steps, task.max_reclaims),
    )  # fmt: skip
    tx.execute(
        """
        INSERT INTO runs (run_id, task_id, attempt, state, available_at, priority, queue, sleep_cause)
        VALUES (?, ?, 1, ?, ?, ?, ?, ?)
        """,
        (run_id, task_id, state, available_at, task.priority, task.queue,
         SleepCause.DELAY if state is State.SLEEPING else None),
    )  # fmt: skip
    tx.announces = True
    return TaskRef(task_id=task_id, run_id=run_id, attempt=1, created=True)
