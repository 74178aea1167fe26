"""Telling idle workers that there may be work, so that they need not poll often to start quickly.

A commit of the same process that makes work due makes their claims too (`store.idle`). Writers of other processes are noticed
by one thread. It sleeps until the write-ahead log is written, and then reads `PRAGMA data_version`, which takes no lock, until
the commit shows. Then it stirs one worker; a worker that finds work so stirs the next before it begins, so that a burst wakes
as many as it needs. Nothing here ticks fast: a pool without work costs next to nothing.
"""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, Self

from dura.engine import DurableEngine
from dura.errors import StoreError
from dura.log import logger_of
from dura.store.idle import IdleWorkers
from dura.workers.bell import Bell
from dura.workers.logwatch import LogWatch

logger = logger_of("dura.workers")

_SOON: Final = 0.001
_BREATH: Final = 0.025
_QUIET: Final = 5.0
"""Seconds between two looks for a commit. The log is written before the commit shows, and how long before is up to the disk:
so the first look comes soon, and each further one after twice the time, up to the pause that is kept while all is quiet. A
log that is written all the time is looked at after each breath; so is one whose writing goes unnoticed."""

_TROUBLED: Final = 1.0
"""How long the watcher leaves a store alone that it could not read, in seconds."""

_OUTLIVED: Final = 5.0
"""How long the thread that waits for the stop event may outlive a pool that ends without it, in seconds."""


class Wakeup:
    """What wakes a pool's idle workers. A context manager: inside the block, it does."""

    def __init__(
        self, engine: DurableEngine, stop_event: threading.Event, stopped: Callable[[], None] | None = None
    ) -> None:
        """Prepare to wake the workers of `engine`, all of them once `stop_event` is set.

        Args:
            engine: The store.
            stop_event: Ends the pool.
            stopped: Called once it is set, on a thread of its own.
        """
        self.idle = IdleWorkers()
        """Where they wait."""
        self._engine = engine
        self._stop_event = stop_event
        self._stopped = stopped
        self._ended = False
        self._bell = Bell()
        self._watcher = threading.Thread(target=self._watch, name="dura-watcher", daemon=True)
        self._listener = threading.Thread(target=self._listen, name="dura-stop", daemon=True)

    def __enter__(self) -> Self:
        pools = self._engine.database.idle
        with ExitStack() as stack:
            stack.enter_context(self._bell)
            pools.append(self.idle)
            stack.callback(pools.remove, self.idle)
            for thread in (self._listener, self._watcher):
                # In this order: Ctrl-C may come between the two.
                stack.callback(self._end, thread)
                thread.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *about: object) -> None:
        self._stack.close()

    def _end(self, thread: threading.Thread) -> None:
        self._ended = True
        self._bell.ring()
        if thread.is_alive() and (thread is self._watcher or self._stop_event.is_set()):
            thread.join()

    def _listen(self) -> None:
        """Wait for the stop event: nobody else need look whether it is set."""
        while not self._stop_event.wait(_OUTLIVED):
            if self._ended:
                return
        self.idle.close()
        if self._stopped is not None:
            self._stopped()

    def _watch(self) -> None:
        """Stir at other processes' commits, until the bell rings."""
        if self._ended:
            return  # Ctrl-C came while this thread was being started: the bell is closed, or will be
        log = LogWatch(f"{self._engine.db_path}-wal")
        ended, listening = select.poll(), select.poll()
        ended.register(self._bell.mouth, select.POLLIN)
        listening.register(self._bell.mouth, select.POLLIN)
        if log.descriptor >= 0:
            listening.register(log.descriptor, select.POLLIN)
        seen: tuple[object, int] | None = None
        pause = _SOON
        try:
            while not ended.poll(1000 * pause if pause <= _BREATH else 0):
                if pause > _BREATH and listening.poll(1000 * pause):
                    pause = _SOON
                    continue
                # In this order: what is written from here on is told, what was committed before is seen.
                log.forget()
                log.watch()
                try:
                    version = self._version()
                except StoreError as error:
                    logger.warning("cannot look for other processes' work: %s", error)
                    seen, pause = None, _SOON
                    ended.poll(1000 * _TROUBLED)
                    continue
                pause = min(2 * pause, _QUIET)
                if version != seen:
                    seen = version
                    self.idle.stir()
                    pause = min(pause, _BREATH)
                if not log.watching:
                    pause = _BREATH
        finally:
            log.close()
            self._engine.close()

    def _version(self) -> tuple[object, int]:
        """What differs once another connection has committed. Each connection counts for itself, so its own is part of it."""
        database = self._engine.database
        return database.read(lambda connection: connection), database.version()
