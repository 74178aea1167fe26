"""Worker pools: threads that claim runs from a store and carry them to their outcome.

`executor` takes one run through its handler, `worker` claims one after the other, `crew` has the threads, `pool` starts and
drains them, and `wakeup` tells idle workers that there is work. `keepalive` extends a lease while a long step runs.
"""

from __future__ import annotations

from dura.workers.executor import Handler, process_task
from dura.workers.keepalive import keep_alive
from dura.workers.pool import SHUTDOWN_GRACE_SECONDS, run_worker, run_workers

__all__ = ["SHUTDOWN_GRACE_SECONDS", "Handler", "keep_alive", "process_task", "run_worker", "run_workers"]
