"""Leases: how they run out, are taken back, extended, given back and deferred, and what a clock that steps does to them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, rows, started
from dura import DurableEngine, InvalidValue, LeaseLost


def at(seconds: float) -> datetime:
    """That many seconds after the manual clock's beginning."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def test_an_expired_lease_is_taken_back_with_the_same_attempt(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine, lease=10, max_attempts=1)
    clock.advance(9.999999)
    assert engine.claim_task(worker_id="w2") is None
    clock.advance(0.000001)
    for reclaims in range(1, 50):
        again = claim(engine, worker_id="w2", timeout_secs=10)
        assert (again.run_id, again.attempt, again.reclaims) == (task.run_id, 1, reclaims)
        assert again.claim_token == reclaims + 1
        clock.advance(10)


def test_a_holder_settles_after_expiry_as_long_as_nobody_took_the_run(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine, lease=10)
    clock.advance(10_000)
    engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)


def test_a_taken_back_run_keeps_its_place_in_the_order(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, lease=10)
    clock.advance(5)
    engine.spawn_task(name="job", params="later")
    clock.advance(6)
    assert claim(engine).run_id == task.run_id


def test_one_claim_takes_back_and_promotes_at_most_200_of_each(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    for _ in range(250):
        engine.spawn_task(name="leased", params=None)
    for _ in range(250):
        claim(engine, timeout_secs=10)
    for _ in range(250):
        engine.spawn_task(name="asleep", params=None, available_after=timedelta(seconds=5))
    clock.advance(20)
    claim(engine)
    states = dict(rows(path, "SELECT state, COUNT(*) FROM runs GROUP BY state"))
    assert states == {"running": 51, "sleeping": 50, "pending": 399}
    assert engine.check() == ()


def test_the_earliest_expired_and_the_earliest_due_come_first(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    late = [started(engine, lease=100 - number).task_id for number in range(3)]
    for number in range(240):
        engine.spawn_task(name="job", params=number, available_after=timedelta(seconds=300 - number))
    clock.advance(400)
    claim(engine)
    assert rows(path, "SELECT MAX(available_at) FROM runs WHERE state = 'pending'") < rows(
        path, "SELECT MIN(available_at) FROM runs WHERE state = 'sleeping'"
    )
    assert set(rows(path, "SELECT task_id FROM runs WHERE reclaims = 1")) == {(each,) for each in late}


def test_far_future_sleepers_and_long_leases_are_left_alone(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    started(engine, lease=10**9)
    engine.spawn_task(name="job", params=None, available_after=timedelta(days=3650))
    clock.advance(3600)
    before = dump(path)
    assert engine.claim_task(worker_id="w2") is None
    assert dump(path) == before


def test_a_task_without_a_bound_comes_back_for_ever_and_with_one_fails_as_poison(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine, lease=10, max_reclaims=2, max_attempts=9)
    for _ in range(2):
        clock.advance(11)
        assert claim(engine, worker_id="doomed", timeout_secs=10).run_id == task.run_id
    clock.advance(11)
    assert engine.claim_task(worker_id="w2") is None
    info = engine.get_task(task.task_id)
    assert (info.state, info.attempts) == ("failed", 1)
    assert info.failure_reason["type"] == "PoisonRun"
    for fact in ("3 time(s)", "max_reclaims=2", "doomed", "requeue"):
        assert fact in info.failure_reason["message"]
    assert [failure.run_id for failure in engine.recent_failures()] == [task.run_id]


def test_no_reclaims_at_all_may_be_allowed(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, lease=10, max_reclaims=0)
    clock.advance(11)
    assert engine.claim_task(worker_id="w2") is None
    assert engine.get_task(task.task_id).state == "failed"


def test_reclaims_are_counted_by_attempt(engine: DurableEngine, clock: ManualClock) -> None:
    started(engine, lease=10, max_reclaims=1)
    clock.advance(11)
    again = claim(engine)
    assert again.reclaims == 1
    engine.fail_run(run_id=again.run_id, reason={})
    second = claim(engine, timeout_secs=10)
    assert (second.attempt, second.reclaims) == (2, 0)
    clock.advance(11)
    assert claim(engine).reclaims == 1


def test_a_poison_run_leaves_no_wait_and_can_be_requeued(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine, lease=10, max_reclaims=0)
    engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e", timeout_secs=5
    )
    clock.advance(6)
    assert claim(engine, timeout_secs=10).run_id == task.run_id
    clock.advance(11)
    assert engine.claim_task(worker_id="w1") is None
    assert rows(path, "SELECT * FROM waits") == []
    engine.requeue_task(task.task_id)
    assert (claim(engine).attempt, engine.get_task(task.task_id).state) == (2, "running")


# --- extending -------------------------------------------------------------------------------------------------------


def test_an_extension_counts_from_now_and_never_shortens(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, lease=60)
    assert engine.extend_claim(run_id=task.run_id, by_secs=90) == at(90)
    assert engine.extend_claim(run_id=task.run_id, by_secs=5) == at(90)
    assert engine.extend_claim(run_id=task.run_id, by_secs=1e-6, claim_token=1) == at(90)
    clock.advance(80)
    assert engine.extend_claim(run_id=task.run_id, by_secs=5) == at(90)
    assert engine.extend_claim(run_id=task.run_id, by_secs=11) == at(91)
    clock.advance(10.999999)
    assert engine.claim_task(worker_id="w2") is None
    clock.advance(0.000001)
    assert claim(engine).run_id == task.run_id


def test_an_expired_lease_may_be_extended_until_the_run_is_taken_back(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine, lease=60)
    clock.advance(1000)
    assert engine.extend_claim(run_id=task.run_id, by_secs=5, claim_token=task.claim_token) == at(1005)
    assert engine.claim_task(worker_id="w2") is None
    clock.advance(6)
    claim(engine, worker_id="w2")
    with pytest.raises(LeaseLost):
        engine.extend_claim(run_id=task.run_id, by_secs=5, claim_token=task.claim_token)


@pytest.mark.parametrize(
    "by", [0, -1, float("nan"), float("inf"), 10**400, True, "5", None], ids=lambda by: repr(by)[:9]
)
def test_a_lease_is_extended_by_a_positive_number_of_seconds(
    engine: DurableEngine, path: Path, by: Any
) -> None:
    task = started(engine)
    before = dump(path)
    with pytest.raises(InvalidValue):
        engine.extend_claim(run_id=task.run_id, by_secs=by)
    assert dump(path) == before


def test_a_lease_may_be_extended_beyond_the_calendar(engine: DurableEngine) -> None:
    task = started(engine)
    assert engine.extend_claim(run_id=task.run_id, by_secs=1e300).year == 9999
    assert engine.claim_task(worker_id="w2") is None


# --- giving back and deferring ---------------------------------------------------------------------------------------


def test_a_given_back_run_is_due_at_once_and_no_attempt_is_charged(engine: DurableEngine, path: Path) -> None:
    task = started(engine, max_attempts=1)
    engine.give_back_run(run_id=task.run_id, claim_token=task.claim_token)
    assert rows(path, "SELECT state, claimed_by, claim_expires_at FROM runs") == [("pending", None, None)]
    again = claim(engine)
    assert (again.run_id, again.attempt, again.reclaims, again.claim_token) == (task.run_id, 1, 0, 2)


def test_a_deferred_run_sleeps_longer_each_time_with_attempt_and_reclaims_as_they_were(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    started(engine, lease=10, max_attempts=1)
    clock.advance(11)
    assert claim(engine).reclaims == 1
    for number, longest in enumerate([1, 2, 4, 8, 16, 30, 30]):
        ((run_id,),) = rows(path, "SELECT run_id FROM runs WHERE state = 'running'")
        delay = engine.defer_run(run_id=run_id)
        assert longest * 0.8 <= delay <= longest
        assert rows(path, "SELECT state, sleep_cause, deferrals FROM runs") == [
            ("sleeping", "deferred", number + 1)
        ]
        assert engine.claim_task(worker_id="w2") is None
        clock.advance(delay)
        task = claim(engine)
        assert (task.attempt, task.reclaims, task.deferrals) == (1, 1, number + 1)


def test_deferrals_are_counted_by_attempt(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine)
    engine.defer_run(run_id=task.run_id)
    clock.advance(2)
    engine.fail_run(run_id=claim(engine).run_id, reason={})
    assert claim(engine).deferrals == 0


# --- clocks that step ------------------------------------------------------------------------------------------------


def test_a_clock_that_steps_back_never_hides_pending_work(engine: DurableEngine, clock: ManualClock) -> None:
    clock.advance(7200)
    engine.spawn_task(name="job", params="spawned")
    failed = started(engine, priority=1)
    engine.fail_run(run_id=failed.run_id, reason={})
    given = started(engine, priority=2)
    engine.give_back_run(run_id=given.run_id)
    parked = started(engine, priority=3)
    engine.await_event(run_id=parked.run_id, task_id=parked.task_id, step_name="s", event_name="e")
    engine.emit_event(event_name="e")
    clock.advance(-3600)
    for _ in range(4):
        claim(engine)


def test_a_clock_that_steps_back_delays_sleepers_and_reclaims_by_no_more_than_the_step(
    engine: DurableEngine, clock: ManualClock
) -> None:
    started(engine, lease=10)
    engine.spawn_task(name="asleep", params=None, available_after=timedelta(seconds=10))
    clock.advance(-3600)
    assert engine.claim_task(worker_id="w2") is None
    clock.advance(3610)
    assert {claim(engine).name, claim(engine).name} == {"job", "asleep"}


def test_a_clock_that_steps_forward_may_overlap_work_but_the_fence_holds(
    engine: DurableEngine, clock: ManualClock
) -> None:
    first = started(engine, lease=60)
    clock.advance(86_400)
    second = claim(engine)
    clock.advance(-86_400)
    with pytest.raises(LeaseLost):
        engine.complete_run(run_id=first.run_id, claim_token=first.claim_token)
    engine.complete_run(run_id=second.run_id, claim_token=second.claim_token)


def test_times_before_1970_and_with_other_zones_keep_their_order(
    engine: DurableEngine, clock: ManualClock
) -> None:
    clock.moment = datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)
    task = started(engine, lease=10)
    clock.moment = (clock.moment + timedelta(seconds=9)).astimezone()
    assert engine.claim_task(worker_id="w2") is None
    clock.advance(2)
    assert claim(engine).run_id == task.run_id
