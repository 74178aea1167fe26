"""Checkpoints: the results of finished steps, keyed to the task so that every later attempt sees them.

A step's function runs between `look` and `keep`, outside any transaction. `look` stops a caller whose claim is lost before
anything is computed. `keep` writes the result unless another was first; a holder that went stale while it computed has
its result kept only if its run is still the task's latest and can still go on, since then the next holder would compute
the very same step again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from dura.errors import LeaseLost, StepConflict, TaskCancelledError, TaskNotFound
from dura.states import LIVE, State
from dura.store.insertion import Insertion
from dura.store.settle import check_claim
from dura.store.transaction import ServeAlone, Transaction


class Holder(NamedTuple):
    """Whose call it is: a run and the claim token it was claimed with."""

    run_id: str
    token: int


class Stored(NamedTuple):
    """A step's stored result."""

    value: str | None
    """JSON; None for a wait that timed out."""


def look(connection: sqlite3.Connection, task_id: str, step: str, holder: Holder | None) -> Stored | None:
    """The step's result, or None if it has to be computed.

    Raises:
        TaskNotFound: There is no such task.
        TaskCancelledError: The task was cancelled.
        LeaseLost: The holder's claim is no longer live.
        StepConflict: The step waits for an event or sleeps; its outcome is not computed.
    """
    row = connection.execute(
        """
        SELECT t.state, c.checkpoint_name IS NOT NULL, c.state, r.state, r.claim_token
        FROM tasks t LEFT JOIN checkpoints c ON c.task_id = t.task_id AND c.checkpoint_name = ?
        LEFT JOIN runs r ON r.run_id = ? AND r.task_id = t.task_id
        WHERE t.task_id = ?
        """,
        (step, holder.run_id if holder else None, task_id),
    ).fetchone()
    if row is None:
        raise TaskNotFound(f"there is no task {task_id}: step {step!r} was not run")
    task_state, found, value, run_state, run_token = row
    if holder is not None:
        if run_state is None:
            raise TaskNotFound(f"task {task_id} has no run {holder.run_id}: step {step!r} was not run")
        check_claim(holder.run_id, run_state, run_token, holder.token)
    if found:
        return Stored(value)
    if task_state == State.CANCELLED:
        raise TaskCancelledError(f"task {task_id} was cancelled: step {step!r} was not run")
    _check_use(connection, task_id, step)
    return None


def peek(connection: sqlite3.Connection, task_id: str, step: str) -> Stored | None:
    """The step's result, whoever asks."""
    row = connection.execute(
        "SELECT state FROM checkpoints WHERE task_id = ? AND checkpoint_name = ?", (task_id, step)
    ).fetchone()
    return None if row is None else Stored(row[0])


def used(connection: sqlite3.Connection, task_id: str) -> list[str]:
    """The steps of a task that have finished or wait."""
    rows = connection.execute(
        "SELECT checkpoint_name FROM checkpoints WHERE task_id = ? "
        "UNION ALL SELECT step_name FROM waits WHERE task_id = ?",
        (task_id, task_id),
    )
    return [step for (step,) in rows]


class Result(NamedTuple):
    """A step's result to be kept for the run that computed it."""

    step: str
    value: str
    """JSON."""
    run_id: str
    task_id: str
    token: int
    noted: bool
    """Whether the caller notes for its claim that the step is used. What it does not, every claim has to look for."""


_RESULTS: Final = Insertion(
    """
    INSERT INTO checkpoints (task_id, checkpoint_name, state, owner_run_id, updated_at)
    SELECT task_id, done.column1, done.column2, run_id, done.column3 FROM (VALUES %s) done CROSS JOIN runs
    WHERE run_id = done.column4 AND task_id = done.column5 AND state = 'running' AND claim_token = done.column6
    AND NOT EXISTS (SELECT 1 FROM waits WHERE task_id = runs.task_id AND step_name = done.column1)
    ON CONFLICT (task_id, checkpoint_name) DO NOTHING
    """,
    "(?, ?, ?, ?, ?, ?)",
    texts=(0, 1),
)


def keep_all(tx: Transaction, results: Sequence[Result]) -> Sequence[Result | Stored | LeaseLost]:
    """`keep`, for many results of which each has a holder.

    Returns:
        For each what `keep` does; itself, where it is what is stored.

    Raises:
        ServeAlone: One of several cannot be kept without asking why.
        EngineError: As `keep`.
    """
    values: list[object] = []
    for step, value, run_id, task_id, token, _ in results:
        values += (step, value, tx.now, run_id, task_id, token)
    kept = _RESULTS.execute(tx, values)
    tx.disturbs |= not all(done.noted for done in results)
    if kept == len(results):
        return results
    if len(results) > 1:
        raise ServeAlone
    tx.disturbs = True
    [done] = results
    return [keep(tx, done.task_id, done.step, done.value, Holder(done.run_id, done.token), None)]


def keep(
    tx: Transaction, task_id: str, step: str, value: str, holder: Holder | None, owner_run_id: str | None
) -> Stored | LeaseLost:
    """Store a step's result unless it has one, and return what is stored.

    Returns:
        The stored result, or, for a holder that went stale, the error to raise once this transaction is committed.

    Raises:
        TaskNotFound: The task is gone; nothing is written.
        TaskCancelledError: The task was cancelled meanwhile; nothing is written.
        LeaseLost: The holder is stale and its run has ended or is not the latest; nothing is written.
        StepConflict: The step has begun to wait meanwhile; nothing is written.
    """
    lost: LeaseLost | None = None
    if holder is not None:
        lost = _lost(tx, task_id, step, holder)
    else:
        _check_task(tx, task_id, step)
    _check_use(tx.connection, task_id, step)
    write(tx, task_id, step, value, holder.run_id if holder else owner_run_id)
    stored = peek(tx.connection, task_id, step)
    assert stored is not None
    return lost or stored


def write(tx: Transaction, task_id: str, step: str, value: str | None, run_id: str | None) -> None:
    """Insert the checkpoint; one that exists stays as it is."""
    tx.execute(
        "INSERT INTO checkpoints (task_id, checkpoint_name, state, owner_run_id, updated_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (task_id, checkpoint_name) DO NOTHING",
        (task_id, step, value, run_id, tx.now),
    )


def _check_task(tx: Transaction, task_id: str, step: str) -> None:
    row = tx.execute("SELECT state FROM tasks WHERE task_id = ?", (task_id,)).fetchone()
    if row is None:
        raise TaskNotFound(f"there is no task {task_id} any more: the result of step {step!r} was not kept")
    if row[0] == State.CANCELLED:
        raise TaskCancelledError(f"task {task_id} was cancelled: the result of step {step!r} was not kept")


def _check_use(connection: sqlite3.Connection, task_id: str, step: str) -> None:
    row = connection.execute(
        "SELECT event_name FROM waits WHERE task_id = ? AND step_name = ?", (task_id, step)
    ).fetchone()
    if row is not None:
        raise StepConflict(
            f"step {step!r} of task {task_id} waits for event {row[0]!r}; it cannot also be computed. "
            "Give each step a name of its own."
        )


def _lost(tx: Transaction, task_id: str, step: str, holder: Holder) -> LeaseLost | None:
    row = tx.execute(
        """
        SELECT r.state, r.claim_token, t.last_attempt_run = r.run_id
        FROM runs r JOIN tasks t ON t.task_id = r.task_id WHERE r.run_id = ? AND t.task_id = ?
        """,
        (holder.run_id, task_id),
    ).fetchone()
    if row is None:
        raise TaskNotFound(f"there is no task {task_id} any more: the result of step {step!r} was not kept")
    state, token, latest = row
    try:
        check_claim(holder.run_id, state, token, holder.token)
    except LeaseLost as error:
        if not latest or state not in LIVE:
            raise
        return LeaseLost(f"{error} Only the result of step {step!r} was kept, since the run can still go on.")
    return None
