"""Standing back: a process of a pool in which a handler computes leaves the claiming to others.

Beside a handler that computes in Python, every statement of another thread of the same process waits for the interpreter
before it goes on. If that thread is in the middle of a transaction, it keeps SQLite's write lock meanwhile, and with it
every other process. So a worker that has been slow to claim finds out whether its process is crowded in this way; as long
as it is, its workers claim one at a time, and with a pause after each that leaves most of the time to the others.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Final

_SLOW: Final = 4
"""Waits for the interpreter, at their longest, that a claim has to last to be suspicious."""

_SAMPLES: Final = 3
"""Waits for the interpreter in a row, each at its longest, that tell a handler that computes from a coincidence."""

_SHARE: Final = 3
"""How many times as long as the claim took the others are left alone afterwards."""

_LONGEST: Final = 2.0
"""Seconds for which they are at most."""


class Courtesy:
    """What the workers of one process know of how crowded it is."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        is_crowded: Callable[[float], bool] | None = None,
    ) -> None:
        """Begin in an empty process.

        Args:
            clock: Seconds from any origin, never stepping back; for tests.
            is_crowded: Finds out whether the process is crowded, given the interpreter's switch interval; for tests.
        """
        self._clock = clock
        self._is_crowded = is_crowded or interpreter_is_crowded
        self._lock = threading.Lock()
        self._crowded = False
        self._until = 0.0

    def may_claim(self) -> bool:
        """Whether a worker may claim now. In a crowded process one that may not is to ask again after `pause`."""
        with self._lock:
            if self._crowded:
                if self._clock() < self._until:
                    return False
                self._until = self._clock() + _LONGEST
            return True

    def pause(self) -> float:
        """Seconds for which workers are to stand back; zero or less if they need not."""
        return self._until - self._clock()

    def heed(self, took: float) -> None:
        """Take note of how long a claim has taken, in seconds."""
        interval = sys.getswitchinterval()
        crowded = took >= _SLOW * interval and self._is_crowded(interval)
        with self._lock:
            self._crowded = crowded
            self._until = self._clock() + min(_SHARE * took, _LONGEST) if crowded else 0.0


def interpreter_is_crowded(interval: float) -> bool:
    """Whether another thread keeps the interpreter for as long as it is let, at each of a few tries."""
    for _ in range(_SAMPLES):
        began = time.monotonic()
        time.sleep(interval / 25)
        if time.monotonic() - began < 0.8 * interval:
            return False
    return True
