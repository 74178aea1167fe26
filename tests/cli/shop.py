"""A small store with a task in every situation that the command tells apart, and the command run on it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from conftest import claim, started
from dura import DurableEngine, RetryStrategy, WorkflowSuspended
from dura.cli import main

NASTY = "[/bold] \x1b[31mred\x1b[0m\nsecond line \u202e!"
"""A message that would be markup, colour, a line break and an override if anybody let it."""


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command(Protocol):
    def __call__(self, *arguments: str | Path) -> Done: ...


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Done:
    """Run the command in this process."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return Done(code, out, err)


@dataclass(frozen=True)
class Shop:
    """The store and the ids of its tasks."""

    path: Path
    waiting: str
    """Sleeps on approved:ord_1 at its step `approval`, two steps being finished."""
    failed: str
    cancelled: str
    completed: str
    running: str
    backing_off: str
    delayed: str
    pending: str


def stock(path: Path) -> Shop:
    """Make the store. Its engine is closed: only the command has it open."""
    engine = DurableEngine(path)
    try:
        return _stocked(engine, path)
    finally:
        engine.close()


def _stocked(engine: DurableEngine, path: Path) -> Shop:
    waiting = started(
        engine, name="charge_order", params={"order_id": "ord_1"}, idempotency_key="charge:ord_1",
        queue="orders", steps=["reserve", "charge", "approval"], max_attempts=5,
    )  # fmt: skip
    for step, value in (("reserve", {"items": 2}), ("charge", "ch_1")):
        engine.checkpoint(task_id=waiting.task_id, step_name=step, fn=partial(_same, value))
    with contextlib.suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=waiting.run_id, task_id=waiting.task_id, step_name="approval",
            event_name="approved:ord_1", timeout_secs=3600,
        )  # fmt: skip
    failed = started(engine, name="import_report", max_attempts=1)
    for step in ("load", "parse", "store"):
        engine.checkpoint(task_id=failed.task_id, step_name=step, fn=partial(_same, step))
    reason = {
        "type": "ValueError",
        "message": NASTY,
        "traceback": f"Traceback\n  line 1\nValueError: {NASTY}",
    }
    engine.fail_run(run_id=failed.run_id, reason=reason)
    cancelled = engine.spawn_task(name="remind", params=None)
    engine.cancel_task(cancelled.task_id)
    completed = started(engine, name="charge_order", params=[1, "snowman ☃"], queue="orders")
    engine.complete_run(run_id=completed.run_id, result={"charged": 7})
    backing_off = started(
        engine,
        name="sync",
        retry=RetryStrategy(kind="fixed", base_seconds=1800, jitter_factor=0),
        max_attempts=4,
    )
    engine.fail_run(run_id=backing_off.run_id, reason={"type": "TimeoutError", "message": "no answer"})
    delayed = engine.spawn_task(name="remind", params={"who": "ben"}, available_after=timedelta(hours=5))
    running = started(engine, name="nightly", lease=600)
    pending = engine.spawn_task(name="remind", params={"who": "cy"}, priority=7)
    engine.set_state_many(namespace="poller", items={"cursor": {"page": 3}, "note": "plain"})
    engine.emit_event(event_name="rates:today", payload={"eur": 1})
    return Shop(
        path, waiting.task_id, failed.task_id, cancelled.task_id, completed.task_id, running.task_id,
        backing_off.task_id, delayed.task_id, pending.task_id,
    )  # fmt: skip


def _same(value: Any) -> Any:
    return value


def claim_and_fail(path: Path, name: str) -> None:
    """Let a worker claim the one task that is due and fail it for good."""
    engine = DurableEngine(path)
    task = claim(engine)
    assert task.name == name
    engine.fail_run(run_id=task.run_id, reason={"type": "Again"}, retryable=False)
    engine.close()
