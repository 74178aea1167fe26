"""The reference model of what is done to tasks from outside, and of upkeep: extend, cancel, requeue, wake, cleanup.

Written from docs/reference. An operator's call compares what was seen before anything else, and is refused if the task
has moved on. One with an actor leaves an entry in the audit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from dura import ActionRefused
from model.rows import TERMINAL, Run, Store, Task
from model.steps import emit, parked_on
from model.tasks import end, held, next_attempt


@dataclass(frozen=True)
class Operator:
    """Who acts and why (None: a program), and what was seen (None: not compared)."""

    actor: str | None = None
    reason: str | None = None
    run_id: str | None = None
    token: int | None = None


def extend(
    store: Store, now: datetime, run_id: str, token: int | None, seconds: float, by: Operator
) -> datetime:
    """When the lease ends: so many seconds from now, or later if it did already."""
    found = [run for _, run in store.runs() if run.run_id == run_id]
    if by.token is not None and found and (found[0].state, found[0].token) != ("running", by.token):
        raise ActionRefused(run_id)
    task, run = held(store, run_id, token)
    before = run.lease_ends
    assert before is not None
    run.lease_ends = max(before, now + timedelta(seconds=seconds))
    if run.lease_ends > before:
        after = run.lease_ends.isoformat(timespec="microseconds")
        _note(store, now, by, "extend", task.task_id, run_id, "running", after)
    return run.lease_ends


def emit_as(store: Store, now: datetime, event: str, payload: str, by: Operator) -> tuple[bool, set[str]]:
    """`emit`, refused if a run that was seen waiting waits for the event no more."""
    if by.run_id is not None:
        seen = [task for task, run in store.runs() if run.run_id == by.run_id and run is task.latest]
        if not seen or not parked_on(seen[0], event, now):
            raise ActionRefused(event)
    first, woken = emit(store, now, event, payload, by.actor)
    if first:
        _note(store, now, by, "emit", event, by.run_id, None, payload)
    return first, woken


def cancel(store: Store, now: datetime, task_id: str, by: Operator) -> None:
    """End a live task. One that is over already stays as it is, and is refused if something seen was given."""
    task = store.task(task_id)
    _same(task, by)
    if task.state in TERMINAL:
        if by.run_id is not None or by.token is not None:
            raise ActionRefused(task_id)
        return
    before = task.state
    end(task, "cancelled", now)
    _note(store, now, by, "cancel", task_id, task.latest.run_id, before, "cancelled")


def cancel_duplicates(store: Store, now: datetime, name: str) -> tuple[str | None, int]:
    """Cancel every live task of a name but the oldest. Returns that one, and how many were cancelled."""
    live = sorted(
        (task for task in store.live() if task.name == name), key=lambda task: (task.spawned_at, task.born)
    )
    for task in live[1:]:
        end(task, "cancelled", now)
    return (live[0].task_id, len(live) - 1) if live else (None, 0)


def requeue(
    store: Store, now: datetime, task_id: str, by: Operator, *, keep: bool, from_step: str | None
) -> Run:
    """One more attempt, due now, of a failed or cancelled task. Steps and their deadlines begin anew as asked."""
    task = store.task(task_id)
    _same(task, by)
    if task.state not in ("failed", "cancelled") or (
        from_step is not None and from_step not in task.checkpoints
    ):
        raise ActionRefused(task_id)
    before = task.state
    finished = task.finished_order()
    kept = finished[: finished.index(from_step)] if from_step is not None else finished if keep else []
    task.checkpoints = {step: task.checkpoints[step] for step in kept}
    task.waits.clear()
    task.ended_at = None
    run = next_attempt(store, task, now, cause=None)
    if task.max_attempts is not None:
        task.max_attempts = max(task.max_attempts, run.attempt)
    how = f", from step {from_step!r}" if from_step is not None else "" if keep else ", from scratch"
    _note(store, now, by, "requeue", task_id, run, before, f"pending{how}")
    return run


def wake(store: Store, now: datetime, task_id: str, by: Operator) -> Run:
    """Make a task due now that sleeps out a delay, a backoff or a deferral."""
    task = store.task(task_id)
    _same(task, by)
    run = task.latest
    if run.state != "sleeping" or run.cause not in ("delay", "backoff", "deferred"):
        raise ActionRefused(task_id)
    run.state, run.cause, run.available_at = "pending", None, now
    _note(store, now, by, "wake", task_id, run.run_id, "sleeping", "pending")
    return run


def cleanup(store: Store, now: datetime, retention: timedelta) -> int:
    """Remove tasks that have been over for longer, and events that nobody can need. Returns how many tasks.

    An event goes once it is older than the retention and than every live task, and no wait names it.
    """
    before = now - retention
    old = [
        task.task_id for task in store.tasks.values() if task.ended_at is not None and task.ended_at < before
    ]
    for task_id in old:
        del store.tasks[task_id]
    before = min([before, *(task.spawned_at for task in store.live())])
    awaited = {wait.event for task in store.tasks.values() for wait in task.waits.values()}
    store.events = {
        name: event for name, event in store.events.items() if event.at >= before or name in awaited
    }
    return len(old)


def _same(task: Task, by: Operator) -> None:
    """Refuse if the task's latest run or its claim is not what was seen."""
    if by.run_id not in (None, task.latest.run_id) or by.token not in (None, task.latest.token):
        raise ActionRefused(task.task_id)


def _note(
    store: Store, now: datetime, by: Operator, action: str, target: str, run: Run | str | None,
    before: str | None, after: str,
) -> None:  # fmt: skip
    if by.actor is not None:
        store.audit.append(
            {"at": now, "actor": by.actor, "action": action, "target": target, "run": run, "before": before,
             "after": after, "reason": by.reason}
        )  # fmt: skip
