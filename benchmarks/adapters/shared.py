"""What dura and dura 1.3.0 have in common: the same public names, here of whichever `dura` the environment has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from benchmarks.adapters import Job, no_steps
from dura import ClaimedTask, DurableEngine

Handler = Callable[[DurableEngine, ClaimedTask], None]


class Engine:
    """An open store of either."""

    def __init__(self, path: str, engine: DurableEngine) -> None:
        self.file = path
        self.engine = engine

    def spawn(self, params: Any, *, steps: bool = False) -> None:
        self.engine.spawn_task(name="steps" if steps else "plain", params=params)

    def claim(self) -> bool:
        """Claim a run, for an hour."""
        return self.engine.claim_task(worker_id="bench", timeout_secs=3600) is not None

    def done(self) -> int:
        """How many tasks are completed, by the store."""
        return self.engine.task_counts_by_state().get("completed", 0)

    def cleanup(self) -> int:
        """Remove every terminal task."""
        return self.engine.cleanup(ttl=timedelta(0))

    def close(self) -> None:
        self.engine.close()


def handlers(job: Job) -> Mapping[str, Handler]:
    """The handlers of tasks with and without steps, which hand the job what it needs and no more.

    If the job is a function of a module, other processes can be handed them.
    """
    return {"plain": partial(_plain, job), "steps": partial(_steps, job)}


def _plain(job: Job, engine: DurableEngine, task: ClaimedTask) -> None:
    job(task.params, no_steps)


def _steps(job: Job, engine: DurableEngine, task: ClaimedTask) -> None:
    job(task.params, partial(_step, engine, task.task_id))


def _step(engine: DurableEngine, task_id: str, name: str, compute: Callable[[], Any]) -> Any:
    return engine.checkpoint(task_id=task_id, step_name=name, fn=compute)
