"""What the fuzzers stand on: how many examples they draw, and a store with a task in each state."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, settings

from conftest import claim, rows
from dura import DurableEngine, WorkflowSuspended
from fuzz.calls import Facts
from fuzz.values import returning

SOAK: Final = bool(os.environ.get("DURA_TEST_SOAK"))

EXAMPLES: Final = int(os.environ.get("DURA_TEST_EXAMPLES", "500")) if SOAK else 25
"""Of each call."""

SETTINGS: Final = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not SOAK,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def fill(engine: DurableEngine) -> Facts:
    """A task in each state."""

    def started(**options: Any) -> Any:
        engine.spawn_task(**{"name": "job", "params": {"a": 1}, **options})
        return claim(engine, timeout_secs=1e9)

    done = started()
    engine.complete_run(run_id=done.run_id, result=[1])
    failed = started(max_attempts=1)
    engine.checkpoint(task_id=failed.task_id, step_name="load", fn=returning(3))
    engine.fail_run(run_id=failed.run_id, reason={"type": "E"})
    waiting, napping = started(idempotency_key="ord_1"), started()
    with pytest.raises(WorkflowSuspended):
        engine.wait_for_event(
            run_id=waiting.run_id, task_id=waiting.task_id, step_name="approval", event_name="approved:ord_1"
        )
    with pytest.raises(WorkflowSuspended):
        engine.sleep(run_id=napping.run_id, task_id=napping.task_id, step_name="nap", seconds=50)
    engine.cancel_task(engine.spawn_task(name="mail", params=None).task_id)
    started()
    engine.spawn_task(name="mail", params=None)
    engine.emit_event(event_name="catalog.ready", payload=1)
    engine.set_state(namespace="feeds", key="cursor", value={"page": 1})
    engine.spawn_task(name="mail", params=None, available_after=timedelta(days=1))
    path = Path(engine.db_path)
    latest = rows(path, "SELECT task_id, last_attempt_run FROM tasks ORDER BY rowid")
    running = rows(path, "SELECT run_id FROM runs WHERE state = 'running'")
    return Facts(dict(latest), tuple(run_id for (run_id,) in running))
