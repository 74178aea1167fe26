"""An id or a key of another type is the caller's mistake, and is called that: never an error of the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import dump, started
from dura import ActionRefused, DurableEngine, InvalidValue, TaskNotFound

CALLS: dict[str, Callable[[DurableEngine, Any], object]] = {
    "complete_run": lambda e, x: e.complete_run(run_id=x),
    "fail_run": lambda e, x: e.fail_run(run_id=x, reason={}),
    "give_back_run": lambda e, x: e.give_back_run(run_id=x),
    "defer_run": lambda e, x: e.defer_run(run_id=x),
    "extend_claim": lambda e, x: e.extend_claim(run_id=x, by_secs=1),
    "checkpoint": lambda e, x: e.checkpoint(task_id=x, step_name="s", fn=lambda: 1),
    "get_checkpoint": lambda e, x: e.get_checkpoint(task_id=x, step_name="s"),
    "wait_for_event": lambda e, x: e.wait_for_event(run_id=x, task_id="t", step_name="s", event_name="e"),
    "await_event": lambda e, x: e.await_event(run_id="r", task_id=x, step_name="s", event_name="e"),
    "sleep": lambda e, x: e.sleep(run_id=x, task_id="t", step_name="s", seconds=1),
    "cancel_task": lambda e, x: e.cancel_task(x),
    "requeue_task": lambda e, x: e.requeue_task(x),
    "wake_task": lambda e, x: e.wake_task(x),
    "get_task": lambda e, x: e.get_task(x),
    "cancel_duplicate_tasks": lambda e, x: e.cancel_duplicate_tasks(x),
    "get_state namespace": lambda e, x: e.get_state(namespace=x, key="k"),
    "get_state key": lambda e, x: e.get_state(namespace="n", key=x),
    "has_state": lambda e, x: e.has_state(x),
    "list_state": lambda e, x: e.list_state(x),
}
SEEN: dict[str, Callable[[DurableEngine, str, Any], object]] = {
    "cancel, run": lambda e, task_id, x: e.cancel_task(task_id, seen_run_id=x),
    "cancel, token": lambda e, task_id, x: e.cancel_task(task_id, seen_claim_token=x),
    "requeue": lambda e, task_id, x: e.requeue_task(task_id, seen_run_id=x),
    "requeue, step": lambda e, task_id, x: e.requeue_task(task_id, from_step=x),
    "wake": lambda e, task_id, x: e.wake_task(task_id, seen_run_id=x),
    "emit": lambda e, _, x: e.emit_event(event_name="e", seen_run_id=x),
}


@pytest.mark.parametrize(
    "wrong", [object(), 5, b"id", ["id"], "\ud800"], ids=["object", "int", "bytes", "list", "surrogate"]
)
def test_what_is_no_id_is_refused_as_such(engine: DurableEngine, path: Path, wrong: Any) -> None:
    task = started(engine)
    before = dump(path)
    for call in CALLS.values():
        with pytest.raises(InvalidValue):
            call(engine, wrong)
    assert dump(path) == before
    for name, seen in SEEN.items():
        if not (name == "cancel, token" and isinstance(wrong, int)):
            with pytest.raises(InvalidValue):
                seen(engine, task.task_id, wrong)
    assert dump(path) == before


@pytest.mark.parametrize("unknown", ["", "x" * 10_000, "' OR 1=1 --", "\x00", "ü"], ids=repr)
def test_an_id_that_names_nothing_is_not_found(engine: DurableEngine, path: Path, unknown: str) -> None:
    started(engine)
    before = dump(path)
    for name, call in CALLS.items():
        if name in ("get_checkpoint", "get_state namespace", "get_state key", "has_state", "list_state"):
            assert call(engine, unknown) in (None, False, {}), name
        elif name != "cancel_duplicate_tasks":
            with pytest.raises((TaskNotFound, InvalidValue)):
                call(engine, unknown)
    with pytest.raises(ActionRefused):
        engine.cancel_task(started(engine).task_id, seen_run_id=unknown or "-")
    engine.cancel_duplicate_tasks("job")
    assert dump(path)["events"] == before["events"]
