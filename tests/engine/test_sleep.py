"""Durable sleep: a step whose time of waking is set once and outlives retries, reclaims and restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, rows, started
from dura import ClaimedTask, DurableEngine, InvalidValue, StepConflict, WorkflowSuspended
from dura.current import holding


def slept(engine: DurableEngine, task: ClaimedTask, seconds: float = 60, step: str = "nap") -> bool:
    """Whether the step has slept; else the run is parked now."""
    try:
        engine.sleep(
            run_id=task.run_id, task_id=task.task_id, step_name=step, seconds=seconds,
            claim_token=task.claim_token,
        )  # fmt: skip
    except WorkflowSuspended:
        return False
    return True


def test_a_sleeper_holds_no_worker_and_is_due_at_its_time(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine)
    assert not slept(engine, task)
    assert rows(path, "SELECT state, sleep_cause, claimed_by FROM runs") == [("sleeping", "sleep", None)]
    clock.advance(59.999999)
    assert engine.claim_task(worker_id="w1") is None
    clock.advance(0.000001)
    again = claim(engine)
    assert (again.run_id, again.attempt) == (task.run_id, 1)
    assert slept(engine, again)
    assert slept(engine, again)
    assert rows(path, "SELECT * FROM waits") == []


def test_the_time_is_set_once_whatever_happens_to_the_run(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, lease=10)
    assert not slept(engine, task)
    clock.advance(60)
    lost = claim(engine, timeout_secs=10)
    clock.advance(10)
    again = claim(engine)
    assert again.run_id == lost.run_id
    engine.fail_run(run_id=again.run_id, reason={})
    retried = claim(engine)
    assert retried.attempt == 2
    assert slept(engine, retried, seconds=10**6)


def test_a_sleep_goes_on_through_a_restart(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    assert not slept(engine, started(engine))
    engine.close()
    reopened = DurableEngine(path, clock=clock)
    clock.advance(30)
    assert reopened.claim_task(worker_id="w1") is None
    clock.advance(30)
    assert slept(reopened, claim(reopened))
    reopened.close()


def test_a_requeue_sleeps_afresh_unless_the_step_has_slept(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine)
    assert not slept(engine, task)
    engine.cancel_task(task.task_id)
    clock.advance(1000)
    engine.requeue_task(task.task_id)
    assert not slept(engine, claim(engine))
    clock.advance(60)
    assert slept(engine, claim(engine))
    engine.cancel_task(task.task_id)
    engine.requeue_task(task.task_id)
    assert slept(engine, claim(engine))


@pytest.mark.parametrize("seconds", [0, -5, -0.0, -1e300])
def test_no_time_to_sleep_goes_on_at_once(engine: DurableEngine, path: Path, seconds: float) -> None:
    task = started(engine)
    assert slept(engine, task, seconds)
    assert rows(path, "SELECT state FROM runs") == [("running",)]
    assert rows(path, "SELECT checkpoint_name, state FROM checkpoints") == [("nap", "null")]


def test_several_steps_sleep_one_after_the_other(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine)
    for step in ("one", "two", "three"):
        assert not slept(engine, task, 10, step)
        clock.advance(10)
        task = claim(engine)
        assert slept(engine, task, 10, step)


def test_nothing_wakes_a_sleeper_early(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    task = started(engine)
    assert not slept(engine, task)
    before = dump(path)
    with pytest.raises(InvalidValue):
        engine.emit_event(event_name="dura.sleep")
    with pytest.raises(Exception, match="sleeps in a step"):
        engine.wake_task(task.task_id)
    assert dump(path) == before


def test_a_step_that_sleeps_cannot_wait(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine)
    assert not slept(engine, task)
    clock.advance(60)
    again = claim(engine)
    with pytest.raises(StepConflict):
        engine.await_event(run_id=again.run_id, task_id=again.task_id, step_name="nap", event_name="e")
    assert slept(engine, again)


def test_a_cancelled_sleeper_stays_cancelled(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine)
    assert not slept(engine, task)
    engine.cancel_task(task.task_id)
    clock.advance(1000)
    assert engine.claim_task(worker_id="w1") is None


@pytest.mark.parametrize(
    "seconds", [float("nan"), float("inf"), "5", None, True, 10**400], ids=lambda v: repr(v)[:9]
)
def test_a_sleep_takes_a_finite_number_of_seconds(engine: DurableEngine, path: Path, seconds: Any) -> None:
    task = started(engine)
    before = dump(path)
    with pytest.raises(InvalidValue):
        slept(engine, task, seconds)
    assert dump(path) == before


def test_a_sleep_beyond_the_calendar_parks_for_ever(engine: DurableEngine, clock: ManualClock) -> None:
    assert not slept(engine, started(engine), 1e300)
    clock.advance(10**9)
    assert engine.claim_task(worker_id="w1") is None


def test_the_signal_marks_the_current_claim(engine: DurableEngine) -> None:
    task = started(engine)
    with holding(engine, task) as current:
        with pytest.raises(WorkflowSuspended):
            engine.sleep(run_id=task.run_id, task_id=task.task_id, step_name="nap", seconds=1)
        assert (current.ended, current.signalled) == (True, True)
