"""Steps that run once: look before computing, first write wins, and what a holder that went stale meanwhile may leave."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, rows, started
from dura import (
    ClaimedTask,
    DurableEngine,
    InvalidValue,
    NotStorable,
    StepConflict,
    TaskCancelledError,
    TaskNotFound,
)


def unreachable() -> object:
    raise AssertionError("the step was computed again")


def by(task: ClaimedTask) -> dict[str, Any]:
    """The holder's own arguments."""
    return {"task_id": task.task_id, "owner_run_id": task.run_id, "claim_token": task.claim_token}


def stored(path: Path) -> list[tuple[Any, ...]]:
    return rows(path, "SELECT checkpoint_name, state, owner_run_id FROM checkpoints ORDER BY rowid")


def test_a_finished_step_is_not_computed_again(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    assert engine.checkpoint(**by(task), step_name="s", fn=lambda: {"n": 1}) == {"n": 1}
    assert engine.checkpoint(**by(task), step_name="s", fn=unreachable) == {"n": 1}
    assert engine.get_checkpoint(task_id=task.task_id, step_name="s") == {"n": 1}
    assert stored(path) == [("s", '{"n": 1}', task.run_id)]


def test_a_step_is_finished_for_every_later_attempt(engine: DurableEngine, clock: ManualClock) -> None:
    task = started(engine, lease=10)
    engine.checkpoint(**by(task), step_name="s", fn=lambda: 1)
    clock.advance(11)
    again = claim(engine)
    assert engine.checkpoint(**by(again), step_name="s", fn=unreachable) == 1
    engine.fail_run(run_id=again.run_id, reason={})
    assert engine.checkpoint(**by(claim(engine)), step_name="s", fn=unreachable) == 1


def test_steps_belong_to_their_task(engine: DurableEngine) -> None:
    one, two = started(engine), started(engine)
    engine.checkpoint(**by(one), step_name="s", fn=lambda: 1)
    assert engine.checkpoint(**by(two), step_name="s", fn=lambda: 2) == 2


@pytest.mark.parametrize(
    ("value", "comes_back"),
    [
        ((1, (2,)), [1, [2]]),
        ({1: {2: 3}}, {"1": {"2": 3}}),
        (None, None),
        ("", ""),
        (False, False),
        (2**70, 2**70),
        ("\ud83d\ude00", "\U0001f600"),
    ],
    ids=ascii,
)
def test_a_first_run_and_a_replay_see_the_same_value(
    engine: DurableEngine, value: Any, comes_back: Any
) -> None:
    task = started(engine)
    assert engine.checkpoint(**by(task), step_name="s", fn=lambda: value) == comes_back
    assert engine.checkpoint(**by(task), step_name="s", fn=unreachable) == comes_back


def test_the_first_call_returns_a_value_of_its_own(engine: DurableEngine) -> None:
    task = started(engine)
    mine = [1]
    first = engine.checkpoint(**by(task), step_name="s", fn=lambda: mine)
    first.append(2)
    assert mine == [1]
    assert engine.checkpoint(**by(task), step_name="s", fn=unreachable) == [1]


@pytest.mark.parametrize("value", [object(), float("nan"), {1}], ids=["object", "nan", "set"])
def test_a_result_that_cannot_be_stored_is_named_and_the_step_stays_open(
    engine: DurableEngine, path: Path, value: Any
) -> None:
    task = started(engine)
    with pytest.raises(NotStorable, match="step 'pay'"):
        engine.checkpoint(**by(task), step_name="pay", fn=lambda: value)
    assert stored(path) == []
    assert engine.checkpoint(**by(task), step_name="pay", fn=lambda: 1) == 1


def test_a_function_that_raises_leaves_the_step_open(engine: DurableEngine, path: Path) -> None:
    task = started(engine)
    for error in (RuntimeError("flaky"), KeyboardInterrupt()):

        def fails(error: BaseException = error) -> None:
            raise error

        with pytest.raises(type(error)):
            engine.checkpoint(**by(task), step_name="s", fn=fails)
    assert stored(path) == []


def test_the_function_runs_outside_any_transaction(engine: DurableEngine, path: Path) -> None:
    task = started(engine)

    def slow() -> int:
        elsewhere = DurableEngine(path, busy_timeout_ms=0)
        elsewhere.spawn_task(name="meanwhile", params=None)
        elsewhere.close()
        engine.set_state(namespace="n", key="k", value=1)
        return engine.checkpoint(**by(task), step_name="inner", fn=lambda: 5)

    assert engine.checkpoint(**by(task), step_name="outer", fn=slow) == 5
    assert [row[0] for row in stored(path)] == ["inner", "outer"]


def test_of_two_that_compute_a_step_the_first_to_finish_wins(engine: DurableEngine, path: Path) -> None:
    task = started(engine)

    def slow() -> str:
        engine.checkpoint(**by(task), step_name="s", fn=lambda: "the other's")
        return "mine"

    assert engine.checkpoint(**by(task), step_name="s", fn=slow) == "the other's"
    assert stored(path) == [("s", '"the other\'s"', task.run_id)]


def test_threads_that_race_for_a_step_all_get_the_one_result(engine: DurableEngine) -> None:
    task = started(engine)
    together = threading.Barrier(8)
    results: list[int] = []

    def compute(number: int) -> None:
        for step in range(10):
            together.wait(60)
            value = number * 100 + step
            results.append(engine.checkpoint(**by(task), step_name=f"s{step}", fn=partial(int, value)))
        engine.close()

    threads = [threading.Thread(target=compute, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 80
    assert len(set(results)) == 10


# --- calls by nobody, and for nobody ---------------------------------------------------------------------------------


def test_nobody_may_compute_a_step_of_a_live_task(engine: DurableEngine, path: Path) -> None:
    ref = engine.spawn_task(name="job", params=None)
    assert engine.checkpoint(task_id=ref.task_id, step_name="s", fn=lambda: 1) == 1
    assert stored(path) == [("s", "1", None)]


def test_nobody_reads_a_finished_step_of_a_cancelled_task_but_computes_none(engine: DurableEngine) -> None:
    task = started(engine)
    engine.checkpoint(task_id=task.task_id, step_name="s", fn=lambda: 1)
    engine.cancel_task(task.task_id)
    assert engine.checkpoint(task_id=task.task_id, step_name="s", fn=unreachable) == 1
    with pytest.raises(TaskCancelledError):
        engine.checkpoint(task_id=task.task_id, step_name="t", fn=unreachable)


def test_nobody_who_computed_a_step_of_a_task_that_was_cancelled_meanwhile_keeps_nothing(
    engine: DurableEngine, path: Path
) -> None:
    task = started(engine)
    with pytest.raises(TaskCancelledError):
        engine.checkpoint(task_id=task.task_id, step_name="s", fn=lambda: engine.cancel_task(task.task_id))
    assert stored(path) == []


@pytest.mark.parametrize(
    "holder", [{}, {"owner_run_id": "ghost"}, {"owner_run_id": "ghost", "claim_token": 1}]
)
def test_no_step_is_ever_written_for_a_task_that_is_not_there(
    engine: DurableEngine, path: Path, holder: dict[str, Any]
) -> None:
    with pytest.raises(TaskNotFound, match="ghost"):
        engine.checkpoint(task_id="ghost", step_name="s", fn=unreachable, **holder)
    assert stored(path) == []


def test_no_step_is_written_for_a_task_that_was_removed_meanwhile(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    task = started(engine)

    def too_slow() -> int:
        engine.complete_run(run_id=task.run_id)
        clock.advance(5)
        return engine.cleanup(timedelta(0))

    with pytest.raises(TaskNotFound, match=task.task_id):
        engine.checkpoint(task_id=task.task_id, step_name="s", fn=too_slow)
    assert stored(path) == []


def test_a_run_of_another_task_is_no_holder(engine: DurableEngine, path: Path) -> None:
    one, two = started(engine), started(engine)
    with pytest.raises(TaskNotFound):
        engine.checkpoint(
            task_id=one.task_id, step_name="s", fn=unreachable, owner_run_id=two.run_id, claim_token=1
        )
    assert stored(path) == []


def test_a_token_needs_its_run(engine: DurableEngine) -> None:
    task = started(engine)
    with pytest.raises(InvalidValue, match="owner_run_id"):
        engine.checkpoint(task_id=task.task_id, step_name="s", fn=unreachable, claim_token=1)


# --- one step, one use -----------------------------------------------------------------------------------------------


def test_a_step_that_waits_is_not_computed(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    task = started(engine)
    engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e", timeout_secs=5
    )
    clock.advance(5)
    again = claim(engine)
    before = dump(path)
    with pytest.raises(StepConflict, match="waits for event 'e'"):
        engine.checkpoint(**by(again), step_name="s", fn=unreachable)
    with pytest.raises(StepConflict):
        engine.checkpoint(task_id=task.task_id, step_name="s", fn=unreachable)
    assert dump(path) == before


@pytest.mark.parametrize("step", ["", None, 3, "\ud800", b"s"], ids=repr)
def test_a_step_has_a_name(engine: DurableEngine, path: Path, step: Any) -> None:
    task = started(engine)
    with pytest.raises(InvalidValue):
        engine.checkpoint(task_id=task.task_id, step_name=step, fn=unreachable)
    assert stored(path) == []
