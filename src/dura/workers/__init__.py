"""Worker pools: threads that claim runs from a store and carry them to their outcome.

`executor` takes one run through its handler, `worker` is one thread's loop, `pool` starts and drains many, and `wakeup`
tells idle ones that there is work.
"""

from __future__ import annotations

from dura.workers.executor import Handler, process_task
from dura.workers.pool import SHUTDOWN_GRACE_SECONDS, run_workers
from dura.workers.worker import run_worker

__all__ = ["SHUTDOWN_GRACE_SECONDS", "Handler", "process_task", "run_worker", "run_workers"]
