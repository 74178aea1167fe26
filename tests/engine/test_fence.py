"""The lease is a fencing token: whatever a holder calls whose claim is not live, nothing changes and it is told why."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim, dump, started
from dura import (
    ClaimedTask,
    DurableEngine,
    EngineError,
    InvalidRunState,
    InvalidValue,
    LeaseLost,
    TaskCancelledError,
    TaskNotFound,
)
from dura.current import holding

Call = Callable[[DurableEngine, ClaimedTask, dict[str, Any]], object]


def unreachable() -> object:
    raise AssertionError("the step was computed for a holder whose claim is lost")


CALLS: dict[str, Call] = {
    "complete": lambda e, t, by: e.complete_run(run_id=t.run_id, result="stale", **by),
    "fail": lambda e, t, by: e.fail_run(run_id=t.run_id, reason={"stale": True}, **by),
    "fail for good": lambda e, t, by: e.fail_run(run_id=t.run_id, reason={}, retryable=False, **by),
    "give back": lambda e, t, by: e.give_back_run(run_id=t.run_id, **by),
    "defer": lambda e, t, by: e.defer_run(run_id=t.run_id, **by),
    "extend": lambda e, t, by: e.extend_claim(run_id=t.run_id, by_secs=900, **by),
    "wait": lambda e, t, by: e.wait_for_event(
        run_id=t.run_id, task_id=t.task_id, step_name="s", event_name="e", timeout_secs=5, **by
    ),
    "wait without end": lambda e, t, by: e.await_event(
        run_id=t.run_id, task_id=t.task_id, step_name="s", event_name="e", **by
    ),
    "wait for what has happened": lambda e, t, by: e.await_event(
        run_id=t.run_id, task_id=t.task_id, step_name="s", event_name="happened", **by
    ),
    "sleep": lambda e, t, by: e.sleep(run_id=t.run_id, task_id=t.task_id, step_name="s", seconds=5, **by),
    "sleep no time": lambda e, t, by: e.sleep(
        run_id=t.run_id, task_id=t.task_id, step_name="s", seconds=0, **by
    ),
    "checkpoint": lambda e, t, by: e.checkpoint(
        task_id=t.task_id, step_name="c", fn=unreachable, owner_run_id=t.run_id, **by
    ),
    "checkpoint that is there": lambda e, t, by: e.checkpoint(
        task_id=t.task_id, step_name="done", fn=unreachable, owner_run_id=t.run_id, **by
    ),
}


def reclaimed(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    clock.advance(61)
    engine.spawn_task(name="other", params=None, priority=9)
    assert claim(engine).name == "other"


def claimed_again(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    clock.advance(61)
    assert claim(engine).run_id == task.run_id


def completed_elsewhere(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    claimed_again(engine, clock, task)
    engine.complete_run(run_id=task.run_id, result="the new holder's")


def failed_elsewhere_and_retried(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    claimed_again(engine, clock, task)
    engine.fail_run(run_id=task.run_id, reason={"by": "the new holder"})
    assert claim(engine).attempt == 2


def failed_for_good(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    engine.fail_run(run_id=task.run_id, reason={}, retryable=False)


def cancelled(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    engine.cancel_task(task.task_id)


def cancelled_and_requeued(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    engine.cancel_task(task.task_id)
    engine.requeue_task(task.task_id)
    claim(engine)


def failed_and_requeued(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    failed_for_good(engine, clock, task)
    engine.requeue_task(task.task_id)


def parked(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    suspended, _ = engine.await_event(
        run_id=task.run_id, task_id=task.task_id, step_name="p", event_name="never"
    )
    assert suspended


def parked_woken_and_claimed(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    parked(engine, clock, task)
    engine.emit_event(event_name="never")
    assert claim(engine).run_id == task.run_id


def given_back(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    engine.give_back_run(run_id=task.run_id)


def deferred(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    engine.defer_run(run_id=task.run_id)


def poisoned(engine: DurableEngine, clock: ManualClock, task: ClaimedTask) -> None:
    """Reclaimed until its task failed as a poison run; the tests spawn with max_reclaims=1."""
    claimed_again(engine, clock, task)
    clock.advance(200)
    assert engine.claim_task(worker_id="w3") is None


FATES: dict[str, tuple[Callable[[DurableEngine, ManualClock, ClaimedTask], None], type[EngineError]]] = {
    fate.__name__: (fate, error)
    for fate, error in [
        (reclaimed, LeaseLost),
        (claimed_again, LeaseLost),
        (completed_elsewhere, LeaseLost),
        (failed_elsewhere_and_retried, LeaseLost),
        (failed_for_good, LeaseLost),
        (failed_and_requeued, LeaseLost),
        (parked, LeaseLost),
        (parked_woken_and_claimed, LeaseLost),
        (given_back, LeaseLost),
        (deferred, LeaseLost),
        (poisoned, LeaseLost),
        (cancelled, TaskCancelledError),
        (cancelled_and_requeued, TaskCancelledError),
    ]
}


def lost(engine: DurableEngine, clock: ManualClock, fate: str) -> ClaimedTask:
    """A claim that has met its fate, with a finished step and an event that has happened."""
    task = started(engine, lease=60, max_reclaims=1)
    engine.checkpoint(task_id=task.task_id, step_name="done", fn=lambda: 1, owner_run_id=task.run_id)
    engine.emit_event(event_name="happened", payload=1)
    FATES[fate][0](engine, clock, task)
    return task


def refusal(call: str, engine: DurableEngine, task: ClaimedTask, by: dict[str, Any]) -> EngineError:
    """The error of a call that has to be refused."""
    try:
        CALLS[call](engine, task, by)
    except EngineError as error:
        return error
    raise AssertionError(f"{call} was not refused")


@pytest.mark.parametrize("fate", FATES)
def test_a_stale_token_changes_nothing(
    engine: DurableEngine, clock: ManualClock, path: Path, fate: str
) -> None:
    task = lost(engine, clock, fate)
    before = dump(path)
    for call in CALLS:
        error = refusal(call, engine, task, {"claim_token": task.claim_token})
        assert type(error) is FATES[fate][1], call
        assert task.run_id in str(error), call
        assert dump(path) == before, call


@pytest.mark.parametrize("fate", FATES)
def test_a_stale_context_changes_nothing(
    engine: DurableEngine, clock: ManualClock, path: Path, fate: str
) -> None:
    task = lost(engine, clock, fate)
    before = dump(path)
    for call in CALLS:
        with holding(engine, task) as current:
            error = refusal(call, engine, task, {})
        assert type(error) is FATES[fate][1], call
        assert dump(path) == before, call
        assert not current.ended, call


@pytest.mark.parametrize("token", [0, -1, 2, 10**6])
def test_a_token_that_was_never_handed_out_changes_nothing(
    engine: DurableEngine, path: Path, token: int
) -> None:
    task = started(engine)
    before = dump(path)
    for call in CALLS:
        assert type(refusal(call, engine, task, {"claim_token": token})) is LeaseLost, call
        assert dump(path) == before, call


@pytest.mark.parametrize("token", [True, 1.0, "1"], ids=["bool", "float", "text"])
def test_a_token_of_another_type_is_refused(engine: DurableEngine, path: Path, token: Any) -> None:
    task = started(engine)
    before = dump(path)
    for call in CALLS:
        assert type(refusal(call, engine, task, {"claim_token": token})) is InvalidValue, call
        assert dump(path) == before, call


@pytest.mark.parametrize(
    "fate", ["reclaimed", "completed_elsewhere", "failed_for_good", "parked", "given_back"]
)
def test_a_call_by_nobody_needs_a_running_run(
    engine: DurableEngine, clock: ManualClock, path: Path, fate: str
) -> None:
    task = lost(engine, clock, fate)
    before = dump(path)
    for call in CALLS:
        if not call.startswith("checkpoint"):
            assert type(refusal(call, engine, task, {})) is InvalidRunState, call
            assert dump(path) == before, call


def test_a_call_by_nobody_on_a_running_run_is_unfenced(engine: DurableEngine, clock: ManualClock) -> None:
    task = lost(engine, clock, "claimed_again")
    engine.complete_run(run_id=task.run_id, result="nobody's")
    assert engine.get_task(task.task_id).result == "nobody's"


def test_a_run_or_task_that_is_not_there_is_named(engine: DurableEngine, path: Path) -> None:
    ghost = ClaimedTask(run_id="no-run", task_id="no-task", attempt=1, name="job", params=None)
    before = dump(path)
    for call in CALLS:
        for by in ({}, {"claim_token": 1}):
            error = refusal(call, engine, ghost, by)
            assert type(error) is TaskNotFound, call
            assert "no-run" in str(error) or "no-task" in str(error), call
            assert dump(path) == before, call


def test_a_claim_is_current_for_its_own_engine_and_run_only(
    engine: DurableEngine, clock: ManualClock, path: Path
) -> None:
    stale = lost(engine, clock, "claimed_again")
    other = started(engine)
    engine.give_back_run(run_id=other.run_id)
    assert claim(engine).claim_token != stale.claim_token
    second = DurableEngine(path, clock=clock)
    with holding(engine, stale):
        engine.complete_run(run_id=other.run_id)
        second.complete_run(run_id=stale.run_id)
    second.close()


def test_the_explicit_token_counts_before_the_current_claim(
    engine: DurableEngine, clock: ManualClock
) -> None:
    stale = lost(engine, clock, "reclaimed")
    live = claim(engine)
    with holding(engine, stale):
        engine.complete_run(run_id=live.run_id, claim_token=live.claim_token)


def test_claims_nest_and_are_put_back(engine: DurableEngine, clock: ManualClock) -> None:
    stale = lost(engine, clock, "claimed_again")
    live = started(engine)
    with holding(engine, stale):
        with holding(engine, live):
            engine.complete_run(run_id=live.run_id)
        with pytest.raises(LeaseLost):
            engine.complete_run(run_id=stale.run_id)
    engine.complete_run(run_id=stale.run_id)


def on_a_thread(call: Callable[[], object]) -> BaseException | None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except EngineError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return raised[0] if raised else None


def test_a_thread_of_a_handler_is_fenced_only_if_it_is_given_the_context(
    engine: DurableEngine, clock: ManualClock
) -> None:
    stale = lost(engine, clock, "claimed_again")

    def complete() -> None:
        engine.complete_run(run_id=stale.run_id, result="from the thread")

    with holding(engine, stale):
        context = contextvars.copy_context()
        assert isinstance(on_a_thread(lambda: context.run(complete)), LeaseLost)
        assert engine.get_task(stale.task_id).state == "running"
        assert on_a_thread(complete) is None
    assert engine.get_task(stale.task_id).result == "from the thread"


def test_the_holder_is_captured_before_the_call_waits_for_its_turn(
    engine: DurableEngine, clock: ManualClock
) -> None:
    """While one thread keeps the write lock, others queue, each with its own claim; the batch keeps them apart."""
    stale = lost(engine, clock, "claimed_again")
    tasks = [started(engine) for _ in range(6)]
    held, waiting = threading.Event(), threading.Barrier(8)
    outcomes: dict[str, BaseException | None] = {}

    def hold(_: object) -> int:
        held.set()
        waiting.wait(60)
        return 1

    def settle(task: ClaimedTask) -> None:
        with holding(engine, task):
            waiting.wait(60)
            try:
                engine.complete_run(run_id=task.run_id)
                outcomes[task.run_id] = None
            except EngineError as error:
                outcomes[task.run_id] = error
        engine.close()

    leader = threading.Thread(target=lambda: engine.update_state(namespace="n", key="k", fn=hold))
    leader.start()
    assert held.wait(60)
    threads = [threading.Thread(target=settle, args=(task,)) for task in (*tasks, stale)]
    for thread in threads:
        thread.start()
    for thread in (leader, *threads):
        thread.join(60)
    assert [outcomes[task.run_id] for task in tasks] == [None] * 6
    assert isinstance(outcomes[stale.run_id], LeaseLost)
