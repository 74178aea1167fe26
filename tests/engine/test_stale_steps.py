"""What a holder may leave behind whose claim was lost while it computed a step."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, rows, started
from dura import ClaimedTask, DurableEngine, EngineError, LeaseLost, TaskCancelledError, TaskNotFound
from dura.current import holding


def unreachable() -> object:
    raise AssertionError("the step was computed again")


def by(task: ClaimedTask) -> dict[str, Any]:
    """The holder's own arguments."""
    return {"task_id": task.task_id, "owner_run_id": task.run_id, "claim_token": task.claim_token}


def stored(path: Path) -> list[tuple[Any, ...]]:
    return rows(path, "SELECT checkpoint_name, state, owner_run_id FROM checkpoints ORDER BY rowid")


def test_a_stale_result_is_kept_while_the_run_may_still_go_on_and_the_holder_is_told(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine, lease=10)

    def too_slow() -> str:
        clock.advance(11)
        assert claim(engine, worker_id="w2").run_id == task.run_id
        return "slow"

    with pytest.raises(LeaseLost, match="result of step 's' was kept") as told:
        engine.checkpoint(**by(task), step_name="s", fn=too_slow)
    assert task.run_id in str(told.value)
    assert stored(path) == [("s", '"slow"', task.run_id)]


@pytest.mark.parametrize("fate", ["reclaimed", "parked", "given back", "deferred"])
def test_a_stale_result_is_kept_for_a_live_run_in_any_state(
    engine: DurableEngine, clock: ManualClock, path: Path, fate: str
) -> None:
    task = started(engine, lease=10)

    def too_slow() -> str:
        if fate == "reclaimed":
            clock.advance(11)
            engine.spawn_task(name="other", params=None, priority=1)
            claim(engine)
        elif fate == "parked":
            engine.await_event(run_id=task.run_id, task_id=task.task_id, step_name="w", event_name="e")
        elif fate == "given back":
            engine.give_back_run(run_id=task.run_id)
        else:
            engine.defer_run(run_id=task.run_id)
        return "slow"

    with pytest.raises(LeaseLost):
        engine.checkpoint(**by(task), step_name="s", fn=too_slow)
    assert [row[:2] for row in stored(path)] == [("s", '"slow"')]


@pytest.mark.parametrize("fate", ["completed", "failed", "retried", "cancelled", "requeued", "removed"])
def test_a_stale_result_is_not_kept_for_a_run_that_has_ended(
    engine: DurableEngine, clock: ManualClock, path: Path, fate: str
) -> None:
    task = started(engine)
    after: dict[str, list[tuple[Any, ...]]] = {}

    def too_slow() -> str:
        if fate in ("completed", "removed"):
            engine.complete_run(run_id=task.run_id)
        elif fate in ("failed", "requeued"):
            engine.fail_run(run_id=task.run_id, reason={}, retryable=False)
        elif fate == "retried":
            engine.fail_run(run_id=task.run_id, reason={})
        else:
            engine.cancel_task(task.task_id)
        if fate == "requeued":
            engine.requeue_task(task.task_id)
        if fate == "removed":
            clock.advance(5)
            engine.cleanup(timedelta(0))
        after.update(dump(path))
        return "slow"

    error = {"cancelled": TaskCancelledError, "removed": TaskNotFound}.get(fate, LeaseLost)
    with pytest.raises(error):
        engine.checkpoint(**by(task), step_name="s", fn=too_slow)
    assert dump(path) == after


def test_a_stale_holder_does_not_replace_what_the_new_one_finished(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine, lease=10)

    def too_slow() -> str:
        clock.advance(11)
        engine.checkpoint(**by(claim(engine)), step_name="s", fn=lambda: "new")
        return "old"

    with pytest.raises(LeaseLost):
        engine.checkpoint(**by(task), step_name="s", fn=too_slow)
    assert [row[:2] for row in stored(path)] == [("s", '"new"')]


def test_the_current_claim_is_the_holder(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    task = started(engine, lease=10)
    with holding(engine, task):
        assert engine.checkpoint(task_id=task.task_id, step_name="a", fn=lambda: 1) == 1
        assert stored(path) == [("a", "1", task.run_id)]
        clock.advance(11)
        claim(engine)
        with pytest.raises(LeaseLost):
            engine.checkpoint(task_id=task.task_id, step_name="b", fn=unreachable)
        with pytest.raises(LeaseLost):
            engine.checkpoint(task_id=task.task_id, step_name="a", fn=unreachable)


def test_a_step_that_began_to_wait_meanwhile_keeps_no_result(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine, lease=10)

    def too_slow() -> str:
        clock.advance(11)
        again = claim(engine)
        engine.await_event(run_id=again.run_id, task_id=again.task_id, step_name="s", event_name="e")
        return "slow"

    with pytest.raises(EngineError):
        engine.checkpoint(**by(task), step_name="s", fn=too_slow)
    assert stored(path) == []
