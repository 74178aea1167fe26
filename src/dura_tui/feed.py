"""The feed: one thread that owns the store's reader, looks at the store, and posts what it found.

A look is cheap (`changed()`); a read follows when something was committed, when the screen wants something else, and
every few seconds in any case, because due times and dead workers change without a commit. The next look is armed when
the last one has ended, so a slow store stretches the period and reads never overlap. Whatever goes wrong is posted as a
reason; the reader is closed, and opened anew at the next look, which is how a file that comes back is found.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from textual.message import Message

from dura.clock import Clock
from dura.errors import EngineError
from dura.records import Want
from dura_tui.first import FirstLook, Source
from dura_tui.format import printable
from dura_tui.messages import NothingChanged, ReadFailed, SnapshotArrived

FULL_READ_SECONDS: Final = 5.0
"""A full read follows the last one after this long, or after five periods if that is longer."""

_STOP_SECONDS: Final = 2.0


class Feed:
    """Looks at a store at a steady pace, on its own thread."""

    def __init__(
        self,
        open_source: Callable[[], Source],
        post: Callable[[Message], object],
        *,
        refresh: float,
        clock: Clock,
        first: FirstLook | None = None,
    ) -> None:
        """Prepare; nothing is opened before `start`.

        Args:
            open_source: Opens the store for reading; called on the feed's thread, again after every failure.
            post: Takes a message from another thread, for example `App.post_message`.
            refresh: Seconds between the end of one look and the next.
            clock: The clock that stamps a look that found nothing new.
            first: The look that was taken before, which is posted at once.
        """
        self._open_source = open_source
        self._post = post
        self._refresh = refresh
        self._clock = clock
        self._bell = threading.Condition()
        self._want = Want()
        self._asked = True
        self._paused = False
        self._stopping = False
        self._first = first
        self._source: Source | None = first.source if first else None
        self._read_want: Want | None = None
        self._read_at = 0.0
        self._thread = threading.Thread(target=self._run, name="dura-tui-feed", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        first = self._first
        if first is not None and first.snapshot is not None:
            self._asked, self._read_want, self._read_at = False, first.want, monotonic()
            self._post(SnapshotArrived(first.snapshot, first.want))
        self._thread.start()

    def want(self, want: Want) -> None:
        """Say what the screen shows now; read at once if that is something else."""
        with self._bell:
            if want != self._want:
                self._want = want
                self._bell.notify()

    def read_now(self) -> None:
        """Read without waiting for the next look."""
        with self._bell:
            self._asked = True
            self._bell.notify()

    def pause(self, paused: bool) -> None:
        """Stop looking by itself, or go on; what is asked for is still read."""
        with self._bell:
            self._paused = paused
            self._asked = self._asked or not paused
            self._bell.notify()

    def stop(self) -> None:
        """End the thread and close the reader. A read that hangs is left behind: the thread holds nothing up."""
        with self._bell:
            self._stopping = True
            self._bell.notify()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)
        elif self._thread.ident is None:
            self._close_source()

    def _run(self) -> None:
        if self._read_want is not None:
            self._wait(self._read_want)
        while True:
            with self._bell:
                if self._stopping:
                    break
                want, asked, self._asked = self._want, self._asked, False
            if asked or not self._paused or want != self._read_want:
                self._look(want, asked)
            self._wait(want)
        self._close_source()

    def _wait(self, shown: Want) -> None:
        """Wait until the next look is due, or something else than `shown` is wanted."""
        with self._bell:
            self._bell.wait_for(
                lambda: self._stopping or self._asked or self._want != shown,
                timeout=None if self._paused else self._refresh,
            )

    def _look(self, want: Want, asked: bool) -> None:
        try:
            if self._source is None:
                self._source = self._open_source()
                asked = True
            stale = monotonic() - self._read_at >= max(FULL_READ_SECONDS, 5 * self._refresh)
            if not (asked or stale or want != self._read_want or self._source.changed()):
                self._post(NothingChanged(self._clock()))
                return
            snapshot = self._source.snapshot(want)
            self._read_want, self._read_at = want, monotonic()
            self._post(SnapshotArrived(snapshot, want))
        except (EngineError, OSError) as error:
            self._fail(printable(str(error)))
        except Exception as error:  # noqa: BLE001 - a store that breaks the reader must not end the monitor
            self._fail(printable(f"{type(error).__name__}: {error}"))

    def _fail(self, reason: str) -> None:
        self._close_source()
        self._read_want = None
        self._post(ReadFailed(reason))

    def _close_source(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            try:
                source.close()
            except (EngineError, OSError):
                return
