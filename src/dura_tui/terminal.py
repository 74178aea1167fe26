"""Notices that the terminal is gone, and ends the process.

Textual's input thread spins on a terminal that hung up, and its output thread dies on the first write, after which the
app would block for ever. So a thread of our own polls the terminal for a hang-up, and then leaves at once: there is
nobody left to draw a last frame for. SIGHUP alone says no such thing. Where the terminal lives, somebody sits before it
and wants it back, as after SIGTERM.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

HUNG_UP: Final = 129
"""The exit code: 128 + SIGHUP."""

_POLL_SECONDS: Final = 0.5
_GONE: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


class HangUp:
    """Watches a terminal until it hangs up, then runs `last_act` and ends the process."""

    def __init__(self, descriptor: int, last_act: Callable[[], None]) -> None:
        """Watch nothing yet.

        Args:
            descriptor: The terminal's file descriptor.
            last_act: What must still be done, for example removing a demo's folder. It should be quick.
        """
        self._descriptor = descriptor
        self._last_act = last_act
        self._signalled = False
        self._over = threading.Event()

    def watch(self) -> None:
        """Begin. Call it from the main thread, which is the one that may set signal handlers; SIGTERM's is yours."""
        if os.isatty(self._descriptor):
            signal.signal(signal.SIGHUP, self._on_signal)
            threading.Thread(target=self._run, name="dura-tui-hangup", daemon=True).start()

    def stop(self) -> None:
        """The app has ended by itself."""
        self._over.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._signalled = True

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, 0)
        seen = False
        while not self._over.wait(_POLL_SECONDS):
            if any(event & _GONE for _, event in poll.poll(0)):
                try:
                    self._last_act()
                finally:
                    os._exit(HUNG_UP)
            if seen:
                os.kill(os.getpid(), signal.SIGTERM)
            # The signal may come before the hang-up that it tells of.
            seen = self._signalled
