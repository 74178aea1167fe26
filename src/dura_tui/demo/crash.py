"""A worker that dies: a process of its own that claims a task, finishes one step, and is gone by SIGKILL in the next.

It stands for a native library that runs out of memory on one input. Nobody settles the run; its lease runs out, it is
taken back with the same attempt, and the next process dies of it too, until `max_reclaims` fails it as a poison run.

Run as `python -m dura_tui.demo.crash PATH`, which is what `crash` does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from random import Random
from typing import Final

from dura import DurableEngine
from dura.workers.worker import default_worker_id

_QUEUE: Final = "thumbnails"
"""Served by no other worker."""

_LEASE_SECONDS: Final = 12.0
_MAX_RECLAIMS: Final = 2
_PATIENCE_SECONDS: Final = 3.0
_PHOTOS: Final = ("kettle.tiff", "tent-panorama.tiff", "desk-360.tiff", "lamp.raw")


def spawn_photo(engine: DurableEngine, dice: Random) -> None:
    """Spawn a task that kills whoever runs it."""
    engine.spawn_task(
        name="render_thumbnails",
        params={"photo": dice.choice(_PHOTOS), "megapixels": dice.randint(400, 900)},
        queue=_QUEUE,
        steps=("load", "render", "upload"),
        max_reclaims=_MAX_RECLAIMS,
    )


def crash(path: str) -> None:
    """Run the process to its end, which comes soon.

    Args:
        path: The store.

    Raises:
        TimeoutExpired: It did not end by itself, and was ended.
    """
    subprocess.run(
        [sys.executable, "-m", "dura_tui.demo.crash", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        timeout=_PATIENCE_SECONDS,
        check=False,
    )


def main(path: str) -> None:
    """Claim a task and die of it; without a task, return."""
    engine = DurableEngine(path, synchronous="NORMAL", create=False, upgrade=False)
    task = engine.claim_task(
        worker_id=default_worker_id("thumbnails"), timeout_secs=_LEASE_SECONDS, queue=_QUEUE
    )
    if task is not None:
        engine.checkpoint(task_id=task.task_id, step_name="load", fn=lambda: task.params)
        engine.checkpoint(
            task_id=task.task_id, step_name="render", fn=lambda: os.kill(os.getpid(), signal.SIGKILL)
        )
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1])
