"""What the engine's reads and the monitor's views show, against what the rules say they should."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import Any, Final

from dura import DurableEngine
from dura.monitor import Monitor
from dura.records import CountRow, FailureInfo, Snapshot, TaskDetail, TaskQuery, TaskRow, Want
from model.rows import NEVER, SLEEP, TIMED_OUT, Run, Store, Task
from model.tasks import overdue

_MANY: Final = 500


def check_reads(engine: DurableEngine, store: Store, now: datetime) -> None:
    """The engine's own reads."""
    for task in store.tasks.values():
        info = engine.get_task(task.task_id)
        run = task.latest
        result = json.loads(run.result) if run.result is not None else None
        assert (info.state, info.attempts, info.result) == (run.state, run.attempt, result)
        if run.reason is None or run.state != "failed":
            assert info.failure_reason is None
        else:
            _same_reason(info.failure_reason, run)
        for step, checkpoint in task.checkpoints.items():
            value = None if checkpoint.value == TIMED_OUT else json.loads(checkpoint.value)
            assert engine.get_checkpoint(task_id=task.task_id, step_name=step) == value
    assert engine.task_counts_by_state() == Counter(task.state for task in store.tasks.values())
    by_name: dict[str, dict[str, int]] = {}
    for task in store.tasks.values():
        states = by_name.setdefault(task.name, {})
        states[task.state] = states.get(task.state, 0) + 1
    assert engine.task_counts_by_name_and_state() == by_name
    assert engine.ready_run_count() == len(_ready(store, now))
    due = [
        at
        for _, run in store.runs()
        for at in (
            run.lease_ends
            if run.state == "running"
            else run.available_at
            if run.state == "sleeping"
            else None,
        )
        if at is not None
    ]
    left = engine.seconds_until_due()
    assert left == ((min(due) - now).total_seconds() if due else None)
    _check_failures(engine.recent_failures(limit=_MANY), store)
    for namespace in {namespace for namespace, _ in store.memory}:
        kept = {key: json.loads(value.value) for (of, key), value in store.memory.items() if of == namespace}
        assert engine.list_state(namespace) == kept


def check_views(monitor: Monitor, store: Store, now: datetime, task_id: str | None) -> None:
    """One look of the monitor at everything, and at one task in detail."""
    want = Want(
        leases=_MANY, sleepers=_MANY, awaited=_MANY, events=_MANY, failures=_MANY, audit=_MANY, task_id=task_id,
        tasks=TaskQuery(),
    )  # fmt: skip
    shot = monitor.snapshot(want)
    for _ in range(20):
        if shot.truncated:  # a part took more than its half second: the machine was busy with something else
            shot = monitor.snapshot(want)
    assert shot.truncated == ()
    assert shot.taken_at == now
    counted = Counter((task.queue, task.name, task.state) for task in store.tasks.values())
    assert shot.counts == tuple(
        CountRow(queue=queue, name=name, state=state, count=count)
        for (queue, name, state), count in sorted(counted.items())
    )
    ready = _ready(store, now)
    assert (shot.ready, shot.oldest_due) == (
        len(ready),
        min((run.available_at for run in ready), default=None),
    )
    _check_runs(shot, store)
    _check_awaited(shot, store)
    emitted = sorted(store.events.items(), key=lambda pair: -pair[1].born)
    assert [(row.event_name, row.payload, row.emitted_at, row.emitted_by) for row in shot.events] == [
        (name, event.payload, event.at, event.by) for name, event in emitted
    ]
    _check_failures(list(shot.failures), store)
    assert [json.loads(row.value)["action"] for row in shot.audit] == [
        entry["action"] for entry in reversed(store.audit)
    ]
    assert shot.tasks is not None
    newest = sorted(store.tasks.values(), key=lambda task: -task.born)
    assert [row.task_id for row in shot.tasks.tasks] == [task.task_id for task in newest]
    for row in shot.tasks.tasks:
        _check_line(row, store.tasks[row.task_id])
    if task_id is not None:
        assert shot.task is not None
        _check_detail(shot.task, store.tasks[task_id])


def _ready(store: Store, now: datetime) -> list[Run]:
    due = [run for _, run in overdue(store, now) if run.state == "sleeping"]
    return due + [run for _, run in store.runs() if run.state == "pending"]


def _check_runs(shot: Snapshot, store: Store) -> None:
    running = {run.run_id: (task, run) for task, run in store.runs() if run.state == "running"}
    assert {lease.run_id for lease in shot.leases} == running.keys()
    assert [lease.expires_at for lease in shot.leases] == sorted(
        run.lease_ends for _, run in running.values() if run.lease_ends
    )
    for lease in shot.leases:
        task, run = running[lease.run_id]
        assert (
            lease.task_id, lease.name, lease.queue, lease.attempt, lease.max_attempts, lease.reclaims, lease.max_reclaims,
            lease.claim_token, lease.worker_id, lease.started_at, lease.expires_at,
        ) == (
            task.task_id, task.name, run.queue, run.attempt, task.max_attempts, run.reclaims, task.max_reclaims,
            run.token, run.worker, run.started_at, run.lease_ends,
        )  # fmt: skip
        poisoned = task.max_reclaims is not None and run.reclaims + 1 > task.max_reclaims
        assert lease.fails_at_expiry is poisoned
    sleeping = {run.run_id: (task, run) for task, run in store.runs() if run.state == "sleeping"}
    assert {sleeper.run_id for sleeper in shot.sleepers} == sleeping.keys()
    assert [sleeper.due_at or NEVER for sleeper in shot.sleepers] == sorted(
        run.available_at for _, run in sleeping.values()
    )
    for sleeper in shot.sleepers:
        task, run = sleeping[sleeper.run_id]
        assert (
            sleeper.task_id, sleeper.name, sleeper.queue, sleeper.attempt, sleeper.cause, sleeper.due_at,
            sleeper.event_name, sleeper.deferrals, sleeper.stray,
        ) == (
            task.task_id, task.name, run.queue, run.attempt, run.cause, _or_never(run.available_at), _shown(run.event),
            run.deferrals, False,
        )  # fmt: skip
        steps = [step for step, wait in task.waits.items() if wait.event == run.event]
        assert sleeper.step_name in steps if steps else sleeper.step_name is None


def _check_awaited(shot: Snapshot, store: Store) -> None:
    waiting: dict[str, list[tuple[str, str, datetime | None]]] = {}
    for task in store.live():
        for step, wait in task.waits.items():
            if task.latest.state == "sleeping" and task.latest.event == wait.event != SLEEP:
                waiting.setdefault(wait.event, []).append((task.task_id, step, wait.deadline))
    assert {event.event_name for event in shot.awaited} == waiting.keys()
    for event in shot.awaited:
        found = [(waiter.task_id, waiter.step_name, waiter.timeout_at) for waiter in event.waiters]
        assert sorted(found, key=repr) == sorted(waiting[event.event_name], key=repr)
        assert event.waiter_count == len(found)
        deadlines = [deadline for _, _, deadline in found if deadline is not None]
        assert event.soonest_timeout == (min(deadlines) if deadlines else None)


def _check_failures(shown: list[FailureInfo], store: Store) -> None:
    failed = {run.run_id: (task, run) for task, run in store.runs() if run.state == "failed"}
    assert [datetime.fromisoformat(row.failed_at) for row in shown] == sorted(
        (run.failed_at for _, run in failed.values() if run.failed_at), reverse=True
    )
    for row in shown:
        task, run = failed[row.run_id]
        assert (row.task_id, row.task_name, row.attempt) == (task.task_id, task.name, run.attempt)
        _same_reason(row.failure_reason, run)


def _check_line(row: TaskRow, task: Task) -> None:
    run = task.latest
    due = (
        run.lease_ends
        if run.state == "running"
        else _or_never(run.available_at)
        if run.state == "sleeping"
        else None
    )
    finished = [step for step in task.checkpoints if task.steps is None or step in task.steps]
    assert (
        row.run_id, row.name, row.queue, row.state, row.attempts, row.max_attempts, row.priority, row.enqueued_at,
        row.started_at, row.ended_at, row.due_at, row.sleep_cause, row.wake_event, row.claim_token, row.steps_done,
        row.idempotency_key,
    ) == (
        run.run_id, task.name, task.queue, run.state, run.attempt, task.max_attempts, run.priority, task.spawned_at,
        task.started_at, task.ended_at, due, run.cause, _shown(run.event), run.token, len(finished), task.key,
    )  # fmt: skip
    assert row.steps_declared is (task.steps is not None)
    assert task.steps is None or row.steps_total == len(task.steps)
    assert (row.error is not None) is any(run.reason is not None for run in task.runs)


def _check_detail(detail: TaskDetail, task: Task) -> None:
    _check_line(detail.task, task)
    assert (detail.params, detail.result, detail.max_reclaims) == (
        task.params,
        task.result,
        task.max_reclaims,
    )
    assert detail.steps == tuple(task.steps or ())
    assert (json.loads(detail.retry) if detail.retry else None) == task.retry
    assert [row.name for row in detail.checkpoints] == task.finished_order()
    for row in detail.checkpoints:
        checkpoint = task.checkpoints[row.name]
        assert row.timed_out is (checkpoint.value == TIMED_OUT)
        assert row.timed_out or row.value == checkpoint.value
        assert (row.finished_at, row.run_id) == (checkpoint.at, checkpoint.run_id)
    for attempt, run in zip(detail.attempts, task.runs, strict=True):
        ended = run.completed_at or run.failed_at
        assert (
            attempt.run_id, attempt.attempt, attempt.state, attempt.worker_id, attempt.available_at, attempt.started_at,
            attempt.claim_expires_at, attempt.claim_token, attempt.reclaims, attempt.deferrals, attempt.sleep_cause,
            attempt.wake_event,
        ) == (
            run.run_id, run.attempt, run.state, run.worker, _or_never(run.available_at), run.started_at, run.lease_ends,
            run.token, run.reclaims, run.deferrals, run.cause, _shown(run.event),
        )  # fmt: skip
        assert run.state == "cancelled" or attempt.ended_at == ended
        assert (attempt.failure_reason is None) is (run.reason is None)
    waits = {wait.step_name: (wait.event_name, wait.timeout_at, wait.waiting) for wait in detail.waits}
    sleeps = task.latest.state == "sleeping"
    assert waits == {
        step: (wait.event, wait.deadline, sleeps and task.latest.event == wait.event)
        for step, wait in task.waits.items()
    }


def _same_reason(shown: Any, run: Run) -> None:
    if run.reason == '"PoisonRun"':
        assert shown["type"] == "PoisonRun"
    else:
        assert shown == json.loads(run.reason or "null")


def _or_never(moment: datetime) -> datetime | None:
    return None if moment == NEVER else moment


def _shown(event: str | None) -> str | None:
    return None if event == SLEEP else event
