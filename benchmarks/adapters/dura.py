"""This project's engine, by its public names alone."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from benchmarks.adapters import Job
from benchmarks.adapters.shared import Engine, handlers
from dura import DurableEngine, run_workers


class System(Engine):
    """dura."""

    fastest: ClassVar[str] = "NORMAL"

    def __init__(self, path: str, synchronous: str, workers: int) -> None:
        super().__init__(path, DurableEngine(path, synchronous=synchronous))

    @contextmanager
    def pool(self, workers: int, job: Job, **more: Any) -> Iterator[None]:
        stop = threading.Event()
        terms = {"worker_count": workers, "handle_signals": False, "stop_event": stop, **more}
        pool = threading.Thread(
            target=run_workers, args=(self.engine,), kwargs={"handlers": handlers(job), **terms}
        )
        pool.start()
        try:
            yield
        finally:
            stop.set()
            pool.join()

    @staticmethod
    def spawns_in_bulk() -> bool:
        """Whether this version of the engine has `spawn_many`."""
        return hasattr(DurableEngine, "spawn_many")

    def spawn_many(self, params: Sequence[Any]) -> None:
        """Spawn a task for each of the params, in one call."""
        spawn_many: Any = getattr(self.engine, "spawn_many")  # noqa: B009 - older engines have none
        spawn_many([{"name": "plain", "params": each} for each in params])

    @staticmethod
    def has_processes() -> bool:
        """Whether this version's pool can run handlers in processes of their own."""
        return "processes" in inspect.signature(run_workers).parameters
