"""The release that writes the same tables. It has no option for `synchronous`: the PRAGMA is executed on its connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from benchmarks.adapters import Job
from benchmarks.adapters.shared import Engine, handlers
from dura import DurableEngine, run_worker


class System(Engine):
    """dura 1.3.0."""

    fastest: ClassVar[str] = "OFF"

    def __init__(self, path: str, synchronous: str, workers: int) -> None:
        super().__init__(path, DurableEngine(path))

    @contextmanager
    def pool(self, workers: int, job: Job) -> Iterator[None]:
        """The threads that its `run_workers` starts; that function itself can be ended by a signal only."""
        stop = threading.Event()
        threads = [
            threading.Thread(
                target=run_worker,
                args=(self.engine,),
                kwargs={"handlers": dict(handlers(job)), "worker_id": f"worker_{number}", "stop_event": stop},
            )
            for number in range(workers)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()
