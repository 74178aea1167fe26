"""Notices that the terminal is gone, and ends the process.

Textual's input thread spins on a terminal that hung up, and its output thread dies on the first write, after which the
app would block for ever. So a thread of our own polls the terminal for a hang-up, takes SIGHUP, and leaves at once:
there is nobody left to draw a last frame for.
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

_POLL_SECONDS: Final = 1.0
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
        self._hung_up = threading.Event()
        self._over = False

    def watch(self) -> None:
        """Begin. Call it from the main thread, which is the one that may set signal handlers."""
        if os.isatty(self._descriptor):
            signal.signal(signal.SIGHUP, self._on_signal)
            threading.Thread(target=self._run, name="dura-tui-hangup", daemon=True).start()

    def stop(self) -> None:
        """The app has ended by itself."""
        self._over = True
        self._hung_up.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._hung_up.set()

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, 0)
        while not self._hung_up.wait(_POLL_SECONDS):
            if any(event & _GONE for _, event in poll.poll(0)):
                break
        if self._over:
            return
        try:
            self._last_act()
        finally:
            os._exit(HUNG_UP)
