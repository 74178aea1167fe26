"""huey on SQLite, with its own consumer of threads. A task leaves the file when it is dequeued: a crash loses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from huey import SqliteHuey  # type: ignore[import-not-found]

from benchmarks.adapters import Job, no_steps


class System:
    """huey."""

    fastest: ClassVar[str] = "OFF"

    def __init__(self, path: str, synchronous: str, workers: int) -> None:
        self.file = path
        self._huey = SqliteHuey(filename=path)
        self._job: Job | None = None

        @self._huey.task(name="plain")  # type: ignore[untyped-decorator]
        def plain(params: Any) -> None:
            assert self._job is not None
            self._job(params, no_steps)

        self._plain = plain

    def spawn(self, params: Any, *, steps: bool = False) -> None:
        self._plain(params)

    def done(self) -> int:
        """How many tasks the store has let go, from some number on: it keeps none that is under way or done."""
        return -int(self._huey.pending_count())

    @contextmanager
    def pool(self, workers: int, job: Job) -> Iterator[None]:
        self._job = job
        consumer = self._huey.create_consumer(workers=workers, periodic=False)
        consumer.start()
        try:
            yield
        finally:
            consumer.stop(graceful=True)

    def close(self) -> None:
        self._huey.storage.close()
