"""Handlers for pools of several processes, and a program of them: `python spread.py STORE [LEASE [GRACE]]`.

What they do they write to the ledger in the folder that their params name, a line at a time, with the process that did it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from dura import ClaimedTask, DurableEngine, run_workers

if __name__ in ("__main__", "__mp_main__"):
    logging.basicConfig(level=logging.INFO, format="%(process)d %(message)s")


def note(task: ClaimedTask, line: str) -> None:
    with Path(task.params["folder"], "ledger").open("a") as ledger:
        ledger.write(f"{line} {os.getpid()}\n")


def tell(engine: DurableEngine, task: ClaimedTask) -> int:
    """Return the process that runs it."""
    return os.getpid()


def hold(engine: DurableEngine, task: ClaimedTask) -> str:
    """Begin, wait for FOLDER/go, end."""
    engine.checkpoint(task_id=task.task_id, step_name="first", fn=lambda: note(task, "first"))
    note(task, "begins")
    deadline = time.monotonic() + 60
    while not Path(task.params["folder"], "go").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    note(task, "ends")
    return f"attempt {task.attempt}"


def keep_the_interpreter(engine: DurableEngine, task: ClaimedTask) -> None:
    """Hang, without ever letting another thread of the process run."""
    note(task, "begins")
    re.match("(a+)+$", "a" * 100 + "b")


def start_a_program(engine: DurableEngine, task: ClaimedTask) -> int:
    """Start a program that SIGTERM should end, and return how it ended."""
    ends_itself = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    return subprocess.run([sys.executable, "-c", ends_itself], check=False).returncode


def end_a_child(engine: DurableEngine, task: ClaimedTask) -> int | None:
    """Fork a child, end it as multiprocessing does, and return how it ended."""
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    child.terminate()
    child.join()
    return child.exitcode


HANDLERS = {
    "tell": tell,
    "hold": hold,
    "keep_the_interpreter": keep_the_interpreter,
    "start_a_program": start_a_program,
    "end_a_child": end_a_child,
}


def main(store: str, lease: str = "3600", grace: str = "30") -> None:
    run_workers(
        DurableEngine(store, create=False),
        handlers=HANDLERS,
        worker_count=2,
        processes=2,
        claim_timeout_secs=float(lease),
        shutdown_grace_secs=float(grace),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
