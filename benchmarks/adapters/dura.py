"""This project's engine, by its public names alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

from benchmarks.adapters import Job
from benchmarks.adapters.shared import Engine, handlers
from dura import DurableEngine, run_workers


class System(Engine):
    """dura."""

    fastest: ClassVar[str] = "NORMAL"

    def __init__(self, path: str, synchronous: str, workers: int) -> None:
        super().__init__(path, DurableEngine(path, synchronous=synchronous))

    def pool(self, workers: int, job: Job) -> AbstractContextManager[None]:
        return self._pool(job, worker_count=workers)

    def spread(self, workers: int, processes: int, job: Job) -> AbstractContextManager[None]:
        """A pool over so many processes, which end in the middle of a job if they must; they import the job."""
        return self._pool(job, worker_count=workers, processes=processes, shutdown_grace_secs=0.1)

    @contextmanager
    def _pool(self, job: Job, **options: Any) -> Iterator[None]:
        stop = threading.Event()
        terms = {"handle_signals": False, "stop_event": stop, **options}
        pool = threading.Thread(
            target=run_workers, args=(self.engine,), kwargs={"handlers": handlers(job), **terms}
        )
        pool.start()
        try:
            yield
        finally:
            stop.set()
            pool.join()

    def spawn_many(self, params: Sequence[Any], *, steps: bool = False) -> None:
        """Spawn a task for each of the params, in one call."""
        name = "steps" if steps else "plain"
        self.engine.spawn_many([{"name": name, "params": each} for each in params])
