"""The signals that ask a pool for its end: how many came, and a bell that they ring.

Python runs a handler on the main thread, between two of its instructions. A signal that comes just before that thread waits,
or that the system hands to another thread, is noted and its handler not run before something else ends the wait. So the
interpreter rings the bell itself, at the moment of the signal (`signal.set_wakeup_fd`), and a wait for the bell ends.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dura.workers.bell import Bell


class Signals(Bell):
    """Counts signals and is rung by each. Inside its block it can be waited for; outside, it only counts."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.latest = 0
        """The number of the signal that came last; 0: none has come."""

    def note(self, number: int, frame: FrameType | None = None) -> None:  # noqa: ARG002 - the handler's signature
        """Count a signal. Any thread may call it."""
        self.count += 1
        self.latest = number
        self.ring()

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch SIGINT and SIGTERM inside the block, and put back whatever caught them before. For the main thread."""
        before = {number: signal.signal(number, self.note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Be rung inside the block by every signal that has a handler, whoever's: on the main thread, which runs them all."""
        try:
            before = signal.set_wakeup_fd(self._clapper, warn_on_full_buffer=False)
        except ValueError:
            # Another thread than the main one: it waits on when a handler runs.
            yield
            return
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
