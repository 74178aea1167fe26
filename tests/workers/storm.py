"""What the processes of a storm do to one store; imported by name in processes that multiprocessing starts."""

from __future__ import annotations

import time
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple

from dura import DurableEngine
from threads import together

THREADS: Final = 3


class Ending(NamedTuple):
    """A claim, and how it ended."""

    task_id: str
    run_id: str
    attempt: int
    token: int
    how: str


def storm(path: str, moment: float, seed: int) -> list[Ending]:
    """From that moment on claim on several threads, and complete, fail or give back, until there is nothing to claim."""
    engine = DurableEngine(path)
    endings: list[Ending] = []

    def work(worker: str) -> None:
        chance = Random(worker)
        while (task := engine.claim_task(worker_id=worker)) is not None:
            assert task.claim_token is not None
            how = chance.choice(("completed", "completed", "failed", "given back"))
            endings.append(Ending(task.task_id, task.run_id, task.attempt, task.claim_token, how))
            run: dict[str, Any] = {"run_id": task.run_id, "claim_token": task.claim_token}
            if how == "completed":
                engine.complete_run(**run, result=worker)
            elif how == "failed":
                engine.fail_run(**run, reason={"worker": worker})
            else:
                engine.give_back_run(**run)
        engine.close()

    _wait_for(moment)
    together(*(partial(work, f"{seed}-{number}") for number in range(THREADS)))
    return endings


def come_and_go(path: str, moment: float, seed: int, times: int) -> list[str]:
    """From that moment on open the store, spawn a task and close it again, so many times. Returns the tasks' ids."""
    _wait_for(moment)
    spawned = []
    for number in range(times):
        engine = DurableEngine(path)
        ref = engine.spawn_task(name="job", params=None, idempotency_key=f"{seed}-{number}")
        assert ref.created
        spawned.append(ref.task_id)
        engine.close()
    return spawned


def spawn_some(engine: DurableEngine, name: str, count: int) -> None:
    """Spawn so many tasks of a name."""
    for number in range(count):
        engine.spawn_task(name=name, params=number)


def _wait_for(moment: float) -> None:
    while time.monotonic() < moment:
        time.sleep(0.001)
