"""The reference model of tasks: how they are spawned and claimed, how claims end, and who may end them.

Written from docs/reference and docs/explanation. Each function is one transaction at `now`: it raises before it changes
anything, or it succeeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dura import InvalidRunState, LeaseLost, TaskCancelledError
from model.rows import NEVER, SLEEP, Run, Store, Task


@dataclass(frozen=True, kw_only=True)
class Spawn:
    """The arguments of `spawn_task`."""

    name: str
    params: str
    queue: str
    priority: int
    key: str | None
    retry: dict[str, Any] | None
    max_attempts: int | None
    max_reclaims: int | None
    steps: list[str] | None
    delay: timedelta


def spawn(store: Store, now: datetime, wanted: Spawn, task_id: str, run_id: str) -> tuple[Task, bool]:
    """The task, and whether it is new: at most one task is ever made for a key, as long as that task is in the store."""
    for task in store.tasks.values():
        if wanted.key is not None and task.key == wanted.key:
            return task, False
    due = now + wanted.delay
    first = Run(
        attempt=1, born=store.birth(), priority=wanted.priority, queue=wanted.queue, run_id=run_id,
        state="sleeping" if due > now else "pending", cause="delay" if due > now else None, available_at=due,
    )  # fmt: skip
    task = store.tasks[task_id] = Task(
        task_id=task_id, name=wanted.name, params=wanted.params, queue=wanted.queue, spawned_at=now, key=wanted.key,
        retry=wanted.retry, max_attempts=wanted.max_attempts, max_reclaims=wanted.max_reclaims, steps=wanted.steps,
        runs=[first], born=store.birth(),
    )  # fmt: skip
    return task, True


def overdue(store: Store, now: datetime) -> list[tuple[Task, Run]]:
    """Runs whose lease has run out, and sleepers that are due."""
    return [
        (task, run)
        for task, run in store.runs()
        if (run.state == "running" and run.lease_ends is not None and run.lease_ends <= now)
        or (run.state == "sleeping" and run.available_at <= now)
    ]


def make_due(store: Store, now: datetime) -> None:
    """Take expired leases back, with the same attempt, and let due sleepers be pending.

    An attempt whose lease has run out more than `max_reclaims` times fails, and its task with it.
    """
    for task, run in overdue(store, now):
        poison = False
        if run.state == "running":
            run.reclaims += 1
            poison = task.max_reclaims is not None and run.reclaims > task.max_reclaims
        if poison:
            end(task, "failed", now)
            run.reason = '"PoisonRun"'
        else:
            _release(run, "pending")


def best(store: Store, queues: tuple[str, ...] | None, ceiling: int | None) -> tuple[Task, Run] | None:
    """The pending run of the highest priority, then due longest, then inserted first."""
    candidates = [
        (task, run)
        for task, run in store.runs()
        if run.state == "pending"
        and (queues is None or run.queue in queues)
        and (ceiling is None or run.priority <= ceiling)
    ]
    return min(candidates, key=lambda pair: rank(pair[1]), default=None)


def rank(run: Run) -> tuple[int, datetime, int]:
    """The order in which pending runs are claimed."""
    return -run.priority, run.available_at, run.born


def claim(
    store: Store,
    now: datetime,
    *,
    worker: str,
    lease: float,
    queues: tuple[str, ...] | None,
    ceiling: int | None,
    look: bool,
) -> tuple[Task, Run] | None:
    """Hand out the best pending run, with a lease and a token one higher than before.

    While there is pending work, what is due need not be looked after each time: `look` says whether it is.
    """
    if look:
        make_due(store, now)
    found = best(store, queues, ceiling)
    if found is not None:
        task, run = found
        run.state, run.worker, run.lease_ends = "running", worker, now + timedelta(seconds=lease)
        run.token += 1
        run.started_at = run.started_at or now
        task.started_at = task.started_at or now
    return found


def held(store: Store, run_id: str, token: int | None) -> tuple[Task, Run]:
    """The fence: the run, if the caller may settle, park or extend it.

    A claim is live while its run is running and its token is the run's. Without a token the call is nobody's, and needs
    only a running run.
    """
    task, run = store.run(run_id)
    if run.state == "cancelled":
        raise TaskCancelledError(run_id)
    if token is not None and (run.state != "running" or run.token != token):
        raise LeaseLost(run_id)
    if run.state != "running":
        raise InvalidRunState(run_id)
    return task, run


def complete(store: Store, now: datetime, run_id: str, token: int | None, result: str) -> None:
    """The run and its task are completed."""
    task, run = held(store, run_id, token)
    run.result = task.result = result
    end(task, "completed", now)


def fail(
    store: Store, now: datetime, run_id: str, token: int | None, reason: str, *, retryable: bool
) -> tuple[datetime, datetime] | None:
    """The attempt has failed for good. Another follows if attempts remain and a retry can help.

    Returns:
        Between which times the next attempt is due (jitter is the engine's to choose); None if there is none.
    """
    task, run = held(store, run_id, token)
    if not retryable or run.attempt == task.max_attempts:
        end(task, "failed", now)
        run.reason = reason
        return None
    _stop(run, "failed", now)
    run.reason = reason
    shortest, longest = delay_range(task.retry, run.attempt, task.max_attempts)
    earliest = now + timedelta(seconds=shortest)
    next_attempt(store, task, earliest, cause="backoff" if earliest > now else None)
    return earliest, now + timedelta(seconds=longest)


def delay_range(retry: dict[str, Any] | None, attempt: int, max_attempts: int | None) -> tuple[float, float]:
    """The shortest and the longest delay, in seconds, after an attempt has failed."""
    shortest = longest = 0.0
    if retry is not None and retry["kind"] != "none":
        ceiling = retry["max_seconds"]
        shortest = retry["base_seconds"]
        if retry["kind"] == "exponential":
            ceiling = ceiling or 100 * retry["base_seconds"]
            shortest *= retry["factor"] ** (attempt - 1)
        ceiling = ceiling or float("inf")
        shortest = min(shortest, ceiling)
        longest = min(shortest * (1 + retry["jitter_factor"]), ceiling)
    # A task that fails at once, for ever, is slowed down from its tenth attempt on.
    return (1.0, 1.0) if longest == 0 and max_attempts is None and attempt >= 9 else (shortest, longest)


def next_attempt(store: Store, task: Task, due: datetime, *, cause: str | None) -> Run:
    """A new run of the task, with the priority and queue of the last. Unresolved waits are its own now."""
    last = task.latest
    run = Run(
        attempt=last.attempt + 1, born=store.birth(), priority=last.priority, queue=last.queue,
        state="sleeping" if cause else "pending", cause=cause, available_at=due,
    )  # fmt: skip
    task.runs.append(run)
    return run


def give_back(store: Store, now: datetime, run_id: str, token: int | None) -> None:
    """As if it had not been claimed: due now."""
    _, run = held(store, run_id, token)
    _release(run, "pending")
    run.available_at = now


def defer(store: Store, now: datetime, run_id: str, token: int | None) -> tuple[Run, float, float]:
    """Left to other workers. Returns the run, and the shortest and longest while in seconds, which the engine chooses."""
    _, run = held(store, run_id, token)
    _release(run, "sleeping", cause="deferred")
    run.available_at = now
    longest = min(30.0, 2.0**run.deferrals)
    run.deferrals += 1
    return run, longest * 0.8, longest


def park(run: Run, event: str, deadline: datetime | None) -> None:
    """Let the run sleep until its step's deadline, or until the event."""
    _release(run, "sleeping", cause="sleep" if event == SLEEP else "event")
    run.event = event
    run.available_at = deadline or NEVER


def end(task: Task, state: str, now: datetime) -> None:
    """The task is over, and so are its latest run and its waits."""
    _stop(task.latest, state, now)
    task.ended_at = now
    task.waits.clear()


def _stop(run: Run, state: str, now: datetime) -> None:
    run.state, run.lease_ends, run.cause, run.event = state, None, None, None
    run.completed_at = now if state == "completed" else None
    run.failed_at = now if state == "failed" else None


def _release(run: Run, state: str, cause: str | None = None) -> None:
    run.state, run.worker, run.lease_ends, run.cause, run.event = state, None, None, cause, None
