"""One run through its handler: every way out of a handler is an outcome in the store."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import threading
from typing import Any

import pytest

from conftest import ManualClock
from dura import ClaimedTask, DurableEngine, RetryStrategy, WorkflowSuspended, process_task


def claimed(engine: DurableEngine, **spawn: Any) -> ClaimedTask:
    engine.spawn_task(name="job", params={"n": 1}, **spawn)
    task = engine.claim_task(worker_id="w")
    assert task is not None
    return task


def test_what_the_handler_returns_is_the_task_result(engine: DurableEngine) -> None:
    task = claimed(engine)
    process_task(engine, handlers={"job": lambda _, t: {"got": t.params["n"]}}, task=task)
    info = engine.get_task(task.task_id)
    assert (info.state, info.result) == ("completed", {"got": 1})


def test_a_raised_exception_is_kept_with_type_message_and_traceback(engine: DurableEngine) -> None:
    task = claimed(engine, max_attempts=1)

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        raise LookupError("no such order")

    process_task(engine, handlers={"job": handler}, task=task)
    reason = engine.get_task(task.task_id).failure_reason
    assert (reason["type"], reason["message"]) == ("LookupError", "no such order")
    assert 'raise LookupError("no such order")' in reason["traceback"]


def test_a_huge_message_and_traceback_are_bounded_with_both_ends_kept(engine: DurableEngine) -> None:
    task = claimed(engine, max_attempts=1)

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        raise ValueError("begin" + "x" * 1_000_000 + "end")

    process_task(engine, handlers={"job": handler}, task=task)
    reason = engine.get_task(task.task_id).failure_reason
    assert len(reason["message"]) < 3_000
    assert len(reason["traceback"]) < 9_000
    assert reason["message"].startswith("begin")
    assert reason["message"].endswith("end")


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), KeyboardInterrupt()])
def test_an_exit_in_a_handler_on_a_worker_thread_costs_the_attempt_only(
    engine: DurableEngine, error: BaseException
) -> None:
    task = claimed(engine, max_attempts=1)

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        raise error

    def work() -> None:
        process_task(engine, handlers={"job": handler}, task=task)
        engine.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    info = engine.get_task(task.task_id)
    assert (info.state, info.failure_reason["type"]) == ("failed", type(error).__name__)


def test_ctrl_c_on_the_main_thread_gives_the_run_back_and_is_raised_again(engine: DurableEngine) -> None:
    task = claimed(engine, max_attempts=1)

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process_task(engine, handlers={"job": handler}, task=task)
    again = engine.claim_task(worker_id="w2")
    assert again is not None
    assert (again.run_id, again.attempt, again.reclaims) == (task.run_id, 1, 0)


@pytest.mark.parametrize(
    ("told_by", "broken"),
    [
        ("__str__", RuntimeError),
        ("__str__", SystemExit),
        ("__str__", GeneratorExit),
        ("__notes__", RuntimeError),
    ],
)
def test_an_exception_that_cannot_be_told_still_fails_the_attempt(
    engine: DurableEngine, told_by: str, broken: type[BaseException]
) -> None:
    task = claimed(engine, max_attempts=1)

    def tell(self: Exception) -> str:
        raise broken

    mute = type("Mute", (Exception,), {told_by: property(tell) if told_by == "__notes__" else tell})

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        raise mute

    process_task(engine, handlers={"job": handler}, task=task)
    assert engine.get_task(task.task_id).failure_reason["type"] == "Mute"


@pytest.mark.parametrize("result", [object(), float("nan"), {1, 2}, {"deep": [b"bytes"]}])
def test_a_result_that_json_cannot_hold_fails_the_attempt_with_the_reason(
    engine: DurableEngine, result: object
) -> None:
    task = claimed(engine, max_attempts=1)
    process_task(engine, handlers={"job": lambda *_: result}, task=task)
    info = engine.get_task(task.task_id)
    assert (info.state, info.failure_reason["type"]) == ("failed", "NotStorable")
    assert task.run_id in info.failure_reason["message"]


def test_a_checkpoint_that_json_cannot_hold_fails_the_attempt(engine: DurableEngine) -> None:
    task = claimed(engine, max_attempts=1)

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        engine.checkpoint(task_id=task.task_id, step_name="s", fn=object)

    process_task(engine, handlers={"job": handler}, task=task)
    assert engine.get_task(task.task_id).failure_reason["type"] == "NotStorable"
    assert engine.get_checkpoint(task_id=task.task_id, step_name="s") is None


def test_except_exception_in_a_handler_does_not_swallow_the_suspension(engine: DurableEngine) -> None:
    task = claimed(engine)
    went_on = []

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        try:
            engine.wait_for_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e")
        except Exception:  # noqa: BLE001
            went_on.append("refund")

    process_task(engine, handlers={"job": handler}, task=task)
    assert went_on == []
    assert engine.get_task(task.task_id).state == "sleeping"


def test_a_handler_that_swallows_the_suspension_is_reported_and_not_completed(
    engine: DurableEngine, caplog: pytest.LogCaptureFixture
) -> None:
    task = claimed(engine)

    def handler(engine: DurableEngine, task: ClaimedTask) -> str:
        with contextlib.suppress(BaseException):
            engine.wait_for_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e")
        return "done"

    with caplog.at_level(logging.ERROR, "dura.workers"):
        process_task(engine, handlers={"job": handler}, task=task)
    assert engine.get_task(task.task_id).state == "sleeping"
    assert "swallowed WorkflowSuspended" in caplog.text
    assert task.task_id in caplog.text


def test_await_event_lets_a_handler_return_after_parking(
    engine: DurableEngine, caplog: pytest.LogCaptureFixture
) -> None:
    task = claimed(engine)

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        suspended, _ = engine.await_event(
            run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e"
        )
        assert suspended

    with caplog.at_level(logging.WARNING, "dura.workers"):
        process_task(engine, handlers={"job": handler}, task=task)
    assert engine.get_task(task.task_id).state == "sleeping"
    assert caplog.text == ""


def test_a_suspension_without_a_parked_run_fails_the_attempt(engine: DurableEngine) -> None:
    task = claimed(engine, max_attempts=1)

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        raise WorkflowSuspended

    process_task(engine, handlers={"job": handler}, task=task)
    assert engine.get_task(task.task_id).failure_reason["type"] == "WorkflowSuspended"


def test_an_unknown_name_fails_for_good_without_a_pool(engine: DurableEngine) -> None:
    task = claimed(engine)
    process_task(engine, handlers={}, task=task)
    info = engine.get_task(task.task_id)
    assert (info.state, info.failure_reason["type"]) == ("failed", "UnknownTaskName")


def test_a_cancelled_task_stops_at_its_next_step_and_stays_cancelled(engine: DurableEngine) -> None:
    task = claimed(engine)
    ran = []

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        engine.checkpoint(task_id=task.task_id, step_name="one", fn=lambda: ran.append("one"))
        engine.cancel_task(task.task_id)
        engine.checkpoint(task_id=task.task_id, step_name="two", fn=lambda: ran.append("two"))

    process_task(engine, handlers={"job": handler}, task=task)
    assert ran == ["one"]
    assert engine.get_task(task.task_id).state == "cancelled"


def test_the_handlers_calls_are_fenced_without_passing_a_token(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = claimed(engine)
    ran = []

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        clock.advance(121)
        assert engine.claim_task(worker_id="faster") is not None
        engine.checkpoint(task_id=task.task_id, step_name="late", fn=lambda: ran.append("late"))

    process_task(engine, handlers={"job": handler}, task=task)
    assert ran == []
    assert engine.get_task(task.task_id).state == "running"


def test_threads_of_a_handler_are_fenced_only_by_token_or_copied_context(
    engine: DurableEngine, clock: ManualClock
) -> None:
    task = claimed(engine)
    outcomes: dict[str, str] = {}

    def step(label: str, **token: Any) -> None:
        try:
            engine.checkpoint(
                task_id=task.task_id, step_name=label, fn=lambda: label, owner_run_id=task.run_id, **token
            )
            outcomes[label] = "kept"
        except Exception as error:  # noqa: BLE001
            outcomes[label] = type(error).__name__
        finally:
            engine.close()

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        clock.advance(121)
        assert engine.claim_task(worker_id="faster") is not None
        context = contextvars.copy_context()
        threads = [
            threading.Thread(target=step, args=("bare",)),
            threading.Thread(target=context.run, args=(step, "copied")),
            threading.Thread(target=step, args=("token",), kwargs={"claim_token": task.claim_token}),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    process_task(engine, handlers={"job": handler}, task=task)
    assert outcomes == {"bare": "kept", "copied": "LeaseLost", "token": "LeaseLost"}


def test_a_failed_attempt_is_retried_after_its_strategy(engine: DurableEngine, clock: ManualClock) -> None:
    task = claimed(
        engine, retry=RetryStrategy(kind="fixed", base_seconds=60, jitter_factor=0), max_attempts=2
    )
    process_task(engine, handlers={"job": lambda *_: 1 / 0}, task=task)
    assert engine.claim_task(worker_id="w") is None
    clock.advance(60)
    again = engine.claim_task(worker_id="w")
    assert again is not None
    assert again.attempt == 2
    process_task(engine, handlers={"job": lambda *_: 1 / 0}, task=again)
    assert engine.get_task(task.task_id).state == "failed"


def test_a_handler_may_settle_its_own_run_without_a_warning(
    engine: DurableEngine, caplog: pytest.LogCaptureFixture
) -> None:
    task = claimed(engine)

    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        engine.fail_run(run_id=task.run_id, reason={"type": "Hopeless"}, retryable=False)

    with caplog.at_level(logging.WARNING, "dura.workers"):
        process_task(engine, handlers={"job": handler}, task=task)
    info = engine.get_task(task.task_id)
    assert (info.state, info.failure_reason) == ("failed", {"type": "Hopeless"})
    assert caplog.text == ""


def test_a_settling_that_is_rolled_back_leaves_the_run_to_the_worker(engine: DurableEngine) -> None:
    task = claimed(engine, max_attempts=1)

    def handler(engine: DurableEngine, task: ClaimedTask) -> str:
        def settle_and_fail(value: object) -> None:
            engine.complete_run(run_id=task.run_id)
            raise LookupError

        with contextlib.suppress(LookupError):
            engine.update_state(namespace="n", key="k", fn=settle_and_fail)
        return "done by the worker"

    process_task(engine, handlers={"job": handler}, task=task)
    assert engine.get_task(task.task_id).result == "done by the worker"
