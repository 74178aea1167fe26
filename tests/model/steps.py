"""The reference model of steps: checkpoints, waits, durable sleeps, and the events that end waits.

Written from docs/reference and docs/explanation. Each function is one transaction at `now`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from dura import InvalidValue, LeaseLost, StepConflict, TaskCancelledError, TaskNotFound
from model.rows import LIVE, NEVER, SLEEP, TIMED_OUT, Checkpoint, Event, Store, Task, Wait
from model.tasks import held, park

Holder = tuple[str, int] | None
"""A run and the token that it was claimed with; None: nobody."""


def look(store: Store, task_id: str, step: str, holder: Holder) -> str | None:
    """The step's outcome, or None if its function is to be run. A caller whose claim is lost is stopped before that."""
    task = store.task(task_id)
    if holder is not None:
        _own(task, holder[0])
        held(store, *holder)
    if step in task.checkpoints:
        return task.checkpoints[step].value
    if task.state == "cancelled":
        raise TaskCancelledError(task_id)
    _not_waiting(task, step)
    return None


def keep(
    store: Store, now: datetime, task_id: str, step: str, value: str, holder: Holder, owner: str | None
) -> str:
    """Store what the function returned, unless another was first. Returns what is stored.

    A holder that went stale meanwhile has its result kept only if its run is the task's latest and can still go on, and
    gets LeaseLost all the same.
    """
    task, lost = store.task(task_id), None
    if holder is None:
        if task.state == "cancelled":
            raise TaskCancelledError(task_id)
    else:
        _own(task, holder[0])
        try:
            held(store, *holder)
        except LeaseLost as error:
            if task.latest.run_id != holder[0] or task.state not in LIVE:
                raise
            lost = error
    _not_waiting(task, step)
    task.checkpoints.setdefault(step, Checkpoint(value, holder[0] if holder else owner, now))
    if lost is not None:
        raise lost
    return task.checkpoints[step].value


def wait(
    store: Store,
    now: datetime,
    run_id: str,
    token: int | None,
    task_id: str,
    step: str,
    event: str,
    timeout: float | None,
) -> str | None:
    """The step's outcome, or None: the run is parked.

    The deadline is set once, when the step first waits. An event that was emitted before that is found, whatever the
    timeout. Later, an event emitted at or before the deadline wins, one emitted after it loses, whoever looks when.
    """
    task, run = held(store, run_id, token)
    if task.task_id != task_id:
        raise InvalidValue(task_id)
    if step in task.checkpoints:
        return task.checkpoints[step].value
    known = task.waits.get(step)
    if known is not None and known.event != event:
        raise StepConflict(step)
    emitted = store.events.get(event)
    deadline = known.deadline if known else None if timeout is None else now + timedelta(seconds=timeout)
    outcome = None
    if emitted is not None and (known is None or deadline is None or emitted.at <= deadline):
        outcome = emitted.payload
    elif deadline is not None and (deadline <= now or emitted is not None):
        outcome = "null" if event == SLEEP else TIMED_OUT
    if outcome is None:
        task.waits.setdefault(step, Wait(event, deadline, store.birth()))
        park(run, event, deadline)
    else:
        task.waits.pop(step, None)
        task.checkpoints[step] = Checkpoint(outcome, run_id, now)
    return outcome


def emit(store: Store, now: datetime, event: str, payload: str, by: str | None) -> tuple[bool, set[str]]:
    """Whether the event is new, and the tasks that it woke: those parked on it whose deadlines have not passed."""
    if event in store.events:
        return False, set()
    store.events[event] = Event(payload, now, by, store.birth())
    woken = {task.task_id for task in store.live() if parked_on(task, event, now)}
    for task_id in woken:
        run = store.tasks[task_id].latest
        run.state, run.cause, run.event, run.available_at = "pending", None, None, now
    return True, woken


def parked_on(task: Task, event: str, now: datetime) -> bool:
    """Whether the task's run sleeps on the event, and a step of it whose deadline has not passed waits for it."""
    run = task.latest
    deadlines = [wait.deadline or NEVER for wait in task.waits.values() if wait.event == event]
    return run.state == "sleeping" and run.event == event and max(deadlines) >= now


def _own(task: Task, run_id: str) -> None:
    if all(run.run_id != run_id for run in task.runs):
        raise TaskNotFound(run_id)


def _not_waiting(task: Task, step: str) -> None:
    if step in task.waits:
        raise StepConflict(step)
