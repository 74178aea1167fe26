"""Spawning: tasks with their first runs, or the tasks that their idempotency keys already name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from dura.clock import later
from dura.records import TaskRef, maker
from dura.states import SleepCause, State
from dura.store.insertion import Insertion
from dura.store.transaction import Transaction

_PENDING: Final = State.PENDING, None
_ASLEEP: Final = State.SLEEPING, SleepCause.DELAY

_ref: Final = maker(TaskRef)


class Spawn(NamedTuple):
    """A task to be and its first run, checked and encoded by the caller."""

    task_id: str
    run_id: str
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


_TASKS: Final = Insertion(
    """
    INSERT INTO tasks (task_id, task_name, params, state, attempts, max_attempts, retry_strategy, enqueue_at,
                       last_attempt_run, idempotency_key, queue, steps, max_reclaims)
    VALUES %s
    """,
    "(?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)",
    texts=(1, 2, 8, 9, 10),
)

_RUNS: Final = Insertion(
    """
    INSERT INTO runs (run_id, task_id, attempt, state, available_at, priority, queue, sleep_cause)
    VALUES %s
    """,
    "(?, ?, 1, ?, ?, ?, ?, ?)",
    texts=(5,),
)


def spawn(tx: Transaction, orders: Sequence[Sequence[Spawn]]) -> list[list[TaskRef]]:
    """Insert each task with its first run, pending or asleep until its delay has passed. Returns them in order."""
    made: dict[str, TaskRef] = {}
    tasks: list[object] = []
    runs: list[object] = []
    refs = [[_place(tx, task, made, tasks, runs) for task in order] for order in orders]
    _TASKS.execute(tx, tasks)
    tx.announces += _RUNS.execute(tx, runs)
    return refs


def _place(
    tx: Transaction, task: Spawn, made: dict[str, TaskRef], tasks: list[object], runs: list[object]
) -> TaskRef:
    """Add the task's rows to those to be inserted, unless its idempotency key names one that there is or will be."""
    task_id, run_id, name, params, key, retry, most, delay, priority, queue, steps, max_reclaims = task
    existing = None if key is None else _existing(tx, made, key)
    if existing is not None:
        return existing
    now = tx.now
    available_at = later(now, delay) if delay else now
    state, cause = _PENDING if available_at <= now else _ASLEEP
    tasks += (task_id, name, params, state, most, retry, now, run_id, key, queue, steps, max_reclaims)
    runs += (run_id, task_id, state, available_at, priority, queue, cause)
    tx.moved(queue, name, None, state)
    if key is not None:
        made[key] = _ref(task_id, run_id, 1, False)
    return _ref(task_id, run_id, 1, True)


def _existing(tx: Transaction, made: dict[str, TaskRef], key: str) -> TaskRef | None:
    """The task that has the key already, in the store or among those just made."""
    if key in made:
        return made[key]
    row = tx.execute(
        "SELECT task_id, last_attempt_run, attempts FROM tasks WHERE idempotency_key = ?", (key,)
    ).fetchone()
    return None if row is None else _ref(*row, False)
