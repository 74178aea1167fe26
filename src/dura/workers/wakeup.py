"""Telling idle workers that there may be work, so that they need not poll often to start quickly.

A writer of the same process that made work due says so right after its commit. Writers of other processes are noticed by
one thread that reads `PRAGMA data_version`, which costs microseconds and no lock. One signal wakes one worker; a worker
that finds work passes the signal on, so a burst wakes as many as it needs.
"""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Final, Self

from dura.engine import DurableEngine
from dura.errors import StoreError

logger = logging.getLogger("dura.workers")

_WATCH_SECONDS: Final = 0.03
"""How often other processes' commits, and the stop event, are looked for."""

_TROUBLED_SECONDS: Final = 1.0
"""How long the watcher leaves a store alone that it could not read."""


class Wakeup:
    """Where a pool's idle workers wait. A context manager: inside the block, writers and the watcher signal it."""

    def __init__(self, engine: DurableEngine, stop_event: threading.Event) -> None:
        self._engine = engine
        self._stop_event = stop_event
        self._condition = threading.Condition()
        self._signalled = False
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="dura-watcher", daemon=True)

    def __enter__(self) -> Self:
        self._engine.database.listeners.append(self.signal)
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.database.listeners.remove(self.signal)
        self._ended.set()
        self._watcher.join()

    def signal(self) -> None:
        """Wake one idle worker, or keep the next one that would go idle from it."""
        with self._condition:
            self._signalled = True
            self._condition.notify()

    def wait(self, seconds: float) -> None:
        """Wait for a signal, for a stop, or for so long."""
        with self._condition:
            if not self._signalled and not self._stop_event.is_set():
                self._condition.wait(seconds)
            self._signalled = False

    def _watch(self) -> None:
        seen: int | None = None
        pause = _WATCH_SECONDS
        try:
            while not self._ended.wait(pause):
                if self._stop_event.is_set():
                    with self._condition:
                        self._condition.notify_all()
                    return
                try:
                    version = self._engine.database.version()
                    pause = _WATCH_SECONDS
                except StoreError as error:
                    logger.warning("cannot look for other processes' work: %s", error)
                    version, pause = None, _TROUBLED_SECONDS
                if version != seen:
                    seen = version
                    self.signal()
        finally:
            self._engine.close()
