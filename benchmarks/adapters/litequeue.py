"""litequeue. It has no workers: the loop here is the shortest right one. It sets `synchronous=NORMAL` by itself."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from litequeue import LiteQueue  # type: ignore[import-not-found]

from benchmarks.adapters import Job, no_steps

_PATIENCE = 0.01
"""Seconds between two looks of an idle worker; the library has no way to wait."""


class System:
    """litequeue."""

    fastest: ClassVar[str] = "OFF"

    def __init__(self, path: str, synchronous: str, workers: int) -> None:
        self.file = path
        self._queue = LiteQueue(path)
        self._queue.conn.execute(f"PRAGMA synchronous={synchronous}")

    def spawn(self, params: Any, *, steps: bool = False) -> None:
        self._queue.put(json.dumps(params))

    @contextmanager
    def pool(self, workers: int, job: Job) -> Iterator[None]:
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                message = self._queue.pop()
                if message is None:
                    time.sleep(_PATIENCE)
                else:
                    job(json.loads(message.data), no_steps)
                    self._queue.done(message.message_id, claim_id=message.claim_id)

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
