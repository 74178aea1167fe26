"""A place for one process of a pool, as the parent sees it: who fills it, and when the next one may."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Final

from dura.workers.child import LEFT_TO_THE_PARENT, work

_SHORTEST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
"""Seconds between the end of a process that did not last and the start of the next: none, then doubling in these bounds.
One that has lasted for the longest pause begins with none again."""

START_SECONDS: Final = 120.0
"""How long a process may take to import the program and be ready, before it is taken for hung."""

_REAP_SECONDS: Final = 5.0


class Place:
    """One of the pool's places."""

    def __init__(self, number: int, pickled: bytes, clock: Callable[[], float] = time.monotonic) -> None:
        self.number = number
        self.process: SpawnProcess | None = None
        """Who fills it; None while nobody does."""
        self.connection: Connection | None = None
        """What can be heard of it; None once it has said its last."""
        self.ready = False
        """Whether its process may have runs in hand."""
        self.failures = 0
        """How many processes in a row have ended before they were ready."""
        self.why: str | None = None
        """What the process said of why it cannot start."""
        self.due = 0.0
        """When the next process may start, by the clock."""
        self._pickled = pickled
        self._clock = clock
        self._began = 0.0
        self._pause = 0.0

    def __str__(self) -> str:
        pid = "not running" if self.process is None else f"pid {self.process.pid}"
        return f"process {self.number} of the pool ({pid})"

    def fill(self) -> None:
        """Start a process in this place.

        Raises:
            OSError: The system has no room for one.
        """
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=work, args=(theirs, self._pickled), name=f"dura-process-{self.number}", daemon=False
        )
        # It unblocks signals where it starts, so it must not start between here and there.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, LEFT_TO_THE_PARENT)
        try:
            process.start()
            self.process, self.connection = process, ours
            self.ready, self.why, self._began = False, None, self._clock()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def say(self, *message: Any) -> None:
        """Tell the process something, if it still is there."""
        if self.connection is not None:
            with suppress(OSError):
                self.connection.send(message)

    def hear(self) -> list[tuple[str, ...]]:
        """What the process has said since the last time."""
        heard: list[tuple[str, ...]] = []
        try:
            while self.connection is not None and self.connection.poll():
                heard.append(self.connection.recv())
        except (EOFError, OSError):
            self._stop_listening()
        return heard

    def ended(self) -> str | None:
        """How the process has ended, in words; None while it runs."""
        if self.process is None:
            return None
        code = self.process.exitcode
        if code is None and self.connection is None:
            # It has closed all it had, and is about to be gone.
            self.process.join(_REAP_SECONDS)
            code = self.process.exitcode
            if code is None and self.process.pid is not None and not self._exists(self.process.pid):
                return "has ended; its exit code went to another part of this program"
        if code is None:
            return None
        return f"was ended by {_name(-code)}" if code < 0 else f"has ended with exit code {code}"

    def hung_at_start(self) -> bool:
        """Whether the process has had all the time there is to become ready, and is not."""
        return self.process is not None and not self.ready and self._clock() > self._began + START_SECONDS

    def kill(self) -> None:
        """End the process at once. What it has in hand comes back when the leases run out."""
        if self.process is not None:
            self.process.kill()

    def clear(self) -> float:
        """Forget the process that has ended. Returns how long to wait before the next one starts, in seconds."""
        now = self._clock()
        if now - self._began >= _LONGEST_PAUSE:
            self._pause = 0.0
        pause = self._pause
        self._pause = min(max(_SHORTEST_PAUSE, 2 * self._pause), _LONGEST_PAUSE)
        self.due = now + pause
        self.failures = 0 if self.ready else self.failures + 1
        self._stop_listening()
        if self.process is not None:
            with suppress(ValueError):
                self.process.close()
        self.process, self.ready = None, False
        return pause

    def _exists(self, pid: int) -> bool:
        """Whether the process is still there, though it can no longer be heard. It must not stay so."""
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def _stop_listening(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
