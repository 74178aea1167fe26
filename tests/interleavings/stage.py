"""The stage: a store whose engines give way at their door, and which is as it was before each play.

Yield points are put where threads of a process, and processes at SQLite's lock, can meet: before and after each read, before
each write, in the line, as a leader looks for company, before each operation in a transaction, before the commit, and between
the commit and the word to its callers. What would block a thread is a gate of the scheduler's: its ticket, the lock under
which idle workers are served, and SQLite's own write lock, for which engines that stand for processes wait.
"""

from __future__ import annotations

import sqlite3
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conftest import TABLES, ManualClock
from dura import DurableEngine, current
from dura.current import CurrentClaim
from dura.engine import oversight
from dura.engine.pace import Pace
from dura.store import commits, counts, database, door, idle, invariants
from dura.store.door import Ticket
from dura.store.idle import IdleWorkers
from interleavings.scheduler import Gate, Scheduler

Rows = dict[str, list[tuple[Any, ...]]]


class Stage:
    """A store, two engines on it, and the threads that play."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, company: int) -> None:
        self.path = folder / "store.db"
        self.clock = ManualClock()
        self.scheduler = Scheduler(4)
        self.engines = [
            DurableEngine(self.path, clock=self.clock, synchronous="NORMAL", busy_timeout_ms=20_000)
            for _ in range(2)
        ]
        """They have a door each, as if they were of two processes."""
        self.other = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self.other.execute("PRAGMA synchronous=OFF")
        self.idle: list[IdleWorkers] = []
        """The pool of each engine, while there is one."""
        self.claims: dict[str, CurrentClaim] = {}
        """What handlers know of their claims, by the run or the worker."""
        self._lock = Gate(self.scheduler, "SQLite's lock", held=False)
        self._hurries = False
        self._seconds = 0.0
        self._inserts = {table: self._insert(table) for table in TABLES}
        self._empty = self.keep()
        monkeypatch.setattr(door, "_LARGEST_COMPANY", company)
        self._put_yield_points(monkeypatch)
        self._stop_watches(monkeypatch)

    def end(self) -> None:
        """Leave nothing behind."""

        def close() -> None:
            for engine in self.engines:
                engine.close()

        self.scheduler.play([close] * 4, "end")
        self.scheduler.end()
        close()
        self.other.close()
        assert [file.name for file in self.path.parent.iterdir()] == [self.path.name]

    def clear(self) -> None:
        """Empty the store, on the first day."""
        self.clock.moment = ManualClock().moment
        self.restore(self._empty)

    def keep(self) -> Rows:
        """Every row of the store, to begin with again and again."""
        return {
            table: self.other.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()
            for table in TABLES
        }

    def restore(self, kept: Rows) -> None:
        """Make the store what it was, ids and all."""
        self.other.execute("BEGIN IMMEDIATE")
        # The rows of the table `state` last: triggers count in it what happens to the others.
        for table in TABLES:
            self.other.execute(f"DELETE FROM {table}")
        for table, rows in kept.items():
            if table == "state":
                self.other.execute("DELETE FROM state")
            self.other.executemany(self._inserts[table], rows)
        self.other.execute("COMMIT")
        self.claims.clear()
        for engine in self.engines:
            # As if nobody had looked for what is due yet, or stood in line.
            lookout = engine._take_turns.keywords["lookout"]
            lookout._last = lookout._next = ""
            vars(engine.database._door).update(vars(door.Door()))

    def _insert(self, table: str) -> str:
        columns = [name for (name,) in self.other.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        return f"INSERT INTO {table} (rowid, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})"

    @contextmanager
    def pools(self) -> Iterator[None]:
        """Let each engine have idle workers, inside the block."""
        for engine in self.engines:
            pool = IdleWorkers()
            pool._serving = Gate(self.scheduler, "the idle to be served", held=False)  # type: ignore[assignment]
            self.idle.append(pool)
            engine.database.idle.append(pool)
        try:
            yield
        finally:
            for engine in self.engines:
                engine.database.idle.clear()
            self.idle.clear()

    def play(
        self,
        calls: Sequence[Callable[[], object]],
        seed: str,
        *,
        quiet: Callable[[], str | None] | None = None,
    ) -> None:
        """Let the calls meet."""
        self._hurries = Random(f"{seed} hurries").random() < 0.2
        self.scheduler.play(calls, seed, quiet=quiet)

    def _put_yield_points(self, patch: pytest.MonkeyPatch) -> None:
        give_way, scheduler = self.scheduler.give_way, self.scheduler

        class ScheduledTicket(Ticket[Any]):
            def __init__(self, *about: Any, **options: Any) -> None:
                super().__init__(*about, **options)
                self.gate = Gate(scheduler, "its turn", held=True)  # type: ignore[assignment]

        def before(owner: Any, name: str, where: str, *, after: str | None = None) -> None:
            original = getattr(owner, name)

            def giving_way(*about: Any, **options: Any) -> Any:
                give_way(where)
                result = original(*about, **options)
                if after is not None:
                    give_way(after)
                return result

            patch.setattr(owner, name, giving_way)

        lead = commits.Commits.lead

        def lead_under_the_lock(self: commits.Commits, first: Ticket[Any]) -> None:
            give_way("leads")
            with lock:
                lead(self, first)

        lock = self._lock
        for room in (database, idle):
            patch.setattr(room, "Ticket", ScheduledTicket)
        patch.setattr(commits.Commits, "lead", lead_under_the_lock)
        before(commits.Commits, "_commit", "commits")
        before(commits, "_call", "operates")
        before(door.Door, "wait", "enters")
        before(door.Door, "await_company", "awaits company")
        before(door.Door, "company", "looks for company")
        before(door.Door, "settle", "tells", after="has told")
        before(door.Door, "put_back", "puts back")
        before(door.Door, "leave", "leaves", after="has left")
        before(database.Database, "read", "reads", after="has read")
        for name in ("write", "write_together", "write_all_together"):
            before(database.Database, name, "writes")

    def _stop_watches(self, patch: pytest.MonkeyPatch) -> None:
        """Let no play depend on how fast the machine is."""
        patch.setattr(commits, "time", types.SimpleNamespace(monotonic=self._monotonic))
        for room in (current, door):
            patch.setattr(room, "monotonic", lambda: 0.0)
        rest: Callable[[float], None] = lambda _: self.scheduler.give_way("rests")  # noqa: E731
        patch.setattr(oversight, "Pace", partial(Pace, timer=lambda: 0.0, sleep=rest))

    def _monotonic(self) -> float:
        """The time by which a leader ends its batch: it stands still, or is over now and then."""
        if self._hurries and self.scheduler.chance.random() < 0.5:
            self._seconds += 1
        return self._seconds


def exceptions(connection: sqlite3.Connection) -> list[object]:
    """What `check` would find, short of SQLite's own look through the whole file."""
    return [*invariants.exceptions(connection), *counts.wrong(connection)]
