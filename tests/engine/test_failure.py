"""Failure is bounded and explained: the attempts that follow, their delays, and reasons kept as they were given."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, plain, rows, started
from dura import ClaimedTask, DurableEngine, InvalidRunState, NotStorable, RetryStrategy


def fail(engine: DurableEngine, task: ClaimedTask, **options: Any) -> None:
    engine.fail_run(run_id=task.run_id, reason={"message": "no"}, claim_token=task.claim_token, **options)


def seconds_slept(path: Path) -> float:
    """How long the latest run sleeps from its predecessor's failure on."""
    ((slept,),) = rows(
        path,
        "SELECT (julianday(r.available_at) - julianday(p.failed_at)) * 86400 FROM runs r JOIN runs p "
        "ON p.task_id = r.task_id AND p.attempt = r.attempt - 1 ORDER BY r.attempt DESC LIMIT 1",
    )
    return round(float(slept), 2)


def test_a_failed_attempt_stays_failed_and_a_new_one_follows(engine: DurableEngine, path: Path) -> None:
    task = started(engine, priority=3, queue="bank")
    fail(engine, task)
    assert rows(path, "SELECT attempt, state, priority, queue, claim_token FROM runs ORDER BY attempt") == [
        (1, "failed", 3, "bank", 1),
        (2, "pending", 3, "bank", 0),
    ]
    again = claim(engine)
    assert (again.task_id, again.attempt, again.claim_token) == (task.task_id, 2, 1)
    assert again.run_id != task.run_id
    assert engine.get_task(task.task_id).state == "running"


def test_attempts_end_at_max_attempts(engine: DurableEngine) -> None:
    started(engine, max_attempts=3)
    for attempt in (1, 2, 3):
        ((run_id,),) = rows(Path(engine.db_path), "SELECT run_id FROM runs WHERE state = 'running'")
        engine.fail_run(run_id=run_id, reason={"attempt": attempt})
        if attempt < 3:
            claim(engine)
    assert engine.claim_task(worker_id="w1") is None
    assert engine.task_counts_by_state() == {"failed": 1}
    failures = engine.recent_failures()
    assert [(failure.attempt, failure.failure_reason) for failure in failures] == [
        (3, {"attempt": 3}), (2, {"attempt": 2}), (1, {"attempt": 1}),
    ]  # fmt: skip
    assert [f.attempt for f in engine.recent_failures(limit=2)] == [3, 2]
    assert engine.recent_failures(limit=0) == []


def test_what_a_retry_cannot_help_fails_at_once(engine: DurableEngine) -> None:
    task = started(engine, max_attempts=9)
    fail(engine, task, retryable=False)
    info = engine.get_task(task.task_id)
    assert (info.state, info.attempts, info.failure_reason) == ("failed", 1, {"message": "no"})


def test_a_retry_may_succeed(engine: DurableEngine) -> None:
    fail(engine, started(engine, max_attempts=2))
    again = claim(engine)
    engine.complete_run(run_id=again.run_id, result=[1])
    info = engine.get_task(again.task_id)
    assert (info.state, info.attempts, info.result, info.failure_reason) == ("completed", 2, [1], None)


@pytest.mark.parametrize(
    ("retry", "delays"),
    [
        (None, [0, 0, 0]),
        (RetryStrategy(), [0, 0, 0]),
        (RetryStrategy(kind="fixed", base_seconds=7, jitter_factor=0), [7, 7, 7]),
        (RetryStrategy(kind="exponential", base_seconds=2, factor=3, jitter_factor=0), [2, 6, 18]),
        (RetryStrategy(kind="exponential", base_seconds=2, max_seconds=3, jitter_factor=0), [2, 3, 3]),
    ],
    ids=["default", "none", "fixed", "exponential", "capped"],
)
def test_the_strategy_gives_the_delay(
    engine: DurableEngine, clock: ManualClock, path: Path, retry: RetryStrategy | None, delays: list[float]
) -> None:
    task = started(engine, retry=retry)
    for delay in delays:
        fail(engine, task)
        assert seconds_slept(path) == delay
        if delay:
            assert rows(path, "SELECT sleep_cause FROM runs WHERE state = 'sleeping'") == [("backoff",)]
            clock.advance(delay - 0.001)
            assert engine.claim_task(worker_id="w1") is None
            clock.advance(0.001)
        task = claim(engine)


def test_jitter_stays_within_the_cap(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    retry = RetryStrategy(kind="exponential", base_seconds=40, max_seconds=60, jitter_factor=1.0)
    task = started(engine, retry=retry)
    for _ in range(30):
        fail(engine, task)
        assert 40 <= seconds_slept(path) <= 60
        clock.advance(60)
        task = claim(engine)


def test_a_broken_task_without_delay_and_limit_waits_from_its_tenth_attempt_on(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine)
    for _ in range(8):
        fail(engine, task)
        task = claim(engine)
    assert task.attempt == 9
    for attempt in (10, 11, 12):
        fail(engine, task)
        assert engine.claim_task(worker_id="w1") is None
        clock.advance(1)
        task = claim(engine)
        assert task.attempt == attempt


def test_a_limit_takes_the_place_of_the_pause(engine: DurableEngine) -> None:
    task = started(engine, max_attempts=15)
    for _ in range(14):
        fail(engine, task)
        task = claim(engine)
    fail(engine, task)
    assert engine.get_task(task.task_id).state == "failed"


@pytest.mark.parametrize(
    "stored",
    [
        "{not json", '"fixed"', "[]", "7", "true", '{"kind": "fibonacci"}', '{"colour": "red"}',
        '{"kind": "fixed", "base_seconds": 1e999}', '{"kind": "fixed", "base_seconds": NaN}', "", "[" * 5000,
    ],
    ids=lambda stored: stored[:40] or "empty",
)  # fmt: skip
def test_an_unreadable_strategy_delays_the_next_attempt_and_loses_nothing(
    engine: DurableEngine, clock: ManualClock, path: Path, stored: str
) -> None:
    task = started(engine)
    with plain(path) as other:
        other.execute("UPDATE tasks SET retry_strategy = ?", (stored,))
    fail(engine, task)
    assert engine.get_task(task.task_id).state == "sleeping"
    clock.advance(30)
    assert claim(engine).attempt == 2


@pytest.mark.parametrize("base", [1e300, 1.7e308])
def test_a_delay_beyond_the_calendar_still_has_a_due_time(engine: DurableEngine, base: float) -> None:
    task = started(engine, retry=RetryStrategy(kind="fixed", base_seconds=base))
    fail(engine, task)
    assert engine.check() == ()
    engine.wake_task(task.task_id)
    assert claim(engine).attempt == 2


REASON = {"type": "Ünïcode☃", "nested": {"list": [1, None, {"a": True}]}, "traceback": "line 1\nline 2" * 500}


def test_the_reason_is_kept_verbatim(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    engine.fail_run(run_id=task.run_id, reason=REASON, retryable=False)
    assert engine.get_task(task.task_id).failure_reason == REASON
    assert engine.recent_failures()[0].failure_reason == REASON
    ((stored,),) = rows(path, "SELECT failure_reason FROM runs")
    assert json.loads(stored) == REASON


@pytest.mark.parametrize("value", [object(), float("nan"), {1}, b"x"], ids=["object", "nan", "set", "bytes"])
def test_what_cannot_be_stored_is_refused_and_the_run_goes_on(
    engine: DurableEngine, path: Path, value: Any
) -> None:
    task = started(engine)
    before = dump(path)
    with pytest.raises(NotStorable, match=task.run_id):
        engine.complete_run(run_id=task.run_id, result=value)
    with pytest.raises(NotStorable, match=task.run_id):
        engine.fail_run(run_id=task.run_id, reason={"bad": value})
    assert dump(path) == before
    engine.complete_run(run_id=task.run_id, result="fine")


@pytest.mark.parametrize("result", [None, False, 0, "", [], {}, [None]], ids=repr)
def test_every_json_result_is_a_result(engine: DurableEngine, result: Any) -> None:
    task = started(engine)
    engine.complete_run(run_id=task.run_id, result=result)
    info = engine.get_task(task.task_id)
    assert (info.state, info.result) == ("completed", result)


def test_a_result_comes_back_as_json_has_it(engine: DurableEngine) -> None:
    task = started(engine)
    engine.complete_run(run_id=task.run_id, result=(1, {2: (3,)}))
    assert engine.get_task(task.task_id).result == [1, {"2": [3]}]


def test_settling_twice_is_refused_and_the_first_outcome_stands(engine: DurableEngine) -> None:
    task = started(engine)
    engine.complete_run(run_id=task.run_id, result="first")
    with pytest.raises(InvalidRunState, match="is completed"):
        engine.complete_run(run_id=task.run_id, result="second")
    with pytest.raises(InvalidRunState, match="is completed"):
        engine.fail_run(run_id=task.run_id, reason={})
    assert engine.get_task(task.task_id).result == "first"


def test_the_end_of_a_task_is_stamped_once_it_ends(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine, max_attempts=2)
    clock.advance(5)
    fail(engine, task)
    assert rows(path, "SELECT terminal_at FROM tasks") == [(None,)]
    clock.advance(5)
    fail(engine, claim(engine))
    assert rows(path, "SELECT terminal_at FROM tasks") == [("2026-01-01T00:00:10.000000+00:00",)]
    assert rows(path, "SELECT failed_at FROM runs ORDER BY attempt") == [
        ("2026-01-01T00:00:05.000000+00:00",),
        ("2026-01-01T00:00:10.000000+00:00",),
    ]


def test_a_task_in_backoff_can_be_cancelled_and_never_runs(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, retry=RetryStrategy(kind="fixed", base_seconds=5))
    fail(engine, task)
    engine.cancel_task(task.task_id)
    clock.advance(60)
    assert engine.claim_task(worker_id="w1") is None
    assert engine.spawn_task(name="x", params=None, available_after=timedelta(1)).created
