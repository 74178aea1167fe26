"""persist-queue's queue with acknowledgements. It has no workers: the loop here is the shortest right one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from persistqueue import Empty, SQLiteAckQueue  # type: ignore[import-not-found]

from benchmarks.adapters import Job, no_steps

_PATIENCE = 0.05
"""Seconds that an idle worker waits for an item before it looks whether to stop."""


class System:
    """persist-queue."""

    fastest: ClassVar[str] = "OFF"

    def __init__(self, path: str, synchronous: str, workers: int) -> None:
        self.file = os.path.join(path, "data.db")
        self._queue = SQLiteAckQueue(path, multithreading=True)

    def spawn(self, params: Any, *, steps: bool = False) -> None:
        self._queue.put(params)

    @contextmanager
    def pool(self, workers: int, job: Job) -> Iterator[None]:
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                try:
                    item = self._queue.get(timeout=_PATIENCE, raw=True)
                except Empty:
                    continue
                job(item["data"], no_steps)
                self._queue.ack(id=item["pqid"])

        threads = [threading.Thread(target=work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def close(self) -> None:
        self._queue.close()
