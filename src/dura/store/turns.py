"""Turns at the write lock: threads of one process are served in the order in which they asked.

SQLite's busy handler alone lets waiters poll, and the luckiest writer gets thousands of commits for the unluckiest's one.
A lock that each waiter owns and its predecessor opens costs one wake-up a turn and is fair.
"""

from __future__ import annotations

import threading
from collections import deque


class Turns:
    """A first-come-first-served lock whose waits are bounded."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._gates: deque[threading.Lock] = deque()

    def take(self, timeout: float) -> bool:
        """Wait for the turn.

        Args:
            timeout: The longest wait, in seconds.

        Returns:
            Whether the turn was had. If so, `give` must follow.
        """
        with self._mutex:
            if not self._taken:
                self._taken = True
                return True
            gate = threading.Lock()
            gate.acquire()
            self._gates.append(gate)
        try:
            if gate.acquire(timeout=timeout):
                return True
        except BaseException:
            if not self._withdraw(gate):
                self.give()
            raise
        return not self._withdraw(gate)

    def give(self) -> None:
        """End the turn and open the gate of whoever has waited longest."""
        with self._mutex:
            if self._gates:
                self._gates.popleft().release()
            else:
                self._taken = False

    def _withdraw(self, gate: threading.Lock) -> bool:
        """Leave the line. False: too late, the turn has just been handed over."""
        with self._mutex:
            try:
                self._gates.remove(gate)
            except ValueError:
                return False
            return True
