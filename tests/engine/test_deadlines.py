"""The deadline of a wait is set once, when its step first waits, and decides alone: whoever looks, and whenever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, rows, started
from dura import ClaimedTask, DurableEngine, RetryStrategy

BACKOFF = RetryStrategy(kind="fixed", base_seconds=30, jitter_factor=0)


def wait(engine: DurableEngine, task: ClaimedTask, timeout: float | None = 100) -> Any:
    return engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e", timeout_secs=timeout,
        claim_token=task.claim_token, on_timeout="late",
    )  # fmt: skip


def parked(engine: DurableEngine) -> ClaimedTask:
    task = started(engine, lease=20, retry=BACKOFF)
    assert wait(engine, task) == (True, None)
    return task


def fail(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> ClaimedTask:
    """Fail before the step is asked again; its wait goes on in the next attempt."""
    engine.fail_run(run_id=task.run_id, reason={})
    clock.advance(30)
    return claim(engine, timeout_secs=20)


def lose(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> ClaimedTask:
    """Let the lease run out before the step is asked again."""
    clock.advance(20)
    return claim(engine, timeout_secs=20)


def give_back(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> ClaimedTask:
    engine.give_back_run(run_id=task.run_id)
    return claim(engine, timeout_secs=20)


def nothing(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> ClaimedTask:
    return task


INTERRUPTIONS = [nothing, fail, lose, give_back]


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
@pytest.mark.parametrize(
    ("emitted", "outcome"),
    [(0, "event"), (50, "event"), (100, "event"), (100.000001, "late"), (3600, "late"), (None, "late")],
)
@pytest.mark.parametrize("looked", [101, 10_000])
def test_emitted_by_the_deadline_the_event_wins_and_later_the_timeout_with_nobody_looking_in_between(
    engine: DurableEngine,
    clock: ManualClock,
    interruption: Any,
    emitted: float | None,
    outcome: str,
    looked: float,
) -> None:
    parked(engine)
    if emitted is not None:
        clock.advance(emitted)
        engine.emit_event(event_name="e", payload="event")
        clock.advance(-emitted)
    clock.advance(looked)
    task = interruption(engine, clock, claim(engine, timeout_secs=20))
    assert wait(engine, task) == (False, outcome)
    assert wait(engine, task) == (False, outcome)


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_what_was_emitted_in_time_is_had_long_after_the_deadline(
    engine: DurableEngine, clock: ManualClock, interruption: Any
) -> None:
    parked(engine)
    clock.advance(99)
    engine.emit_event(event_name="e", payload="event")
    task = interruption(engine, clock, claim(engine, timeout_secs=20))
    clock.advance(100_000)
    assert wait(engine, task) == (False, "event")


@pytest.mark.parametrize("interruption", [fail, lose, give_back])
def test_an_interruption_does_not_start_the_time_anew(
    engine: DurableEngine, clock: ManualClock, path: Path, interruption: Any
) -> None:
    parked(engine)
    deadline = rows(path, "SELECT timeout_at FROM waits")
    clock.advance(100)
    task = claim(engine, timeout_secs=20)
    for _ in range(3):
        task = interruption(engine, clock, task)
        assert rows(path, "SELECT timeout_at, run_id FROM waits") == [(*deadline[0], task.run_id)]
    assert wait(engine, task) == (False, "late")


def test_an_event_after_the_deadline_wakes_nobody(engine: DurableEngine, clock: ManualClock) -> None:
    parked(engine)
    clock.advance(100.000001)
    assert engine.emit_event(event_name="e").woken == ()
    clock.advance(-50)
    assert engine.claim_task(worker_id="w1") is None
    clock.advance(50)
    assert wait(engine, claim(engine)) == (False, "late")


def test_an_event_that_came_too_late_does_not_leave_a_resumed_step_waiting(
    engine: DurableEngine, clock: ManualClock
) -> None:
    """The clock steps back after the late event: the step is over all the same."""
    parked(engine)
    clock.advance(101)
    engine.emit_event(event_name="e")
    task = claim(engine)
    clock.advance(-90)
    assert wait(engine, task) == (False, "late")


def test_a_later_call_cannot_move_the_deadline(engine: DurableEngine, clock: ManualClock) -> None:
    parked(engine)
    clock.advance(100)
    assert wait(engine, claim(engine), timeout=10**6) == (False, "late")


def test_a_wait_without_end_does_not_get_one_later(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, lease=20, retry=BACKOFF)
    wait(engine, task, None)
    clock.advance(5)
    engine.emit_event(event_name="e", payload="event")
    again = fail(engine, clock, claim(engine))
    assert wait(engine, again, 1) == (False, "event")


def test_a_requeue_gives_a_fresh_deadline(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    task = parked(engine)
    clock.advance(50)
    engine.cancel_task(task.task_id)
    clock.advance(1000)
    engine.requeue_task(task.task_id)
    assert rows(path, "SELECT * FROM waits") == []
    again = claim(engine)
    assert wait(engine, again) == (True, None)
    clock.advance(99)
    assert engine.claim_task(worker_id="w1") is None
    clock.advance(1)
    assert wait(engine, claim(engine)) == (False, "late")


def test_a_requeue_keeps_an_outcome_that_is_known(engine: DurableEngine, clock: ManualClock) -> None:
    task = parked(engine)
    clock.advance(100)
    assert wait(engine, claim(engine)) == (False, "late")
    engine.cancel_task(task.task_id)
    engine.requeue_task(task.task_id)
    assert wait(engine, claim(engine)) == (False, "late")
    engine.cancel_task(task.task_id)
    engine.requeue_task(task.task_id, from_step="s")
    assert wait(engine, claim(engine)) == (True, None)


def test_the_deadline_survives_a_restart(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    parked(engine)
    engine.close()
    clock.advance(100)
    reopened = DurableEngine(path, clock=clock)
    assert wait(reopened, claim(reopened)) == (False, "late")
    reopened.close()


def test_a_waiter_is_due_exactly_at_its_deadline(engine: DurableEngine, clock: ManualClock) -> None:
    parked(engine)
    clock.advance(99.999999)
    assert engine.claim_task(worker_id="w1") is None
    assert engine.ready_run_count() == 0
    clock.advance(0.000001)
    assert engine.ready_run_count() == 1
    assert wait(engine, claim(engine)) == (False, "late")
