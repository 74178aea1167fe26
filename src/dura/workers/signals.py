"""The signals that ask a pool for its end: how many came, and a bell that they ring.

Python runs a handler on the main thread, between two of its instructions. A signal that comes just before that thread waits,
or that the system hands to another thread, is noted and its handler not run before something else ends the wait. So the
interpreter rings the bell itself, at the moment of the signal (`signal.set_wakeup_fd`), and a wait for the bell ends.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from dura.workers.bell import RUNG, Bell

_NOBODY: Final = -1

_undoings: list[Callable[[], None]] = []
"""What a forked child has to undo, so that signals do there what they did before."""


def catch(
    numbers: Sequence[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Callable[[], None]:
    """Let the handler have these signals, in this process alone. For the main thread.

    A child that is forked has the handlers that were there before, lest nobody could end it: `multiprocessing` ends its
    children by SIGTERM, and then waits.

    Returns:
        What puts back whatever caught them before.
    """
    before = {number: signal.getsignal(number) for number in numbers}

    def put_back() -> None:
        for number, earlier in before.items():
            signal.signal(number, signal.SIG_DFL if earlier is None else earlier)
        with suppress(ValueError):
            _undoings.remove(put_back)

    _undoings.append(put_back)
    for number in numbers:
        signal.signal(number, handler)
    return put_back


def _tell_nobody() -> None:
    signal.set_wakeup_fd(_NOBODY)


class _Fork(threading.local):
    """The calling thread's fork. No signal comes meanwhile: Python forgets, in the child, those that came before it did."""

    mask: Iterable[int] | None = None

    def begin(self) -> None:
        """Keep signals from the thread, and so from the child, if it has something to undo."""
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()) if _undoings else None

    def end(self) -> None:
        """Let them come."""
        if self.mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)

    def end_in_child(self) -> None:
        """Undo what is the parent's, and let them come."""
        try:
            for undo in _undoings[::-1]:
                undo()
        finally:
            _undoings.clear()
            self.end()


_fork = _Fork()
os.register_at_fork(before=_fork.begin, after_in_parent=_fork.end, after_in_child=_fork.end_in_child)


class Signals(Bell):
    """Counts signals and is rung by each. Inside its block it can be waited for; outside, it only counts."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.latest = 0
        """The number of the signal that came last; 0: none has come."""
        self._ours = RUNG
        """What of that which is heard concerns nobody else."""
        self._told_before = _NOBODY
        """Whom the interpreter told of signals before: an event loop, say, that calls its handlers for them later."""

    def note(self, number: int, frame: FrameType | None = None) -> None:  # noqa: ARG002 - the handler's signature
        """Count a signal. Any thread may call it."""
        self.count += 1
        self.latest = number
        self.ring()

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch SIGINT and SIGTERM inside the block, and put back whatever caught them before. For the main thread."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        put_back = catch(numbers, self.note)
        self._ours += bytes(numbers)
        try:
            yield
        finally:
            put_back()

    @contextmanager
    def told(self) -> Iterator[None]:
        """Be rung inside the block by every signal that has a handler, whoever's: on the main thread, which runs them all."""
        try:
            self._told_before = signal.set_wakeup_fd(self._clapper, warn_on_full_buffer=False)
        except ValueError:
            # Another thread than the main one: it waits on when a handler runs.
            yield
            return
        _undoings.append(_tell_nobody)
        try:
            yield
        finally:
            with suppress(ValueError):
                _undoings.remove(_tell_nobody)
            try:
                signal.set_wakeup_fd(self._told_before)
            except (OSError, ValueError):
                # It has been closed meanwhile.
                signal.set_wakeup_fd(_NOBODY)
            self.hush()
            self._told_before = _NOBODY

    def hush(self) -> bytes:
        """Stop ringing, and pass on what others would have been told."""
        heard = super().hush()
        others = heard.translate(None, self._ours)
        if others and self._told_before != _NOBODY:
            with suppress(OSError):
                os.write(self._told_before, others)
        return heard
