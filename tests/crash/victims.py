"""A process that forks a victim for each order read from its input: `python victims.py`.

The victim opens the store, does an operation, alone or between two others in one batch, and is killed on the way or has
its disk fail. The traps are set here, never in the engine: at SQLite's own report of each statement, at the kernel's limit
of a file's size, at SQLite's limit of pages, at a foreign lock. What the victim's callers are told goes through a pipe the
moment they are told it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from crash.operations import OPERATIONS, seeded
from dura import DurableEngine, EngineError

_plain_connect: Final = sqlite3.connect
_NO_LIMIT: Final = 2**30
_PATIENCE: Final = 60.0

Say = Callable[[str], None]


class Trap:
    """What happens to the victim, and the connections that it happens on."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.kill_at: int | None = order.get("kill_at")
        self.pages: int | None = order.get("pages")
        self.armed = False
        self.statements = 0
        self.connections: list[sqlite3.Connection] = []
        sqlite3.connect = self.connect  # type: ignore[assignment]

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = _plain_connect(*arguments, **options)
        self.connections.append(connection)
        if self.pages is not None:
            (count,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count={count + self.pages}")
        connection.set_trace_callback(self.statement)
        return connection

    def statement(self, sql: str) -> None:
        """SQLite is about to run a statement (those of triggers are reported too)."""
        if self.armed:
            self.statements += 1
            if self.statements == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def lift(self) -> None:
        """The disk has room again."""
        self.armed = False
        for connection in self.connections if self.pages is not None else ():
            with suppress(sqlite3.ProgrammingError):  # it was closed
                connection.execute(f"PRAGMA max_page_count={_NO_LIMIT}")


@contextmanager
def room(path: str, order: dict[str, Any]) -> Iterator[None]:
    """Let the write-ahead log grow by so many bytes and no further: the write that crosses the line is torn."""
    if "bytes" not in order:
        yield
        return
    wal = Path(f"{path}-wal")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = (wal.stat().st_size if wal.exists() else 0) + order["bytes"]
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if order["fatal"] else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def foreign_lock(path: str) -> Iterator[None]:
    other = _plain_connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


def call(who: str, do: Callable[[], object], say: Say, *, untold: bool = False) -> None:
    try:
        do()
    except EngineError as error:
        say(f"{who} error {type(error).__name__}")
    else:
        if untold:
            os.kill(os.getpid(), signal.SIGKILL)
        say(f"{who} told")


def together(engine: DurableEngine, calls: dict[str, Callable[[], object]], say: Say) -> None:
    """Make the calls from threads that stand in line one behind the other, so that one of them serves all."""
    threads = [threading.Thread(target=call, args=(who, do, say)) for who, do in calls.items()]
    line = engine.database._door._line
    with foreign_lock(engine.db_path):
        for place, thread in enumerate(threads):
            thread.start()
            deadline = time.monotonic() + _PATIENCE
            while len(line) <= place and time.monotonic() < deadline:
                time.sleep(0.001)
    for thread in threads:
        thread.join()


def suffer(order: dict[str, Any], say: Say) -> None:
    """The victim's life."""
    path, facts = order["path"], order["facts"]
    moment = datetime.fromisoformat(order["moment"])
    timeout = 10 if order.get("locked") else 60_000
    trap = Trap(order)

    def opened() -> DurableEngine:
        return DurableEngine(path, clock=lambda: moment, synchronous="NORMAL", busy_timeout_ms=timeout)

    if order["name"] == "open":
        trap.armed = True
        with room(path, order):
            call("operation", opened, say)
    else:
        engine = opened()
        engine.has_state("n")
        operation = OPERATIONS[order["name"]]
        calls: dict[str, Callable[[], object]] = {
            "left": lambda: engine.set_state(namespace="left", key="k", value=1),
            "operation": lambda: seeded(operation, engine, facts),
            "right": lambda: engine.set_state(namespace="right", key="k", value=1),
        }
        trap.armed = True
        with room(path, order):
            if order.get("locked"):
                with foreign_lock(path):
                    call("operation", calls["operation"], say)
            elif order["company"]:
                together(engine, calls, say)
            else:
                call("operation", calls["operation"], say, untold=order.get("untold", False))
        if "bytes" not in order:
            say(f"statements {trap.statements}")
        say(f"wal {Path(f'{path}-wal').stat().st_size}")
        trap.lift()
        call("later", lambda: engine.set_state(namespace="later", key="k", value=1), say)
        engine.close()
    say(f"statements {trap.statements}")


def forked(order: dict[str, Any]) -> dict[str, Any]:
    """Let a child carry out the order, and return what it said and how it ended."""
    reading, writing = os.pipe()
    victim = os.fork()
    if victim == 0:
        code = 1
        try:
            with os.fdopen(writing, "w", buffering=1) as pipe:
                suffer(order, lambda text: void(pipe.write(f"{text}\n")))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read().splitlines()
    _, status = os.waitpid(victim, 0)
    return {"said": said, "exit": os.waitstatus_to_exitcode(status)}


def void(_: object) -> None:
    """Forget a value."""


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(forked(json.loads(line))) + "\n")
        sys.stdout.flush()
