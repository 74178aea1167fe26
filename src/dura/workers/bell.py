"""A bell that ends a wait for pipes: a pipe to oneself, which signal handlers and any thread may write to."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

RUNG = b"\0"
"""What a ring writes."""

_GONE = -1


def set_once(event: threading.Event) -> None:
    """Set the event unless it is set. A handler that interrupts this thread to set it too would wait for its lock for ever."""
    if not event.is_set():
        event.set()


class Bell:
    """Inside its block it can be rung; who waits for something else as well waits for `mouth` too."""

    mouth = _GONE
    _clapper = _GONE

    def __init__(self) -> None:
        # A handler may interrupt a ring by one of its own. What is rung late must not be written to another file's descriptor.
        self._ringing = threading.RLock()

    def __enter__(self) -> Self:
        self.mouth, self._clapper = os.pipe()
        os.set_blocking(self.mouth, False)
        os.set_blocking(self._clapper, False)
        return self

    def __exit__(self, *about: object) -> None:
        with self._ringing:
            mouth, clapper = self.mouth, self._clapper
            self.mouth = self._clapper = _GONE
            os.close(mouth)
            os.close(clapper)

    def ring(self) -> None:
        """End the present wait, or the next. Nothing happens outside the block."""
        with self._ringing:
            if self._clapper != _GONE:
                # Full: it rings already.
                with suppress(BlockingIOError):
                    os.write(self._clapper, RUNG)

    def hush(self) -> bytes:
        """Stop ringing. Returns what was written by whoever rang."""
        heard = b""
        with suppress(BlockingIOError):
            while more := os.read(self.mouth, 512):
                heard += more
        return heard

    def wait(self) -> None:
        """Wait until it is rung, however long that takes, and hush it."""
        rung = select.poll()
        rung.register(self.mouth, select.POLLIN)
        rung.poll()
        self.hush()

    @contextmanager
    def rung_by(self, event: threading.Event) -> Iterator[None]:
        """Ring inside the block once the event is set. The event is set when the block ends."""

        def listen() -> None:
            event.wait()
            self.ring()

        listener = threading.Thread(target=listen, name="dura-stop", daemon=True)
        listener.start()
        try:
            yield
        finally:
            set_once(event)
            listener.join()
