"""What runs in one process of a pool: an engine of its own on the same store, and its share of the workers.

    parent ──▶ child    DRAIN; END, with a signal's number; nothing more once the parent is gone, which drains too
    child ──▶ parent    READY once its engine is open, then BEAT while its workers show signs of life; or FAILED, and why

A child obeys its parent alone. Ctrl-C reaches every process of a terminal, and a service manager's SIGTERM every process of
the service; the parent counts those and says what follows from them, so here they do nothing.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import threading
import time
from multiprocessing.connection import Connection
from types import FrameType
from typing import Final

from dura.health import Heartbeat
from dura.log import logger_of
from dura.workers.courtesy import Courtesy
from dura.workers.pool import give_back, run_threads
from dura.workers.share import Share
from dura.workers.signals import Signals, catch
from dura.workers.worker import Terms, Worker, default_worker_id

logger = logger_of("dura.workers")

DRAIN: Final = "drain"
END: Final = "end"
READY: Final = "ready"
BEAT: Final = "beat"
FAILED: Final = "failed"

LEFT_TO_THE_PARENT: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Blocked while a child starts, so that none comes before the child has said that it does nothing."""

_LOOK_SECONDS: Final = 1.0
"""How often a child looks whether its parent is still there: a program that the parent forked may keep the pipe open."""

_BEAT_SECONDS: Final = 0.25
"""How often a child tells of its workers' signs of life, if it is to."""


def work(connection: Connection, pickled: bytes) -> None:
    """Be a process of a pool: work until the parent says to stop, or is gone."""
    _do_nothing_at_signals()
    try:
        share: Share = pickle.loads(pickled)
        engine = share.open_engine()
    except Exception as error:
        logger.exception("this process of the pool cannot start")
        connection.send((FAILED, f"{type(error).__name__}: {error}"))
        raise SystemExit(1) from None
    terms = Terms(
        engine=engine,
        handlers=share.handlers,
        stop_event=threading.Event(),
        heartbeat=Heartbeat() if share.beats else None,
        claim_timeout_secs=share.claim_timeout_secs,
        poll_interval=share.poll_interval,
        queues=share.queues,
    )
    workers = [
        Worker(terms, worker_id=default_worker_id(f"worker_{number}"), max_priority=max_priority)
        for number, max_priority in enumerate(share.priorities)
    ]
    signals = Signals()
    connection.send((READY,))
    threading.Thread(
        target=_obey, args=(connection, share.parent, terms, signals), name="dura-parent", daemon=True
    ).start()
    try:
        with signals:
            run_threads(terms, workers, signals, share.grace, Courtesy())
    finally:
        # Now and not at exit: before that, multiprocessing waits for the processes that handlers have started.
        atexit.unregister(give_back)
        give_back(workers, os.getpid())


def _do_nothing_at_signals() -> None:
    """Let signals do nothing here. They are not ignored: programs that handlers start would inherit that."""

    def nothing(number: int, frame: FrameType | None) -> None:
        pass

    heeded = [number for number in LEFT_TO_THE_PARENT if signal.getsignal(number) is not signal.SIG_IGN]
    catch(heeded, nothing)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, LEFT_TO_THE_PARENT)


def _obey(connection: Connection, parent: int, terms: Terms, signals: Signals) -> None:
    """Do what the parent says, and tell it of signs of life."""
    heartbeat = terms.heartbeat
    told = time.monotonic()
    try:
        while os.getppid() == parent:
            if connection.poll(_LOOK_SECONDS if heartbeat is None else _BEAT_SECONDS):
                what, *number = connection.recv()
                if what == END:
                    # As often as it takes to be a second one.
                    signals.note(*number)
                    signals.note(*number)
                terms.stop_event.set()
            if heartbeat is not None and time.monotonic() - told > heartbeat.seconds_since_beat():
                told = time.monotonic()
                connection.send((BEAT,))
    except (EOFError, OSError):
        pass
    if not signals.count:
        logger.warning("the pool's parent process %d is gone; this one drains by itself", parent)
    terms.stop_event.set()
