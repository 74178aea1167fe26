"""Textual's driver of the terminal, for signals that come in numbers, or when they are not expected.

A window that is dragged has a new size many times a second. Textual reads it in the signal's handler, which the next signal
interrupts: of a burst, the first size is told last, and stays. Here it is read once the handlers are through.

SIGCONT comes after Ctrl-Z, and Textual prepares the terminal anew. It comes as well after a SIGSTOP that nobody could catch,
and right after SIGTERM from systemd and from shells: Textual would prepare once more what it has prepared, take raw mode for
what was there before it, and leave that to the shell. At the end of the monitor it would fail.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from textual.drivers.linux_driver import LinuxDriver
from textual.events import Resize
from textual.geometry import Size


class Driver(LinuxDriver):
    """Prepares the terminal where it was given back, and gives it back where it was prepared."""

    _stopped = False
    """Whether the terminal was given back since the monitor was about to stop, as after Ctrl-Z."""
    _prepared_in: asyncio.AbstractEventLoop | None = None
    """The loop of the app, while the terminal is prepared."""
    _is_to_begin = False
    """Whether it will prepare the terminal anew."""
    _is_to_measure = False
    """Whether it will read the size of the terminal."""

    def start_application_mode(self) -> None:
        """Prepare the terminal."""
        self._prepared_in = asyncio.get_running_loop()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGWINCH, self._resized)

    def disable_input(self) -> None:
        """Take no keys any more, which is how it begins to give the terminal back, and to end."""
        self._prepared_in = None
        super().disable_input()

    def _resized(self, *_: Any) -> None:
        if self._prepared_in is not None and not self._is_to_measure:
            self._is_to_measure = True
            self._prepared_in.call_soon_threadsafe(self._measure)

    def _measure(self) -> None:
        """Tell the app the present size of the terminal, unless the terminal tells it by itself."""
        self._is_to_measure = False
        if self._prepared_in is not None and not self._in_band_window_resize:
            size = Size(*self._get_terminal_size())
            self.send_message(Resize(size, size))

    def _sigtstp_application(self, *about: Any) -> None:
        if self._prepared_in is None:
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            self._stopped = True
            super()._sigtstp_application(*about)

    def _sigcont_application(self, *about: Any) -> None:
        if self._stopped:
            self._stopped = False
            super()._sigcont_application(*about)
        elif self._prepared_in is not None and not self._is_to_begin:
            # Not here, in the middle of whatever is done; and once for all signals of a burst.
            self._is_to_begin = True
            self._prepared_in.call_soon_threadsafe(self._begin_anew)

    def _begin_anew(self) -> None:
        """Prepare the terminal anew: while the monitor stood still, a shell may have had it."""
        self._is_to_begin = False
        if self._prepared_in is not None and self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
            self.resume_application_mode()
