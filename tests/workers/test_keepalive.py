"""A handler may keep its lease alive for as long as it said, and no longer."""

from __future__ import annotations

import logging
import threading

import pytest

from conftest import ManualClock, wait_until
from dura import ClaimedTask, DurableEngine, InvalidValue, keep_alive


def claimed(engine: DurableEngine) -> ClaimedTask:
    engine.spawn_task(name="job", params=None)
    task = engine.claim_task(worker_id="w", timeout_secs=1)
    assert task is not None
    return task


def left(engine: DurableEngine) -> float:
    due = engine.seconds_until_due()
    assert due is not None
    return due


def test_a_lease_is_extended_while_the_block_runs(engine: DurableEngine, clock: ManualClock) -> None:
    task = claimed(engine)
    with keep_alive(engine, task, at_most_secs=60, lease_secs=0.06):
        for _ in range(3):
            clock.advance(5)
            wait_until(lambda: left(engine) > 0)
    assert engine.claim_task(worker_id="other") is None


def test_past_its_bound_the_lease_is_left_to_run_out(
    engine: DurableEngine, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    task = claimed(engine)
    with keep_alive(engine, task, at_most_secs=0.01, lease_secs=0.03):
        wait_until(lambda: "longer than at_most_secs" in caplog.text)
        clock.advance(5)
        other = engine.claim_task(worker_id="other")
    assert other is not None
    assert other.run_id == task.run_id


def test_a_lost_lease_is_not_taken_back(
    engine: DurableEngine, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    task = claimed(engine)
    clock.advance(5)
    other = engine.claim_task(worker_id="other", timeout_secs=1)
    assert other is not None
    before = left(engine)
    with caplog.at_level(logging.WARNING), keep_alive(engine, task, at_most_secs=60, lease_secs=0.03):
        wait_until(lambda: "not extended any more" in caplog.text)
    assert left(engine) == before


def test_no_thread_is_left_behind(engine: DurableEngine) -> None:
    task = claimed(engine)
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), keep_alive(engine, task, at_most_secs=60):
        raise ZeroDivisionError
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("bad", [0, -1, float("inf"), float("nan")])
def test_an_unbounded_or_empty_keep_alive_is_refused(engine: DurableEngine, bad: float) -> None:
    task = claimed(engine)
    with pytest.raises(InvalidValue), keep_alive(engine, task, at_most_secs=bad):
        pass
