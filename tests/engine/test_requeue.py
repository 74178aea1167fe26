"""Requeue: an operator gives a task that failed or was cancelled one more attempt, with its steps or without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, rows, started
from dura import ActionRefused, ClaimedTask, DurableEngine, RetryStrategy

STEPS = ("look", "pay", "ship", "tell")


def failed(engine: DurableEngine, **spawn: Any) -> ClaimedTask:
    """A task that has finished its steps and failed all the same."""
    task = started(engine, **{"max_attempts": 1, **spawn})
    for step in STEPS:
        engine.checkpoint(task_id=task.task_id, step_name=step, fn=lambda: 1, owner_run_id=task.run_id)
    engine.fail_run(run_id=task.run_id, reason={}, retryable=False)
    return task


def steps(path: Path) -> list[str]:
    return [name for (name,) in rows(path, "SELECT checkpoint_name FROM checkpoints ORDER BY rowid")]


def test_a_requeued_task_has_a_new_run_with_the_next_attempt_and_its_steps(
    engine: DurableEngine, path: Path
) -> None:
    task = failed(engine, priority=4, queue="bank")
    ref = engine.requeue_task(task.task_id)
    assert (ref.task_id, ref.attempt, ref.created) == (task.task_id, 2, True)
    assert rows(path, "SELECT state, attempts, terminal_at, last_attempt_run FROM tasks") == [
        ("pending", 2, None, ref.run_id)
    ]
    again = claim(engine, queue="bank", max_priority=4)
    assert (again.run_id, again.attempt) == (ref.run_id, 2)
    assert steps(path) == list(STEPS)


@pytest.mark.parametrize(
    ("how", "kept"),
    [
        ({}, STEPS),
        ({"keep_checkpoints": True}, STEPS),
        ({"keep_checkpoints": False}, ()),
        ({"from_step": "look"}, ()),
        ({"from_step": "pay"}, ("look",)),
        ({"from_step": "tell"}, ("look", "pay", "ship")),
    ],
)
def test_steps_are_kept_up_to_the_one_to_begin_from(
    engine: DurableEngine, path: Path, how: dict[str, Any], kept: tuple[str, ...]
) -> None:
    other = failed(engine)
    task = failed(engine)
    engine.requeue_task(task.task_id, **how)
    found = rows(path, "SELECT checkpoint_name FROM checkpoints WHERE task_id = ?", task.task_id)
    assert sorted(found) == sorted((step,) for step in kept)
    assert rows(path, "SELECT COUNT(*) FROM checkpoints WHERE task_id = ?", other.task_id) == [(4,)]


def test_the_order_of_steps_is_that_of_finishing_also_after_steps_were_dropped(
    engine: DurableEngine, path: Path
) -> None:
    task = failed(engine)
    engine.requeue_task(task.task_id, from_step="pay")
    again = claim(engine)
    for step in ("ship", "pay"):
        engine.checkpoint(task_id=task.task_id, step_name=step, fn=lambda: 2, owner_run_id=again.run_id)
    engine.fail_run(run_id=again.run_id, reason={}, retryable=False)
    engine.requeue_task(task.task_id, from_step="pay")
    assert steps(path) == ["look", "ship"]


def test_a_step_that_was_not_finished_is_nowhere_to_begin(engine: DurableEngine, path: Path) -> None:
    task = failed(engine)
    before = dump(path)
    with pytest.raises(ActionRefused, match="'look', 'pay', 'ship', 'tell'"):
        engine.requeue_task(task.task_id, from_step="refund", actor="ana")
    assert dump(path) == before


@pytest.mark.parametrize(("max_attempts", "granted"), [(1, 2), (2, 2), (7, 7), (None, None)])
def test_at_least_one_attempt_is_granted(
    engine: DurableEngine, path: Path, max_attempts: int | None, granted: int | None
) -> None:
    task = failed(engine, max_attempts=max_attempts)
    engine.requeue_task(task.task_id)
    assert rows(path, "SELECT max_attempts FROM tasks") == [(granted,)]
    again = claim(engine)
    engine.fail_run(run_id=again.run_id, reason={})
    expected = "failed" if granted == 2 else "pending"
    assert engine.get_task(task.task_id).state == expected


def test_a_task_can_be_requeued_again_and_again(engine: DurableEngine) -> None:
    task = failed(engine)
    for attempt in range(2, 8):
        assert engine.requeue_task(task.task_id).attempt == attempt
        engine.fail_run(run_id=claim(engine).run_id, reason={})


def test_a_cancelled_task_is_requeued_and_its_old_run_stays_cancelled(
    engine: DurableEngine, path: Path
) -> None:
    task = started(engine)
    engine.cancel_task(task.task_id)
    engine.requeue_task(task.task_id)
    assert rows(path, "SELECT attempt, state FROM runs ORDER BY attempt") == [
        (1, "cancelled"),
        (2, "pending"),
    ]


def test_a_task_that_was_cancelled_while_it_slept_is_due_at_once(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = started(engine, retry=RetryStrategy(kind="fixed", base_seconds=10**6))
    engine.fail_run(run_id=task.run_id, reason={})
    engine.cancel_task(task.task_id)
    engine.requeue_task(task.task_id)
    assert claim(engine).attempt == 3


@pytest.mark.parametrize("state", ["pending", "running", "sleeping", "completed"])
def test_only_failed_and_cancelled_tasks_are_requeued(engine: DurableEngine, path: Path, state: str) -> None:
    task = started(engine)
    moves: dict[str, Callable[[], object]] = {
        "pending": lambda: engine.give_back_run(run_id=task.run_id),
        "running": lambda: None,
        "sleeping": lambda: engine.defer_run(run_id=task.run_id),
        "completed": lambda: engine.complete_run(run_id=task.run_id),
    }
    moves[state]()
    before = dump(path)
    with pytest.raises(ActionRefused, match=task.task_id) as refused:
        engine.requeue_task(task.task_id, actor="ana")
    assert refused.value.present == state
    assert dump(path) == before


def test_requeue_compares_the_run_that_was_seen(engine: DurableEngine, path: Path) -> None:
    task = failed(engine)
    engine.requeue_task(task.task_id, seen_run_id=task.run_id)
    engine.fail_run(run_id=claim(engine).run_id, reason={}, retryable=False)
    before = dump(path)
    with pytest.raises(ActionRefused, match="attempt 2") as refused:
        engine.requeue_task(task.task_id, seen_run_id=task.run_id)
    assert refused.value.present == "failed"
    assert dump(path) == before


def test_two_operators_who_requeue_at_once_make_one_attempt(engine: DurableEngine, path: Path) -> None:
    task = failed(engine)
    engine.requeue_task(task.task_id, seen_run_id=task.run_id)
    with pytest.raises(ActionRefused):
        engine.requeue_task(task.task_id, seen_run_id=task.run_id)
    assert rows(path, "SELECT COUNT(*) FROM runs") == [(2,)]


def test_reclaims_and_deferrals_begin_anew(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, lease=10, max_reclaims=0)
    clock.advance(11)
    assert engine.claim_task(worker_id="w1") is None
    engine.requeue_task(task.task_id)
    again = claim(engine)
    assert (again.attempt, again.reclaims, again.deferrals) == (2, 0, 0)
