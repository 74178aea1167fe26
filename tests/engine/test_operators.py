"""What operators do compares before it sets: an action chosen from a screen reaches what was on it, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, rows, started
from dura import (
    ActionRefused,
    ClaimedTask,
    DurableEngine,
    InvalidRunState,
    InvalidValue,
    RetryStrategy,
    TaskCancelledError,
    TaskNotFound,
)
from dura.current import holding

BACKOFF = RetryStrategy(kind="fixed", base_seconds=100, jitter_factor=0)


def park(engine: DurableEngine, task: ClaimedTask, **options: Any) -> None:
    suspended, _ = engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e", **options
    )
    assert suspended


def refused(call: Callable[[], object], present: str | None) -> ActionRefused:
    with pytest.raises(ActionRefused) as error:
        call()
    assert error.value.present == present
    assert isinstance(error.value, InvalidRunState)
    return error.value


# --- cancel ----------------------------------------------------------------------------------------------------------


def test_cancel_ends_a_task_in_every_live_state(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    pending = engine.spawn_task(name="job", params=None, priority=-1).task_id
    delayed = engine.spawn_task(name="job", params=None, available_after=timedelta(hours=1)).task_id
    running = started(engine)
    waiting = started(engine)
    park(engine, waiting)
    for task_id in (pending, delayed, running.task_id, waiting.task_id):
        engine.cancel_task(task_id)
        assert engine.get_task(task_id).state == "cancelled"
    assert rows(path, "SELECT DISTINCT state, claim_expires_at, sleep_cause, wake_event FROM runs") == [
        ("cancelled", None, None, None)
    ]
    clock.advance(10**6)
    assert engine.claim_task(worker_id="w1") is None


def test_cancelling_again_or_too_late_changes_nothing(engine: DurableEngine, path: Path) -> None:
    task, done = started(engine), started(engine)
    engine.cancel_task(task.task_id)
    engine.complete_run(run_id=done.run_id, result=1)
    before = dump(path)
    engine.cancel_task(task.task_id)
    engine.cancel_task(done.task_id, actor="ana")
    assert dump(path) == before


def test_a_cancelled_handler_learns_of_it_at_its_next_call(engine: DurableEngine) -> None:
    task = started(engine)
    engine.cancel_task(task.task_id)
    with holding(engine, task):
        for call in (
            lambda: engine.checkpoint(task_id=task.task_id, step_name="s", fn=lambda: 1),
            lambda: engine.sleep(run_id=task.run_id, task_id=task.task_id, step_name="t", seconds=1),
            lambda: engine.extend_claim(run_id=task.run_id, by_secs=1),
            lambda: engine.complete_run(run_id=task.run_id),
        ):
            with pytest.raises(TaskCancelledError, match="cancelled"):
                call()


def test_cancel_compares_run_and_token(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    task = started(engine, lease=10)
    clock.advance(11)
    claim(engine)
    before = dump(path)
    error = refused(
        lambda: engine.cancel_task(task.task_id, seen_run_id=task.run_id, seen_claim_token=1), "running"
    )
    assert "claimed again" in str(error)
    engine.fail_run(run_id=task.run_id, reason={})
    before = dump(path)
    error = refused(lambda: engine.cancel_task(task.task_id, seen_run_id=task.run_id), "pending")
    assert "attempt 2" in str(error)
    assert dump(path) == before
    again = claim(engine)
    engine.cancel_task(task.task_id, seen_run_id=again.run_id, seen_claim_token=1)


def test_cancel_of_what_was_seen_alive_but_has_ended_is_refused(engine: DurableEngine) -> None:
    task = started(engine)
    engine.complete_run(run_id=task.run_id)
    refused(lambda: engine.cancel_task(task.task_id, seen_run_id=task.run_id), "completed")
    refused(lambda: engine.cancel_task(task.task_id, seen_claim_token=1), "completed")


def test_cancel_duplicates_keeps_the_oldest_live_task_of_a_name(
    engine: DurableEngine, clock: ManualClock
) -> None:
    done = started(engine, name="sync")
    engine.complete_run(run_id=done.run_id)
    oldest = engine.spawn_task(name="sync", params=1, available_after=timedelta(hours=1)).task_id
    clock.advance(1)
    others = [engine.spawn_task(name="sync", params=n, priority=9).task_id for n in range(3)]
    other_name = engine.spawn_task(name="other", params=None).task_id
    assert engine.cancel_duplicate_tasks("sync") == (oldest, 3)
    assert [engine.get_task(task_id).state for task_id in others] == ["cancelled"] * 3
    assert engine.get_task(oldest).state == "sleeping"
    assert engine.get_task(other_name).state == "pending"
    assert engine.cancel_duplicate_tasks("sync") == (oldest, 0)
    assert engine.cancel_duplicate_tasks("nobody") == (None, 0)


# --- extend ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (2, "has not been claimed that often (token 1, seen 2)"),
        (0, "has been claimed since (token 1, seen 0)"),
    ],
)
def test_a_claim_that_differs_is_told_apart_from_a_later_one(
    engine: DurableEngine, seen: int, words: str
) -> None:
    task = started(engine)
    for act in (
        lambda: engine.cancel_task(task.task_id, seen_claim_token=seen),
        lambda: engine.extend_claim(run_id=task.run_id, by_secs=60, seen_claim_token=seen),
    ):
        assert words in str(refused(act, "running"))


def test_extend_compares_the_token_that_was_seen(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine, lease=10)
    clock.advance(11)
    claim(engine)
    before = dump(path)
    refused(lambda: engine.extend_claim(run_id=task.run_id, by_secs=60, seen_claim_token=1), "running")
    assert dump(path) == before
    engine.extend_claim(run_id=task.run_id, by_secs=600, seen_claim_token=2)


@pytest.mark.parametrize("fate", ["pending", "sleeping", "completed", "failed", "cancelled"])
def test_extend_of_a_lease_that_was_seen_but_is_no_more_is_refused_with_the_present_state(
    engine: DurableEngine, path: Path, fate: str
) -> None:
    task = started(engine)
    if fate == "pending":
        engine.give_back_run(run_id=task.run_id)
    elif fate == "sleeping":
        park(engine, task)
    elif fate == "completed":
        engine.complete_run(run_id=task.run_id)
    elif fate == "failed":
        engine.fail_run(run_id=task.run_id, reason={})
    else:
        engine.cancel_task(task.task_id)
    before = dump(path)
    refused(
        lambda: engine.extend_claim(run_id=task.run_id, by_secs=60, seen_claim_token=1, actor="ana"), fate
    )
    assert dump(path) == before


# --- emit ------------------------------------------------------------------------------------------------------------


def test_emit_to_a_run_that_was_seen_waiting_wakes_it(engine: DurableEngine) -> None:
    task = started(engine)
    park(engine, task, timeout_secs=60)
    assert engine.emit_event(event_name="e", seen_run_id=task.run_id).woken == (task.task_id,)


@pytest.mark.parametrize("fate", ["pending", "sleeping", "running", "cancelled", "gone", "other event"])
def test_emit_to_a_run_that_waits_no_more_is_refused_and_emits_nothing(
    engine: DurableEngine, clock: ManualClock, path: Path, fate: str
) -> None:
    task = started(engine)
    run_id, event = task.run_id, "e"
    present: str | None = fate
    park(engine, task, timeout_secs=60)
    if fate == "pending":
        clock.advance(60)
        engine.spawn_task(name="job", params=None, priority=1)
        claim(engine)
    elif fate == "sleeping":
        clock.advance(61)  # due, with nobody to claim it yet: the deadline has passed
    elif fate == "running":
        clock.advance(60)
        claim(engine)
    elif fate == "cancelled":
        engine.cancel_task(task.task_id)
    elif fate == "gone":
        run_id, present = "no-such-run", None
    else:
        event, present = "f", "sleeping"
    before = dump(path)
    refused(lambda: engine.emit_event(event_name=event, seen_run_id=run_id, actor="ana"), present)
    assert dump(path) == before


# --- wake ------------------------------------------------------------------------------------------------------------


def test_wake_ends_a_delay_a_backoff_and_a_deferral(engine: DurableEngine, path: Path) -> None:
    delayed = engine.spawn_task(name="job", params=None, available_after=timedelta(hours=1))
    woken = engine.wake_task(delayed.task_id, seen_run_id=delayed.run_id)
    assert (woken.task_id, woken.run_id, woken.attempt, woken.created) == (
        delayed.task_id, delayed.run_id, 1, False,
    )  # fmt: skip
    task = claim(engine)
    engine.defer_run(run_id=task.run_id)
    engine.wake_task(task.task_id)
    assert claim(engine).deferrals == 1
    engine.complete_run(run_id=task.run_id)
    failing = started(engine, retry=BACKOFF)
    engine.fail_run(run_id=failing.run_id, reason={})
    engine.wake_task(failing.task_id)
    assert claim(engine).attempt == 2


def test_wake_leaves_waits_and_sleeps_alone(engine: DurableEngine, path: Path) -> None:
    waiting, sleeping = started(engine), started(engine)
    park(engine, waiting, timeout_secs=60)
    with pytest.raises(BaseException, match=sleeping.task_id):
        engine.sleep(run_id=sleeping.run_id, task_id=sleeping.task_id, step_name="s", seconds=60)
    before = dump(path)
    assert "emit it" in str(refused(lambda: engine.wake_task(waiting.task_id), "sleeping"))
    refused(lambda: engine.wake_task(sleeping.task_id), "sleeping")
    assert dump(path) == before


def test_wake_of_what_does_not_sleep_or_has_moved_on_is_refused(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine, retry=BACKOFF)
    refused(lambda: engine.wake_task(task.task_id), "running")
    engine.fail_run(run_id=task.run_id, reason={})
    before = dump(path)
    refused(lambda: engine.wake_task(task.task_id, seen_run_id=task.run_id), "sleeping")
    assert dump(path) == before
    engine.wake_task(task.task_id)
    refused(lambda: engine.wake_task(task.task_id), "pending")
    engine.complete_run(run_id=claim(engine).run_id)
    refused(lambda: engine.wake_task(task.task_id), "completed")


# --- all of them -----------------------------------------------------------------------------------------------------


def test_a_task_or_run_that_is_not_there_is_named(engine: DurableEngine, path: Path) -> None:
    before = dump(path)
    for call in (engine.cancel_task, engine.requeue_task, engine.wake_task, engine.get_task):
        with pytest.raises(TaskNotFound, match="ghost"):
            call("ghost")
    with pytest.raises(TaskNotFound, match="ghost"):
        engine.extend_claim(run_id="ghost", by_secs=1, seen_claim_token=1)
    assert dump(path) == before


WRONG_ACTORS: dict[str, dict[str, Any]] = {
    "no actor": {"actor": ""},
    "actor of another type": {"actor": 5},
    "actor with a lone surrogate": {"actor": "\ud800"},
    "reason without an actor": {"reason": "why"},
    "no reason": {"actor": "ana", "reason": ""},
    "reason of another type": {"actor": "ana", "reason": ["why"]},
}


@pytest.mark.parametrize("by", WRONG_ACTORS.values(), ids=WRONG_ACTORS.keys())
def test_an_action_with_a_wrong_actor_is_refused(
    engine: DurableEngine, path: Path, by: dict[str, Any]
) -> None:
    task = started(engine)
    failed = started(engine)
    engine.fail_run(run_id=failed.run_id, reason={}, retryable=False)
    before = dump(path)
    calls: list[Callable[[], object]] = [
        lambda: engine.cancel_task(task.task_id, **by),
        lambda: engine.extend_claim(run_id=task.run_id, by_secs=900, **by),
        lambda: engine.emit_event(event_name="e", **by),
        lambda: engine.requeue_task(failed.task_id, **by),
        lambda: engine.wake_task(task.task_id, **by),
    ]
    for call in calls:
        with pytest.raises(InvalidValue):
            call()
    assert dump(path) == before
