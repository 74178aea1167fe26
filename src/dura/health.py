"""A liveness signal for a pool of workers, without sockets or threads of its own."""

from __future__ import annotations

import time
from collections.abc import Callable


class Heartbeat:
    """The time of the latest sign of life of any worker.

    Every worker beats it at each turn of its loop, idle ones too, so it goes silent only when all workers are stuck.
    Expose `seconds_since_beat` however your application reports its health.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start healthy.

        Args:
            clock: Seconds from any origin, never stepping back; for tests.
        """
        self._clock = clock
        self._latest = clock()

    def beat(self) -> None:
        """Note a sign of life. Any thread may call it; it takes no lock and never fails."""
        self._latest = self._clock()

    def seconds_since_beat(self) -> float:
        """Seconds since the latest beat, or since construction."""
        return self._clock() - self._latest
