"""A pool whose workers are spread over several processes, which its parent starts, replaces and drains.

One handler that computes in Python keeps the interpreter from the other threads of its process: each of their calls waits
up to 5 ms for it. So the workers are dealt out to processes; each is a pool of threads on the same store (`child`), and the
parent runs no handler.

    place empty ──due──▶ starting ──READY──▶ working ──ends by itself──▶ place empty, due at once or after a pause
                         starting ──ends──▶ place empty; the pool has failed if it was the very first, or the fifth in a row
    first signal, or stop_event: DRAIN to all ──▶ each ends within the grace, or is killed a little later
    second signal: END to all ──▶ each gives back its runs and ends, or is killed a little later; SystemExit

The very first process starts alone: what keeps it from starting would keep all of them, and is said once.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import threading
import time
from contextlib import nullcontext
from multiprocessing.connection import wait
from typing import Final

from dura.errors import InvalidValue, PoolFailed
from dura.log import logger_of
from dura.workers.child import BEAT, DRAIN, END, FAILED, READY
from dura.workers.place import START_SECONDS, Place
from dura.workers.share import deal
from dura.workers.signals import Signals
from dura.workers.worker import Terms

logger = logger_of("dura.workers")

_TRIES: Final = 5
"""Processes of one place that may in a row end before they are ready."""

_LAST_SECONDS: Final = 5.0
"""How long a process has beyond the grace, and at a second signal, to give back its runs and end."""

_LOOK_SECONDS: Final = 1.0
"""How often the parent looks whether each process is still there: a program that one forked may keep its pipe open."""

_REPORT_SECONDS: Final = 2.0

_UNSAID: Final = (
    ", and has said why on the standard error, if at all. It was to import the main program and the modules of the handlers; "
    'what the program does when it is started belongs below `if __name__ == "__main__":`'
)
"""Of a process that came to its end outside our code."""


def run_processes(
    terms: Terms, priorities: list[int | None], processes: int, grace: float, *, handle_signals: bool
) -> None:
    """Run a pool of so many processes until it is told to stop, then drain it. See `run_workers`."""
    _check_here()
    places = [Place(number, share) for number, share in enumerate(deal(terms, priorities, processes, grace))]
    try:
        with (
            Signals() as signals,
            signals.caught() if handle_signals else nullcontext(),
            signals.told(),
            signals.rung_by(terms.stop_event),
        ):
            _Pool(terms, places, signals, grace).run()
    finally:
        terms.engine.close()


def _check_here() -> None:
    """Refuse to start processes where multiprocessing cannot.

    Raises:
        InvalidValue: This process may not have any.
        SystemExit: This process is one of a pool's, and only imports the program.
    """
    here = multiprocessing.current_process()
    if getattr(here, "_inheriting", False):
        raise SystemExit(
            "run_workers(processes=...) was called while a process of the pool imported the program. Put what the program "
            'does when it is started below `if __name__ == "__main__":`, so that importing it does nothing.'
        )
    if here.daemon:
        raise InvalidValue(
            f"processes > 1 does not work in {here.name}, since multiprocessing lets a daemonic process start no others; "
            "start it with daemon=False"
        )


class _Pool:
    """The parent's work."""

    def __init__(self, terms: Terms, places: list[Place], signals: Signals, grace: float) -> None:
        self._terms = terms
        self._places = places
        self._signals = signals
        self._grace = grace
        self._proven = False
        """Whether any process has ever been ready."""
        self._draining = False
        self._pid = os.getpid()
        self._leaving = False
        """Whether the interpreter ends around this thread."""
        self._over = threading.Event()

    def run(self) -> None:
        """Keep the places filled until the end is asked for, then drain them. No process is left afterwards."""
        atexit.register(self._leave)
        try:
            while not self._stopping():
                self._fill()
                self._attend(_LOOK_SECONDS)
            self._drain()
        except PoolFailed:
            self._drain()
            raise
        except BaseException:
            # Ctrl-C in an application that catches the signals itself.
            self._end(signal.SIGINT)
            raise
        finally:
            self._kill("the pool has ended")
            self._over.set()
            atexit.unregister(self._leave)

    def _stopping(self) -> bool:
        return self._terms.stop_event.is_set() or self._signals.count > 0 or self._leaving

    def _leave(self) -> None:
        """At exit, of a pool in a daemon thread: multiprocessing would wait for the processes, and nobody end them."""
        if os.getpid() == self._pid:
            self._leaving = True
            self._signals.ring()
            self._over.wait(2 * _LAST_SECONDS)

    def _running(self) -> list[Place]:
        return [place for place in self._places if place.process is not None]

    def _due(self) -> list[Place]:
        """The empty places that may be filled, now or later."""
        return [place for place in self._places[: None if self._proven else 1] if place.process is None]

    def _fill(self) -> None:
        """Start a process in each place that is due for one."""
        for place in self._due():
            if time.monotonic() >= place.due:
                try:
                    place.fill()
                    logger.info("%s starts", place)
                except OSError as error:
                    self._clear(place, f"cannot be started: {error}")

    def _attend(self, seconds: float) -> None:
        """Wait for so long, or until something happens, and see to it."""
        now = time.monotonic()
        if not self._draining:
            seconds = min([seconds, *(place.due - now for place in self._due())])
        connections = [place.connection for place in self._running() if place.connection is not None]
        wait([self._signals.mouth, *connections], max(seconds, 0))
        self._signals.hush()
        for place in self._running():
            self._hear(place)
            if place.hung_at_start():
                place.why = f"it was not after {START_SECONDS:.0f} s, and was killed"
                place.kill()
            how = place.ended()
            if how is not None:
                self._hear(place)
                if not place.ready:
                    how += f" before it was ready{_UNSAID if place.why is None else f': {place.why}'}"
                self._clear(place, how)

    def _hear(self, place: Place) -> None:
        for what, *more in place.hear():
            if what == READY:
                self._proven = place.ready = True
                logger.info("%s is ready", place)
            elif what == BEAT and self._terms.heartbeat is not None:
                self._terms.heartbeat.beat()
            elif what == FAILED:
                [place.why] = more

    def _clear(self, place: Place, how: str) -> None:
        """Say how the process has ended, and make room for another.

        Raises:
            PoolFailed: It was not ready, and another would be no different.
        """
        what, ready = str(place), place.ready
        pause = place.clear()
        if self._draining:
            logger.info("%s %s", what, how)
            return
        if not ready and (not self._proven or place.failures >= _TRIES):
            raise PoolFailed(f"{what} {how}")
        if ready:
            how += "; the runs it had in hand come back when their leases run out"
        logger.error("%s %s. Another one starts %s", what, how, f"in {pause:.0f} s" if pause else "at once")

    def _drain(self) -> None:
        """Let all finish the runs in hand, and wait until they have ended.

        Raises:
            SystemExit: A second signal came.
        """
        self._draining = True
        for place in self._running():
            place.say(DRAIN)
        deadline = time.monotonic() + self._grace + _LAST_SECONDS
        report = 0.0
        while running := self._running():
            now = time.monotonic()
            if self._signals.count > 1 or self._leaving:
                why = "a second signal came" if self._signals.count > 1 else "the program ends"
                logger.warning("%s; what is in hand is given back by %s", why, _listed(running))
                number = self._signals.latest or signal.SIGTERM
                self._end(number)
                raise SystemExit(128 + number)
            if now >= deadline:
                self._kill(f"the grace of {self._grace:g} s is over")
                return
            if now >= report:
                logger.info("draining: %s", _listed(running))
                report = now + _REPORT_SECONDS
            self._attend(min(_LOOK_SECONDS, deadline - now))

    def _end(self, number: int) -> None:
        """Let all give back the runs in hand and end now, as by a second signal of that number."""
        self._draining = True
        for place in self._running():
            place.say(END, number)
        deadline = time.monotonic() + _LAST_SECONDS
        while self._running() and (left := deadline - time.monotonic()) > 0:
            self._attend(left)
        self._kill("it was told to end")

    def _kill(self, why: str) -> None:
        """Kill what is left, and wait until it is gone."""
        self._draining = True
        for place in self._running():
            logger.warning(
                "%s: %s has not ended and is killed; the runs it had in hand come back when their leases run out",
                *(why, place),
            )
            place.kill()
        deadline = time.monotonic() + _LAST_SECONDS
        while self._running() and (left := deadline - time.monotonic()) > 0:
            self._attend(left)


def _listed(places: list[Place]) -> str:
    return ", ".join(str(place) for place in places)
