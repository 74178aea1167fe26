"""Spawning: tasks with their first runs, or the tasks that their idempotency keys already name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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


def spawn(tx: Transaction, tasks: Sequence[Spawn]) -> list[TaskRef]:
    """Insert each task with its first run, pending or asleep until its delay has passed. Returns them in order."""
    refs: list[TaskRef] = []
    made: dict[str, TaskRef] = {}
    task_rows, run_rows = [], []
    for task in tasks:
        existing = _existing(tx, made, task.idempotency_key)
        if existing is not None:
            refs.append(existing)
            continue
        ref = TaskRef(task_id=new_id(), run_id=new_id(), attempt=1, created=True)
        available_at = later(tx.now, task.delay_seconds) if task.delay_seconds else tx.now
        state = State.SLEEPING if available_at > tx.now else State.PENDING
        cause = SleepCause.DELAY if state is State.SLEEPING else None
        task_rows.append(
            (ref.task_id, task.name, task.params, state, task.max_attempts, task.retry, tx.now,
             ref.run_id, task.idempotency_key, task.queue, task.steps, task.max_reclaims)
        )  # fmt: skip
        run_rows.append((ref.run_id, ref.task_id, state, available_at, task.priority, task.queue, cause))
        if task.idempotency_key is not None:
            made[task.idempotency_key] = replace(ref, created=False)
        refs.append(ref)
    tx.connection.executemany(
        """
        INSERT INTO tasks (task_id, task_name, params, state, attempts, max_attempts, retry_strategy, enqueue_at,
                           last_attempt_run, idempotency_key, queue, steps, max_reclaims)
        VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        task_rows,
    )
    tx.connection.executemany(
        """
        INSERT INTO runs (run_id, task_id, attempt, state, available_at, priority, queue, sleep_cause)
        VALUES (?, ?, 1, ?, ?, ?, ?, ?)
        """,
        run_rows,
    )
    tx.announces |= bool(run_rows)
    return refs


def _existing(tx: Transaction, made: dict[str, TaskRef], key: str | None) -> TaskRef | None:
    """The task that has the key already, in the store or among those just made."""
    if key is None:
        return None
    if key in made:
        return made[key]
    row = tx.execute(
        "SELECT task_id, last_attempt_run, attempts FROM tasks WHERE idempotency_key = ?", (key,)
    ).fetchone()
    return None if row is None else TaskRef(task_id=row[0], run_id=row[1], attempt=row[2], created=False)
