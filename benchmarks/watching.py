"""Sets and reads back the durability of connections that a system opens for itself, and counts its write locks.

`sqlite3.connect` is replaced in the measured process: the connections it makes are of a subclass that changes nothing
but that they are remembered. So the level that is really in force can be asked of the very connections that did the work,
whatever an option was called, and a system without such an option can have it set.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
import weakref
from typing import Any, Final

_LEVELS: Final = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}
_LOCKING: Final = ("BEGIN IMMEDIATE", "BEGIN EXCLUSIVE")
_WRITING: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class Watch:
    """The connections of this process, once installed."""

    def __init__(self) -> None:
        self.synchronous: str | None = None
        """Executed on each new connection before the system's own statements; None: nothing is."""
        self.tracing = False
        """Whether new connections count the write locks that they take."""
        self.locks = 0
        self._connections: list[tuple[int, weakref.ref[sqlite3.Connection]]] = []
        self._levels: set[str] = set()
        self._journals: set[str] = set()

    def install(self) -> None:
        """Replace `sqlite3.connect`, in whichever module goes by that name."""
        module: Any = sys.modules["sqlite3"]
        watch, original = self, module.connect

        class Watched(module.Connection):  # type: ignore[misc]
            """Remembered, and open to weak references."""

        def connect(*args: Any, **options: Any) -> Any:
            connection = original(*args, **{"factory": Watched, **options})
            watch._opened(connection)
            return connection

        module.connect = sys.modules["sqlite3.dbapi2"].connect = connect  # type: ignore[attr-defined]

    def _opened(self, connection: sqlite3.Connection) -> None:
        self._connections.append((threading.get_ident(), weakref.ref(connection)))
        if self.synchronous is not None:
            connection.execute(f"PRAGMA synchronous={self.synchronous}")
        if self.tracing:
            connection.set_trace_callback(_counter(self, connection))

    def forget(self) -> None:
        """Forget what was opened so far, for the filling of a store is none of the measurement."""
        self._connections.clear()

    def read_back(self, *, mine: bool) -> None:
        """Ask the open connections for their level: `mine`, those of this thread; else those that let other threads."""
        module: Any = sys.modules["sqlite3"]
        for thread, reference in tuple(self._connections):
            connection = reference()
            if connection is None or (mine and thread != threading.get_ident()):
                continue
            try:
                self._levels.add(_LEVELS[connection.execute("PRAGMA synchronous").fetchone()[0]])
                self._journals.add(connection.execute("PRAGMA journal_mode").fetchone()[0])
            except module.Error:
                continue  # closed, or bound to its thread, which has told already

    def ask(self, pragma: str) -> int:
        """What a PRAGMA is on a connection that lets other threads ask."""
        for _, reference in tuple(self._connections):
            connection = reference()
            if connection is not None:
                try:
                    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
                except sys.modules["sqlite3"].Error:
                    continue  # closed, or bound to its thread
        raise RuntimeError(f"no connection tells its {pragma}")

    def add(self, durability: dict[str, list[str]]) -> None:
        """Add what another process read back."""
        self._levels.update(durability["synchronous"])
        self._journals.update(durability["journal"])

    def durability(self) -> dict[str, list[str]]:
        """What was read back."""
        return {"synchronous": sorted(self._levels), "journal": sorted(self._journals)}


def _counter(watch: Watch, connection: sqlite3.Connection) -> Any:
    held = weakref.ref(connection)

    def note(statement: str) -> None:
        text = statement.lstrip().upper()
        open_connection = held()
        alone = open_connection is not None and not open_connection.in_transaction
        if text.startswith(_LOCKING) or (alone and text.startswith(_WRITING)):
            watch.locks += 1

    return note
