"""A worker process for the crash tests: `python pool_process.py STORE FOLDER [LEASE_SECONDS [GRACE_SECONDS]]`.

Its handlers write what they do to FOLDER/ledger, a line at a time, and stop in the middle of a step until FOLDER/go exists.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from functools import partial
from pathlib import Path

from dura import ClaimedTask, DurableEngine, run_workers


def main(store: str, folder: str, lease: str = "1", grace: str = "30") -> None:
    logging.basicConfig(level=logging.INFO)

    def note(line: str) -> str:
        with Path(folder, "ledger").open("a") as ledger:
            ledger.write(f"{line} {os.getpid()}\n")
        return line

    def stop_until_go() -> str:
        note("second-begins")
        deadline = time.monotonic() + 60
        while not Path(folder, "go").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return note("second-ends")

    def two_steps(engine: DurableEngine, task: ClaimedTask) -> dict[str, object]:
        first = engine.checkpoint(task_id=task.task_id, step_name="first", fn=lambda: note("first"))
        second = engine.checkpoint(task_id=task.task_id, step_name="second", fn=stop_until_go)
        return {"steps": [first, second], "attempt": task.attempt}

    def count(engine: DurableEngine, task: ClaimedTask) -> int:
        for step in range(3):
            line = f"task-{task.params}-step-{step}"
            engine.checkpoint(task_id=task.task_id, step_name=f"step-{step}", fn=partial(note, line))
        return int(task.params) * 2

    run_workers(
        DurableEngine(store, create=False),
        handlers={"two_steps": two_steps, "count": count},
        worker_count=2,
        claim_timeout_secs=float(lease),
        shutdown_grace_secs=float(grace),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
