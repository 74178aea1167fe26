"""A bell that ends a wait for pipes: a pipe to oneself, which signal handlers and any thread may write to."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self


class Bell:
    """Inside its block it can be rung; who waits waits for `mouth` too."""

    def __enter__(self) -> Self:
        self.mouth, self._clapper = os.pipe()
        os.set_blocking(self.mouth, False)
        os.set_blocking(self._clapper, False)
        return self

    def __exit__(self, *about: object) -> None:
        os.close(self.mouth)
        os.close(self._clapper)

    def ring(self) -> None:
        """End the present wait, or the next."""
        # Full: it rings already.
        with suppress(BlockingIOError):
            os.write(self._clapper, b"!")

    def hush(self) -> None:
        """Stop ringing."""
        with suppress(BlockingIOError):
            while os.read(self.mouth, 512):
                pass

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
            event.set()
            listener.join()
