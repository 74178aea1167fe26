"""Settling: how a run stops running, and the fence that lets only its holder do so.

A claim is live while its run is running and the claim's token is the row's. Completing, failing, giving back and
deferring end it; so do parking (events.py), cancelling (operate.py) and an expired lease that was taken back (claim.py).
A call with a token that is not live changes nothing and raises. A call without a token, by nobody, needs only a running
run: that is how dura 1.3.0 worked, and it is unfenced.

A failed attempt leaves its run failed for good and makes a new one, attempt + 1, unless none is left or a retry cannot
help. The task mirrors its latest run in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from dura.clock import later
from dura.codec import decode
from dura.errors import InvalidRunState, LeaseLost, TaskCancelledError, TaskNotFound
from dura.ids import new_id
from dura.records import ClaimedTask
from dura.retry import deferral_seconds, next_delay
from dura.states import SleepCause, State
from dura.store.transaction import ServeAlone, Transaction

_UNREADABLE_STRATEGY_DELAY: Final = 30.0
"""Seconds before the next attempt of a task whose stored strategy cannot be read."""

NO_LONGER_HELD: Final = (InvalidRunState, TaskNotFound, TaskCancelledError)
"""What a call on a run raises when it was taken back, settled, cancelled or removed meanwhile."""


@dataclass(frozen=True, slots=True)
class Held:
    """The facts of a running run that settling needs."""

    run_id: str
    task_id: str
    attempt: int
    priority: int
    queue: str
    deferrals: int
    name: str


class Settlement(NamedTuple):
    """How a handler ended, encoded for the store: with a result, or with a reason."""

    run_id: str
    task_id: str
    queue: str
    name: str
    token: int | None
    result: str | None = None
    """JSON; None: the attempt failed."""
    reason: str = "null"
    """JSON: why it failed."""
    retryable: bool = True

    @classmethod
    def of(cls, task: ClaimedTask, **how: Any) -> Settlement:
        """That of a claimed run."""
        return cls(task.run_id, task.task_id, task.queue, task.name, task.claim_token, **how)


def settle(tx: Transaction, settlement: Settlement) -> None:
    """Complete or fail the run. A caller that may not do so changes nothing: the fence is asked before any write."""
    if settlement.result is not None:
        complete_all(tx, [settlement])
    else:
        fail(tx, settlement.run_id, settlement.token, settlement.reason, retryable=settlement.retryable)


def held(tx: Transaction, run_id: str, token: int | None) -> Held:
    """The run, if the caller may settle it.

    Args:
        tx: The open transaction.
        run_id: The run.
        token: The caller's claim token; None for a call by nobody.

    Raises:
        TaskNotFound: There is no such run.
        TaskCancelledError: Its task was cancelled.
        LeaseLost: The caller's claim is no longer live.
        InvalidRunState: The run is not running (a call by nobody).
    """
    row = tx.execute(
        """
        SELECT r.state, r.claim_token, r.task_id, r.attempt, r.priority, r.queue, r.deferrals, t.task_name
        FROM runs r JOIN tasks t ON t.task_id = r.task_id WHERE r.run_id = ?
        """,
        (run_id,),
    ).fetchone()
    if row is None:
        raise TaskNotFound(
            f"there is no run {run_id or '(empty)'}: its task was never spawned here, or cleanup removed it"
        )
    check_claim(run_id, row[0], row[1], token)
    return Held(run_id, *row[2:])


def check_claim(run_id: str, state: str, row_token: int, token: int | None) -> None:
    """Raise unless a run in this state, with this token, may be settled by a caller with that one."""
    if state == State.CANCELLED:
        raise TaskCancelledError(f"run {run_id} was cancelled; its handler should stop")
    if token is not None and (state != State.RUNNING or row_token != token):
        raise LeaseLost(
            f"the claim on run {run_id} (token {token}) is no longer live: the run is {state} (token {row_token}). "
            "Its lease ran out or it was settled."
        )
    if state != State.RUNNING:
        raise InvalidRunState(f"run {run_id} is {state}, not running")


def complete(tx: Transaction, run_id: str, token: int | None, result: str) -> None:
    """Finish the run and its task with a result (JSON)."""
    run = held(tx, run_id, token)
    complete_all(tx, [Settlement(run_id, run.task_id, run.queue, run.name, token, result)])


def complete_all(tx: Transaction, settlements: Sequence[Settlement]) -> None:
    """Finish each run and its task.

    Raises:
        ServeAlone: One of several may not be settled by its caller.
        EngineError: The only one may not be, and why.
    """
    settled = tx.executemany(
        """
        UPDATE runs SET state = 'completed', completed_at = ?, result = ?, claim_expires_at = NULL
        WHERE run_id = ? AND state = 'running' AND claim_token = COALESCE(?, claim_token)
        """,
        [(tx.now, done.result, done.run_id, done.token) for done in settlements],
    ).rowcount
    if settled < len(settlements):
        if len(settlements) > 1:
            raise ServeAlone
        held(tx, settlements[0].run_id, settlements[0].token)
    tasks = [(done.result, tx.now, done.task_id) for done in settlements]
    tx.executemany(
        "UPDATE tasks SET state = 'completed', completed_payload = ?, terminal_at = ? WHERE task_id = ?",
        tasks,
    )
    tx.executemany("DELETE FROM waits WHERE task_id = ?", [task[2:] for task in tasks])
    for done in settlements:
        tx.moved(done.queue, done.name, State.RUNNING, State.COMPLETED)


def fail(tx: Transaction, run_id: str, token: int | None, reason: str, *, retryable: bool) -> None:
    """Fail the attempt with a reason (JSON), and schedule the next one if there is one."""
    fail_held(tx, held(tx, run_id, token), reason, retryable=retryable)


def fail_held(tx: Transaction, run: Held, reason: str, *, retryable: bool) -> None:
    """`fail`, for a run that the caller has already checked."""
    tx.execute(
        "UPDATE runs SET state = 'failed', failed_at = ?, failure_reason = ?, claim_expires_at = NULL WHERE run_id = ?",
        (tx.now, reason, run.run_id),
    )
    strategy, max_attempts = tx.execute(
        "SELECT retry_strategy, max_attempts FROM tasks WHERE task_id = ?", (run.task_id,)
    ).fetchone()
    if retryable and (max_attempts is None or run.attempt < max_attempts):
        try:
            delay = next_delay(decode(strategy), run.attempt, max_attempts)
        except (ValueError, RecursionError):
            delay = _UNREADABLE_STRATEGY_DELAY
        new_attempt(tx, run, delay, State.RUNNING)
    else:
        tx.execute(
            "UPDATE tasks SET state = 'failed', terminal_at = ?, last_attempt_run = ? WHERE task_id = ?",
            (tx.now, run.run_id, run.task_id),
        )
        tx.execute("DELETE FROM waits WHERE task_id = ?", (run.task_id,))
        tx.moved(run.queue, run.name, State.RUNNING, State.FAILED)


def new_attempt(tx: Transaction, run: Held, delay: float, before: str) -> str:
    """Add the run of the attempt after `run`, moving the task's unresolved waits to it.

    Args:
        tx: The transaction.
        run: The attempt that has ended.
        delay: In how many seconds the next one is due.
        before: The task's state until now.

    Returns:
        The new run's id.
    """
    run_id = new_id()
    available_at = later(tx.now, delay) if delay > 0 else tx.now
    state = State.SLEEPING if available_at > tx.now else State.PENDING
    tx.execute(
        """
        INSERT INTO runs (run_id, task_id, attempt, state, available_at, priority, queue, sleep_cause)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (run_id, run.task_id, run.attempt + 1, state, available_at, run.priority, run.queue,
         SleepCause.BACKOFF if state is State.SLEEPING else None),
    )  # fmt: skip
    tx.execute(
        "UPDATE tasks SET state = ?, attempts = ?, last_attempt_run = ? WHERE task_id = ?",
        (state, run.attempt + 1, run_id, run.task_id),
    )
    tx.execute("UPDATE waits SET run_id = ? WHERE task_id = ?", (run_id, run.task_id))
    tx.moved(run.queue, run.name, before, state)
    tx.announces += 1
    return run_id


def give_back(tx: Transaction, run_id: str, token: int | None) -> None:
    """End the claim as if it had not been: the run is due now, with the same attempt and reclaims."""
    _unclaim(tx, held(tx, run_id, token), State.PENDING, tx.now)


def defer(tx: Transaction, run_id: str, token: int | None) -> float:
    """Leave the run to workers that know its name, for a while that grows. Returns that while, in seconds."""
    run = held(tx, run_id, token)
    delay = deferral_seconds(run.deferrals)
    _unclaim(tx, run, State.SLEEPING, later(tx.now, delay))
    tx.execute("UPDATE runs SET deferrals = deferrals + 1 WHERE run_id = ?", (run_id,))
    return delay


def _unclaim(tx: Transaction, run: Held, state: State, available_at: str) -> None:
    tx.execute(
        "UPDATE runs SET state = ?, sleep_cause = ?, available_at = ?, claimed_by = NULL, claim_expires_at = NULL "
        "WHERE run_id = ?",
        (state, SleepCause.DEFERRED if state is State.SLEEPING else None, available_at, run.run_id),
    )
    tx.execute("UPDATE tasks SET state = ? WHERE task_id = ?", (state, run.task_id))
    tx.moved(run.queue, run.name, State.RUNNING, state)
    tx.announces += 1
