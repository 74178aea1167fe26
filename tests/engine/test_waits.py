"""Waiting for an event: parked without a worker, woken by it, each step given its own outcome, once and for all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, plain, rows, started
from dura import (
    ClaimedTask,
    DurableEngine,
    InvalidValue,
    NotStorable,
    RetryStrategy,
    StepConflict,
    WorkflowSuspended,
)
from dura.current import holding


def wait(
    engine: DurableEngine, task: ClaimedTask, event: str = "e", step: str = "s", **options: Any
) -> tuple[bool, Any]:
    return engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name=step, event_name=event,
        claim_token=task.claim_token, **options,
    )  # fmt: skip


PARKED = (True, None)


def test_an_event_that_has_happened_is_had_at_once(engine: DurableEngine, path: Path) -> None:
    engine.emit_event(event_name="e", payload={"by": "ana"})
    task = started(engine)
    assert wait(engine, task) == (False, {"by": "ana"})
    assert rows(path, "SELECT * FROM waits") == []
    assert rows(path, "SELECT checkpoint_name, state FROM checkpoints") == [("s", '{"by": "ana"}')]
    assert engine.get_task(task.task_id).state == "running"


def test_a_waiting_run_is_parked_without_lease_or_due_time_until_the_event(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine)
    assert wait(engine, task) == PARKED
    assert rows(path, "SELECT state, sleep_cause, wake_event, claimed_by, claim_expires_at FROM runs") == [
        ("sleeping", "event", "e", None, None)
    ]
    assert engine.get_task(task.task_id).state == "sleeping"
    clock.advance(10**8)
    assert engine.claim_task(worker_id="w1") is None
    emitted = engine.emit_event(event_name="e", payload=7)
    assert (emitted.event_name, emitted.first, emitted.woken) == ("e", True, (task.task_id,))
    again = claim(engine)
    assert (again.run_id, again.attempt, again.claim_token) == (task.run_id, 1, 2)
    assert wait(engine, again) == (False, 7)
    assert rows(path, "SELECT * FROM waits") == []
    assert wait(engine, again) == (False, 7)


def test_the_first_emit_counts_and_later_ones_say_that_they_do_not(engine: DurableEngine, path: Path) -> None:
    engine.emit_event(event_name="e", payload="first")
    before = dump(path)
    emitted = engine.emit_event(event_name="e", payload="second")
    assert (emitted.first, emitted.woken) == (False, ())
    assert dump(path) == before
    assert wait(engine, started(engine)) == (False, "first")


@pytest.mark.parametrize("payload", [None, False, 0, "", [], {}, "null"], ids=repr)
def test_every_payload_is_told_apart_from_a_timeout(
    engine: DurableEngine, clock: ManualClock, payload: Any
) -> None:
    task = started(engine)
    assert wait(engine, task, timeout_secs=60, on_timeout="late") == PARKED
    engine.emit_event(event_name="e", payload=payload)
    again = claim(engine)
    clock.advance(3600)
    for _ in range(2):
        assert wait(engine, again, timeout_secs=60, on_timeout="late") == (False, payload)


def test_a_timeout_gives_what_the_caller_asked_for_then(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine)
    assert wait(engine, task, timeout_secs=60) == PARKED
    clock.advance(60)
    again = claim(engine)
    assert wait(engine, again, timeout_secs=60) == (False, None)
    assert wait(engine, again, timeout_secs=60, on_timeout={"gave": "up"}) == (False, {"gave": "up"})
    assert rows(path, "SELECT checkpoint_name, state FROM checkpoints") == [("s", None)]
    assert engine.get_checkpoint(task_id=task.task_id, step_name="s") is None


def test_a_resolved_step_stays_resolved_whatever_is_emitted_later(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine)
    wait(engine, task, timeout_secs=60)
    clock.advance(60)
    again = claim(engine)
    assert wait(engine, again, on_timeout="late") == (False, "late")
    assert engine.emit_event(event_name="e", payload=1).woken == ()
    assert wait(engine, again, on_timeout="late") == (False, "late")


@pytest.mark.parametrize("timeout", [0, -1, -0.0, -1e300])
def test_no_time_to_wait_resolves_at_once(engine: DurableEngine, path: Path, timeout: float) -> None:
    task = started(engine)
    assert wait(engine, task, timeout_secs=timeout, on_timeout="late") == (False, "late")
    assert rows(path, "SELECT state FROM runs") == [("running",)]
    assert rows(path, "SELECT * FROM waits") == []
    engine.emit_event(event_name="f", payload=1)
    assert wait(engine, task, "f", "other step", timeout_secs=timeout) == (False, 1)


def test_a_payload_goes_only_to_the_steps_that_wait_for_its_event(engine: DurableEngine) -> None:
    task = started(engine)
    assert wait(engine, task, "first", "one") == PARKED
    engine.emit_event(event_name="second", payload="for two")
    assert engine.claim_task(worker_id="w1") is None
    engine.emit_event(event_name="first", payload="for one")
    again = claim(engine)
    assert wait(engine, again, "first", "one") == (False, "for one")
    assert wait(engine, again, "second", "two") == (False, "for two")
    assert wait(engine, again, "first", "three") == (False, "for one")
    assert wait(engine, again, "fourth", "four") == PARKED


def test_one_event_wakes_every_task_that_waits_for_it(engine: DurableEngine) -> None:
    tasks = [started(engine) for _ in range(5)]
    for task in tasks:
        wait(engine, task)
    assert engine.emit_event(event_name="e", payload=3).woken == tuple(task.task_id for task in tasks)
    assert [wait(engine, claim(engine)) for _ in tasks] == [(False, 3)] * 5


def test_a_step_that_waits_for_one_event_cannot_wait_for_another(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine)
    wait(engine, task, timeout_secs=60)
    clock.advance(60)
    again = claim(engine)
    engine.emit_event(event_name="other", payload="not for this step")
    before = dump(path)
    with pytest.raises(StepConflict, match="'e'"):
        wait(engine, again, "other")
    with pytest.raises(StepConflict, match="'e'"):
        engine.sleep(run_id=again.run_id, task_id=again.task_id, step_name="s", seconds=5)
    assert dump(path) == before
    assert wait(engine, again, timeout_secs=60, on_timeout="late") == (False, "late")


def test_a_wait_of_one_task_is_not_made_on_a_run_of_another(engine: DurableEngine, path: Path) -> None:
    one, two = started(engine), started(engine)
    before = dump(path)
    with pytest.raises(InvalidValue, match="belongs to task"):
        engine.await_event(run_id=one.run_id, task_id=two.task_id, step_name="s", event_name="e")
    assert dump(path) == before


def test_emit_wakes_only_runs_that_sleep_on_it(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    """The row of a wait stays until the step has its outcome; meanwhile its run may run or back off."""
    running, backing_off, pending = (started(engine, params=n, retry=FIXED) for n in range(3))
    for task in (running, backing_off, pending):
        wait(engine, task, timeout_secs=10)
    clock.advance(10)
    assert [claim(engine).run_id for _ in range(3)] == [running.run_id, backing_off.run_id, pending.run_id]
    engine.fail_run(run_id=backing_off.run_id, reason={})
    engine.give_back_run(run_id=pending.run_id)
    states = rows(path, "SELECT run_id, state, available_at, claim_token FROM runs ORDER BY rowid")
    assert rows(path, "SELECT COUNT(*) FROM waits") == [(3,)]
    assert engine.emit_event(event_name="e").woken == ()
    assert rows(path, "SELECT run_id, state, available_at, claim_token FROM runs ORDER BY rowid") == states


FIXED = RetryStrategy(kind="fixed", base_seconds=100, jitter_factor=0)


def test_an_event_emitted_while_its_waiter_backs_off_is_had_when_it_runs_again(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine, retry=FIXED)
    wait(engine, task, timeout_secs=1000)
    engine.emit_event(event_name="e", payload="in time")
    engine.fail_run(run_id=claim(engine).run_id, reason={"before": "the step was asked again"})
    assert engine.claim_task(worker_id="w1") is None
    clock.advance(100)
    again = claim(engine)
    assert again.attempt == 2
    clock.advance(5000)
    assert wait(engine, again, timeout_secs=1000) == (False, "in time")


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
def test_the_end_of_a_task_ends_its_waits(
    engine: DurableEngine, clock: ManualClock, path: Path, end: str
) -> None:
    task = started(engine)
    wait(engine, task, timeout_secs=5)
    clock.advance(5)
    again = claim(engine)
    if end == "complete":
        engine.complete_run(run_id=again.run_id)
    elif end == "fail":
        engine.fail_run(run_id=again.run_id, reason={}, retryable=False)
    else:
        engine.cancel_task(task.task_id)
    assert rows(path, "SELECT * FROM waits") == []
    assert engine.emit_event(event_name="e").woken == ()
    assert engine.claim_task(worker_id="w1") is None


def test_a_cancelled_waiter_never_comes_back(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine)
    wait(engine, task, timeout_secs=5)
    engine.cancel_task(task.task_id)
    assert engine.emit_event(event_name="e").woken == ()
    clock.advance(60)
    assert engine.claim_task(worker_id="w1") is None


def test_wait_for_event_raises_the_signal_and_marks_the_claim(engine: DurableEngine) -> None:
    task = started(engine)
    with holding(engine, task) as current:
        with pytest.raises(WorkflowSuspended):
            engine.wait_for_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e")
        assert (current.ended, current.signalled) == (True, True)
    engine.emit_event(event_name="e", payload=1)
    again = claim(engine)
    with holding(engine, again) as current:
        assert (
            engine.wait_for_event(run_id=again.run_id, task_id=again.task_id, step_name="s", event_name="e")
            == 1
        )
        assert (current.ended, current.signalled) == (False, False)


def test_the_signal_is_no_exception_that_a_handler_would_catch() -> None:
    assert not issubclass(WorkflowSuspended, Exception)


WRONG: dict[str, dict[str, Any]] = {
    "no event": {"event_name": ""},
    "event of another type": {"event_name": 5},
    "event None": {"event_name": None},
    "event with a lone surrogate": {"event_name": "\ud800"},
    "the engine's own event": {"event_name": "dura.sleep"},
    "any of the engine's own": {"event_name": "dura."},
    "no step": {"step_name": ""},
    "step None": {"step_name": None},
    "timeout nan": {"timeout_secs": float("nan")},
    "timeout infinite": {"timeout_secs": float("inf")},
    "timeout as text": {"timeout_secs": "5"},
    "timeout as bool": {"timeout_secs": True},
    "timeout as timedelta": {"timeout_secs": timedelta(seconds=5)},
    "timeout that no float holds": {"timeout_secs": 10**400},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument_parks_nothing(engine: DurableEngine, path: Path, wrong: dict[str, Any]) -> None:
    task = started(engine)
    before = dump(path)
    right: dict[str, Any] = {
        "run_id": task.run_id,
        "task_id": task.task_id,
        "step_name": "s",
        "event_name": "e",
    }
    for call in (engine.await_event, engine.wait_for_event):
        with pytest.raises(InvalidValue):
            call(**{**right, **wrong})
    assert dump(path) == before


@pytest.mark.parametrize("name", ["", None, 5, "\ud800", "dura.sleep", "dura.x"], ids=repr)
def test_an_event_needs_a_name_of_its_own(engine: DurableEngine, path: Path, name: Any) -> None:
    before = dump(path)
    with pytest.raises(InvalidValue):
        engine.emit_event(event_name=name)
    assert dump(path) == before


def test_a_payload_that_cannot_be_stored_emits_nothing(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    wait(engine, task)
    before = dump(path)
    with pytest.raises(NotStorable, match="the payload of event 'e'"):
        engine.emit_event(event_name="e", payload=object())
    assert dump(path) == before


def test_a_wait_beyond_the_calendar_is_still_woken(engine: DurableEngine) -> None:
    task = started(engine)
    assert wait(engine, task, timeout_secs=1e300) == PARKED
    assert engine.emit_event(event_name="e").woken == (task.task_id,)


def test_a_task_that_waits_for_one_event_in_two_steps_is_woken_once(
    engine: DurableEngine, clock: ManualClock
) -> None:
    """The clock steps back below the first step's deadline, and the handler asks for another step."""
    task = started(engine)
    wait(engine, task, step="one", timeout_secs=60)
    clock.advance(60)
    again = claim(engine)
    clock.advance(-30)
    assert wait(engine, again, step="two") == PARKED
    assert engine.emit_event(event_name="e", payload=1).woken == (task.task_id,)
    third = claim(engine)
    assert wait(engine, third, step="one") == (False, 1)
    assert wait(engine, third, step="two") == (False, 1)


def test_an_event_without_a_payload_is_an_event_with_none(engine: DurableEngine, path: Path) -> None:
    """Other software may store SQL NULL where we store JSON null."""
    with plain(path) as other:
        other.execute(
            "INSERT INTO events (event_name, emitted_at) VALUES ('e', '2026-01-01T00:00:00.000000+00:00')"
        )
    task = started(engine)
    for _ in range(2):
        assert wait(engine, task, on_timeout="late") == (False, None)
