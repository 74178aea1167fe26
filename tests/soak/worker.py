"""A program of workers that is killed: `python worker.py STORE WORKERS PROCESSES LEASE`.

Its tasks are orders of three steps with an effect outside, a sleep for some, a failed attempt for some, and a wait for what
another program emits for some.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import time
from pathlib import Path
from typing import Final

if __name__ in ("__main__", "__mp_main__"):
    sys.path.insert(0, str(Path(__file__).parents[1]))

from dura import ClaimedTask, DurableEngine, EngineError, run_workers
from soak.ledger import Ledger

SLEEPS: Final = 5
FAILS: Final = 7
WAITS: Final = 4
"""Of how many orders one does."""

_STEP_SECONDS: Final = 0.02
"""After an effect, while a kill lets it be had again; and before the end, while a stop lets it come too late."""

_numbers: Final = itertools.count()


class DeclinedError(Exception):
    """Why a first attempt fails."""


def order(engine: DurableEngine, task: ClaimedTask) -> list[str]:
    number = task.params["number"]
    values = [step(engine, task, "reserve")]
    if number % SLEEPS == 0:
        engine.sleep(run_id=task.run_id, task_id=task.task_id, step_name="pause", seconds=0.05)
    values.append(step(engine, task, "charge"))
    if number % FAILS == 0 and task.attempt == 1:
        raise DeclinedError(f"order {number} is declined once")
    if number % WAITS == 0:
        approved = engine.wait_for_event(
            run_id=task.run_id, task_id=task.task_id, step_name="approval", event_name=f"approved:{number}"
        )
        values.append(f"approved-{approved}")
    values.append(step(engine, task, "ship"))
    time.sleep(_STEP_SECONDS)
    return values


def step(engine: DurableEngine, task: ClaimedTask, name: str) -> str:
    """A step with an effect outside, all of which the ledger is told."""
    ledger = Ledger(Path(task.params["ledger"]))
    about = task.task_id, name, task.attempt, task.claim_token, os.getpid()

    def effect() -> str:
        value = f"{os.getpid()}-{next(_numbers)}"
        ledger.write("did", *about, value)
        time.sleep(_STEP_SECONDS)
        return value

    try:
        kept = engine.checkpoint(task_id=task.task_id, step_name=name, fn=effect)
    except EngineError as error:
        ledger.write("lost", *about, type(error).__name__)
        raise
    ledger.write("kept", *about, kept)
    return kept


def main(store: str, workers: str, processes: str, lease: str) -> None:
    logging.basicConfig(level=logging.ERROR, format="%(process)d %(message)s")
    run_workers(
        DurableEngine(store, create=False),
        handlers={"order": order},
        worker_count=int(workers),
        processes=int(processes),
        claim_timeout_secs=float(lease),
        poll_interval=0.5,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
