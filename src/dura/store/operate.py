"""What an operator does to a task from outside: extend, cancel, requeue, wake.

Each call may say what its operator saw (the run, the claim token) and is refused with the present state when that has
moved on. So an action chosen from a screen reaches the thing that was on the screen, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from dura.clock import later, seconds_between
from dura.errors import ActionRefused, TaskNotFound
from dura.records import TaskRef
from dura.states import TERMINAL, WAKEABLE, State
from dura.store.settle import Held, held, new_attempt
from dura.store.transaction import Transaction


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What was on the operator's screen; None: not compared."""

    run_id: str | None = None
    claim_token: int | None = None

    def anything(self) -> bool:
        """Whether there is anything to compare."""
        return self.run_id is not None or self.claim_token is not None


@dataclass(frozen=True, slots=True)
class Task:
    """A task and its latest run, as an operation finds them."""

    task_id: str
    state: str
    run: Held
    claim_token: int
    sleep_cause: str | None
    wake_event: str | None
    max_attempts: int | None

    def check(self, seen: Seen, action: str) -> None:
        """Refuse if the latest run or its claim is not the one that was seen."""
        if seen.run_id is not None and seen.run_id != self.run.run_id:
            raise ActionRefused(
                f"cannot {action} task {self.task_id}: it has moved on to attempt {self.run.attempt} "
                f"(run {self.run.run_id}), which is {self.state}. Look again.",
                present=self.state,
            )
        if seen.claim_token is not None and seen.claim_token != self.claim_token:
            raise ActionRefused(
                f"cannot {action} task {self.task_id}: run {self.run.run_id} "
                f"{_other_claim(self.claim_token, seen.claim_token)} and is {self.state}. Look again.",
                present=self.state,
            )


def _other_claim(token: int, seen: int) -> str:
    """How a run's claim differs from the one that was seen."""
    if token < seen:
        return f"has not been claimed that often (token {token}, seen {seen})"
    return f"has been claimed {'again ' if seen else ''}since (token {token}, seen {seen})"


def find(tx: Transaction, task_id: str) -> Task:
    """The task with its latest run.

    Raises:
        TaskNotFound: There is none.
    """
    row = tx.execute(
        """
        SELECT t.state, t.max_attempts, r.claim_token, r.sleep_cause, r.wake_event,
               r.run_id, r.attempt, r.priority, r.queue, r.deferrals, t.task_name
        FROM tasks t JOIN runs r ON r.run_id = t.last_attempt_run WHERE t.task_id = ?
        """,
        (task_id,),
    ).fetchone()
    if row is None:
        raise TaskNotFound(
            f"there is no task {task_id or '(empty)'}: it was never spawned here, or cleanup removed it"
        )
    state, max_attempts, token, cause, event, run_id, *rest = row
    run = Held(run_id, task_id, *rest)
    return Task(task_id, state, run, token, cause, event, max_attempts)


def extend(
    tx: Transaction, run_id: str, token: int | None, seconds: float, seen: Seen
) -> tuple[str, str, bool]:
    """Let the run's lease end `seconds` from now, if that is later than it ends already.

    Returns:
        The task's id, when the lease ends, and whether that is later than before.
    """
    if seen.claim_token is not None:
        _check_lease(tx, run_id, seen.claim_token)
    run = held(tx, run_id, token)
    (expires_at,) = tx.execute("SELECT claim_expires_at FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    extended = max(expires_at, later(tx.now, seconds))
    tx.execute("UPDATE runs SET claim_expires_at = ? WHERE run_id = ?", (extended, run_id))
    return run.task_id, extended, extended > expires_at


def _check_lease(tx: Transaction, run_id: str, seen: int) -> None:
    """Refuse if the run is not held by the claim that was seen; a run that is not there is left to `held`."""
    row = tx.execute("SELECT state, claim_token FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    if row is None or row == (State.RUNNING, seen):
        return
    state, token = row
    what = f"it {_other_claim(token, seen)}" if token != seen else "its claim has ended"
    raise ActionRefused(
        f"cannot extend the lease of run {run_id}: {what}, and it is {state}. Look again.", present=state
    )


def cancel(tx: Transaction, task_id: str, seen: Seen) -> Task | None:
    """Cancel the task; a handler that runs learns of it at its next call. None: it was terminal already."""
    task = find(tx, task_id)
    task.check(seen, "cancel")
    if task.state in TERMINAL:
        if seen.anything():
            raise ActionRefused(
                f"cannot cancel task {task_id}: it is already {task.state}", present=task.state
            )
        return None
    tx.execute("UPDATE tasks SET state = 'cancelled', terminal_at = ? WHERE task_id = ?", (tx.now, task_id))
    tx.execute(
        "UPDATE runs SET state = 'cancelled', claim_expires_at = NULL, sleep_cause = NULL, wake_event = NULL "
        "WHERE task_id = ? AND state IN ('pending', 'running', 'sleeping')",
        (task_id,),
    )
    tx.execute("DELETE FROM waits WHERE task_id = ?", (task_id,))
    tx.moved(task.run.queue, task.run.name, task.state, State.CANCELLED)
    return task


def cancel_duplicates(tx: Transaction, name: str) -> tuple[str | None, int]:
    """Cancel all live tasks of the name but the oldest. Returns its id and how many were cancelled."""
    live = tx.execute(
        """
        SELECT task_id FROM tasks INDEXED BY tasks_live
        WHERE task_name = ? AND terminal_at IS NULL ORDER BY enqueue_at, rowid
        """,
        (name,),
    ).fetchall()
    for (task_id,) in live[1:]:
        cancel(tx, task_id, Seen())
    return (live[0][0], len(live) - 1) if live else (None, 0)


def requeue(
    tx: Transaction, task_id: str, seen: Seen, *, keep_checkpoints: bool, from_step: str | None
) -> tuple[Task, TaskRef]:
    """Give a failed or cancelled task one more attempt, due now."""
    task = find(tx, task_id)
    task.check(seen, "requeue")
    if task.state not in (State.FAILED, State.CANCELLED):
        raise ActionRefused(
            f"cannot requeue task {task_id}: it is {task.state}, and only failed or cancelled tasks can be requeued",
            present=task.state,
        )
    _drop_checkpoints(tx, task_id, keep_checkpoints=keep_checkpoints, from_step=from_step)
    tx.execute("DELETE FROM waits WHERE task_id = ?", (task_id,))
    attempt = task.run.attempt + 1
    tx.execute(
        "UPDATE tasks SET state = 'pending', terminal_at = NULL, attempts = ?, "
        "max_attempts = CASE WHEN max_attempts < ? THEN ? ELSE max_attempts END WHERE task_id = ?",
        (attempt, attempt, attempt, task_id),
    )
    run_id = new_attempt(tx, task.run, 0.0, task.state)
    return task, TaskRef(task_id=task_id, run_id=run_id, attempt=attempt, created=True)


def _drop_checkpoints(
    tx: Transaction, task_id: str, *, keep_checkpoints: bool, from_step: str | None
) -> None:
    if from_step is not None:
        first = tx.execute(
            "SELECT rowid FROM checkpoints WHERE task_id = ? AND checkpoint_name = ?", (task_id, from_step)
        ).fetchone()
        if first is None:
            names = [
                row[0]
                for row in tx.execute(
                    "SELECT checkpoint_name FROM checkpoints WHERE task_id = ? ORDER BY rowid LIMIT 20",
                    (task_id,),
                )
            ]
            raise ActionRefused(
                f"cannot requeue task {task_id} from step {from_step!r}: it has not finished that step. "
                f"Finished: {', '.join(map(repr, names)) or 'none'}."
            )
        tx.execute("DELETE FROM checkpoints WHERE task_id = ? AND rowid >= ?", (task_id, first[0]))
    elif not keep_checkpoints:
        tx.execute("DELETE FROM checkpoints WHERE task_id = ?", (task_id,))


def wake(tx: Transaction, task_id: str, seen: Seen) -> tuple[Task, float]:
    """Make a delayed, backed-off or deferred task due now. Returns it and the seconds that were left."""
    task = find(tx, task_id)
    task.check(seen, "wake")
    if task.state != State.SLEEPING:
        raise ActionRefused(
            f"cannot wake task {task_id}: it is {task.state}, not sleeping", present=task.state
        )
    if task.sleep_cause is not None and task.sleep_cause not in WAKEABLE:
        what = (
            f"waits for event {task.wake_event!r}: emit it"
            if task.sleep_cause == "event"
            else "sleeps in a step"
        )
        raise ActionRefused(
            f"cannot wake task {task_id}: it {what}. Only a delay, a backoff or a deferral can be cut short.",
            present=task.state,
        )
    row = tx.execute("SELECT available_at FROM runs WHERE run_id = ?", (task.run.run_id,)).fetchone()
    tx.execute(
        "UPDATE runs SET state = 'pending', sleep_cause = NULL, available_at = ? WHERE run_id = ?",
        (tx.now, task.run.run_id),
    )
    tx.execute("UPDATE tasks SET state = 'pending' WHERE task_id = ?", (task_id,))
    tx.moved(task.run.queue, task.run.name, State.SLEEPING, State.PENDING)
    tx.announces += 1
    return task, seconds_between(tx.now, row[0])
