"""The demo's store from start to end: a folder, a past, a pool, a feeder, and nothing left afterwards."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from logging.handlers import RotatingFileHandler
from pathlib import Path
from random import Random
from subprocess import SubprocessError
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

from dura import DurableEngine, EngineError, run_workers
from dura_tui.demo import history
from dura_tui.demo.clock import CatchingUpClock
from dura_tui.demo.crash import crash, spawn_photo
from dura_tui.demo.feeder import QUEUES, Feeder
from dura_tui.demo.handlers import LEASE_SECONDS, Shop

logger = logging.getLogger("dura.demo")

_dura_logger: Final = logging.getLogger("dura")

_WORKERS: Final = 6
_TICK_SECONDS: Final = 0.25
_GRACE_SECONDS: Final = 3.0
_RETENTION: Final = timedelta(minutes=30)
_LOG_BYTES: Final = 500_000
_SEED: Final = 2026


class DemoClosedError(Exception):
    """The demo is being closed; what a handler is doing need not be finished."""


class DemoStore:
    """A live store in a temporary folder. A context manager; `close` is also called when the process ends by itself."""

    def __init__(self) -> None:
        """Make nothing yet."""
        self.path = ""
        """The store's file; empty while there is none."""
        self._undo = ExitStack()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Make the store with a past of some minutes, and set the pool and the feeder to work on it.

        Raises:
            RuntimeError: It has been started already.
            OSError, StoreError: The folder or the file cannot be made. Nothing is left behind.
        """
        with self._lock:
            if self.path:
                raise RuntimeError(f"the demo store {self.path} is running already; close it first")
            try:
                self._start()
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Stop everything, within some seconds, and remove the folder. Nothing happens if there is none."""
        with self._lock:
            self._stop.set()
            for thread in self._threads:
                thread.join(_GRACE_SECONDS + 2)
            self._threads.clear()
            self._undo.close()
            self.path = ""
            atexit.unregister(self.close)

    def _start(self) -> None:
        self._stop = threading.Event()
        atexit.register(self.close)
        folder = Path(
            self._undo.enter_context(TemporaryDirectory(prefix="dura-demo-", ignore_cleanup_errors=True))
        )
        self.path = str(folder / "shop.db")
        self._undo.enter_context(_logging_to(folder / "shop.log"))
        clock = CatchingUpClock(history.LENGTH)
        engine = DurableEngine(self.path, clock=clock, synchronous="NORMAL")
        try:
            feeder = Feeder(engine, Random(_SEED))
            past = Shop(work=lambda seconds: clock.advance(seconds / _WORKERS), dice=Random(_SEED))
            history.play(engine, clock, feeder, past.handlers(), worker_count=_WORKERS)
        finally:
            engine.close()
        self._run("dura-demo-pool", lambda: self._work_off(engine))
        self._run("dura-demo-feeder", lambda: self._feed(engine, feeder))

    def _run(self, name: str, target: Callable[[], None]) -> None:
        # A daemon, because the interpreter waits for any other thread before it calls what was registered for its end.
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _wait(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise DemoClosedError("the demo was closed")

    def _work_off(self, engine: DurableEngine) -> None:
        shop = Shop(work=self._wait, dice=Random(_SEED))
        try:
            run_workers(
                engine,
                handlers=shop.handlers(),
                worker_count=_WORKERS,
                handle_signals=False,
                claim_timeout_secs=LEASE_SECONDS,
                queues=QUEUES,
                shutdown_grace_secs=_GRACE_SECONDS,
                stop_event=self._stop,
            )
        except (EngineError, RuntimeError):
            # From Python 3.12 on no thread starts (RuntimeError) once the interpreter is ending.
            logger.exception("the pool has ended")

    def _feed(self, engine: DurableEngine, feeder: Feeder) -> None:
        dice = Random(_SEED)
        path = self.path
        feeder.every(150, lambda: spawn_photo(engine, dice))
        feeder.every(15, lambda: crash(path))
        feeder.every(60, lambda: engine.cleanup(_RETENTION))
        feeder.hurry()
        try:
            while not self._stop.wait(_TICK_SECONDS):
                try:
                    feeder.tick()
                except (EngineError, OSError, SubprocessError):
                    logger.exception("the feeder met an error and goes on")
        finally:
            engine.close()


class _QuietFile(RotatingFileHandler):
    """A log file whose own faults are not printed: the terminal belongs to the monitor."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Drop the record; its file cannot be written, for example because somebody removed the folder."""


@contextmanager
def _logging_to(file: Path) -> Iterator[None]:
    """Send the engine's log to a file of bounded size, and nothing of it to the terminal."""
    handler = _QuietFile(file, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(message)s"))
    propagated, _dura_logger.propagate = _dura_logger.propagate, False
    _dura_logger.addHandler(handler)
    try:
        yield
    finally:
        _dura_logger.removeHandler(handler)
        _dura_logger.propagate = propagated
        handler.close()
