"""What makes the engine fast, each thing with a way to do without it: for `ablation`, which measures what each gives.

The engine has no such switches. A mechanism is switched off by replacing a constant or a function of the engine's in the
measured process before anything is opened. What is replaced must exist: when the engine has changed, the measurement fails
instead of comparing the engine with itself.
"""

from __future__ import annotations

import importlib
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

_DRAINS: Final = ("drain-full-8", "steps-8")


@dataclass(frozen=True)
class Mechanism:
    """One of them."""

    id: str
    title: str
    without: str
    """What happens instead when it is switched off."""
    off: Callable[[], None]
    """Switches it off, in this process, for good."""
    rows: tuple[str, ...] = _DRAINS
    """Where it should show."""


def switch_off(name: str) -> None:
    """Switch a mechanism off in this process."""
    BY_ID[name].off()


def _replace(module: str, name: str, value: Any) -> Any:
    """Replace an attribute of a module, or of a class in it (`Class.attribute`), and return what it was."""
    owner: Any = importlib.import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    before = getattr(owner, last)
    setattr(owner, last, value)
    return before


def _replace_everywhere(module: str, name: str, value: Any) -> None:
    """Replace a function of a module also where others have imported it by its name."""
    import dura.workers  # noqa: F401 - so that everybody who imports it has

    before = _replace(module, name, value)
    for user in tuple(sys.modules.values()):
        if user.__name__.startswith("dura.") and getattr(user, name, None) is before:
            setattr(user, name, value)


def _no_company() -> None:
    _replace("dura.store.door", "_LARGEST_COMPANY", 0)


def _no_merging() -> None:
    def write_together(self: Any, operation: Any, request: Any) -> Any:
        return self.write(lambda tx: operation(tx, [request])[0])

    _replace("dura.store.database", "Database.write_together", write_together)


def _no_fusing() -> None:
    def settle_and_claim(self: Any, settlement: Any, wanted: Any) -> Any:
        return self.settle(settlement), self.claim_next(wanted)

    _replace("dura.engine", "DurableEngine.settle_and_claim", settle_and_claim)


def _a_connection_each() -> None:
    """Leaders write on the connection of their own thread, as readers do."""

    def writer(self: Any) -> Any:
        return self.link() if "_links_lock" in vars(self) else vars(self)["writer"]

    def first_writer(self: Any, link: Any) -> None:
        vars(self)["writer"] = link

    module = importlib.import_module("dura.store.connections")
    if not hasattr(module.Connections("", busy_timeout_ms=0, synchronous="FULL"), "writer"):
        raise AttributeError("dura.store.connections.Connections has no writer")
    module.Connections.writer = property(writer, first_writer)


def _small_cache() -> None:
    _replace("dura.store.connections", "_WRITERS_CACHE_KIB", 2_000)


def _temporary_files() -> None:
    def open_one(self: Any, link: Any) -> Any:
        fresh = link.connection is None
        connection = before(self, link)
        if fresh:
            connection.execute("PRAGMA temp_store=DEFAULT")
        return connection

    before = _replace("dura.store.connections", "Connections.open", open_one)


def _a_row_at_a_time() -> None:
    def execute(self: Any, tx: Any, values: Any) -> int:
        width = self._width
        rows = [values[at : at + width] for at in range(0, len(values), width)]
        return int(tx.executemany(self._statements[1], rows).rowcount)

    _replace("dura.store.insertion", "Insertion.execute", execute)


def _constant_lookout() -> None:
    _replace("dura.store.due", "_LOOKOUT_SECONDS", 0.0)


def _look_at_every_step() -> None:
    _replace("dura.current", "CurrentClaim.shows_unused", lambda self, step, disturbances: False)


def _look_at_first_steps() -> None:
    _replace("dura.engine.tasks", "saw_fresh", lambda *args, **kwargs: None)


def _no_waiting_for_company() -> None:
    _replace("dura.store.door", "Door.await_company", lambda self, ticket: None)


def _sqlites_own_wait() -> None:
    def begin(connection: Any, timeout: float) -> None:
        connection.execute(f"PRAGMA busy_timeout={int(timeout * 1000)}")
        connection.execute("BEGIN IMMEDIATE")

    _replace("dura.store.commits", "begin", begin)


def _random_ids() -> None:
    from benchmarks import bulk_rows

    _replace_everywhere("dura.ids", "new_ids", lambda count: [uuid.uuid4().hex for _ in range(count)])
    _replace("benchmarks.bulk_rows", "ORDERED_IDS", bulk_rows.RANDOM_IDS)


def _no_riding_along() -> None:
    @contextmanager
    def stirring(pools: Any, tx: Any, call: Any) -> Iterator[list[Any]]:
        yield []
        if tx.announces:
            for idle in tuple(pools):
                idle.stir()

    _replace("dura.store.commits", "claims_ride_along", stirring)


def _no_wakeups() -> None:
    _replace("dura.store.idle", "IdleWorkers.stir", lambda self: None)
    _replace("dura.store.commits", "claims_ride_along", lambda pools, tx, call: nullcontext([]))


def _no_driver() -> None:
    _replace("dura.workers.crew", "_PROOF", sys.maxsize)


def _triggers() -> None:
    """New files have the triggers that upgraded ones have."""

    def with_triggers(resource: str) -> Any:
        yield from before(resource)
        if resource == "indexes.sql":
            yield from before("triggers.sql")

    before = _replace("dura.store.schema", "statements", with_triggers)


MECHANISMS: Final = (
    Mechanism(
        "company", "commit for all who wait", "each operation is a transaction of its own", _no_company
    ),
    Mechanism(
        "awaiting",
        "wait a moment for those who were let go last",
        "a leader begins at once, and shares the interpreter with them",
        _no_waiting_for_company,
        rows=(*_DRAINS, "steps-32"),
    ),
    Mechanism(
        "merging",
        "merge the same operations of all who wait",
        "each operation of a commit has its own statements, in a savepoint",
        _no_merging,
    ),
    Mechanism(
        "driver",
        "one thread carries out quick handlers for all workers",
        "a thread is woken for each run",
        _no_driver,
        rows=("drain-full-8", "drain-normal-8"),
    ),
    Mechanism(
        "fusing", "settle and claim in one transaction", "two transactions, one after the other", _no_fusing
    ),
    Mechanism(
        "writer",
        "one writing connection a process",
        "each thread writes on its own, whose cache is cold after another's commit",
        _a_connection_each,
    ),
    Mechanism("cache", "16 MiB of page cache for the writer", "SQLite's 2 MB", _small_cache),
    Mechanism(
        "temporary",
        "journals of statements in memory",
        "SQLite's default for temporary files",
        _temporary_files,
    ),
    Mechanism(
        "rows",
        "insert many rows by one statement",
        "executemany, which begins the statement anew for each",
        _a_row_at_a_time,
        rows=("bulk", "steps-32"),
    ),
    Mechanism(
        "lookout",
        "look after what is due every 50 ms while there is work",
        "at every claim",
        _constant_lookout,
    ),
    Mechanism(
        "sightings",
        "take a step for unused that was seen unused a moment ago",
        "a read before each step",
        _look_at_every_step,
        rows=("steps-8", "steps-32"),
    ),
    Mechanism(
        "first",
        "let the claim look for used steps",
        "the first step looks",
        _look_at_first_steps,
        rows=("steps-8", "steps-32"),
    ),
    Mechanism(
        "looks",
        "look for another process's lock every 0.2 ms at first",
        "SQLite's busy handler, after 1, 2, 5, 10 and more",
        _sqlites_own_wait,
        rows=("processes", "cleanup"),
    ),
    Mechanism(
        "ids",
        "ids that sort by time",
        "random ones",
        _random_ids,
        rows=("spawn-large", "drain-full-8"),
    ),
    Mechanism(
        "riding",
        "claim for idle workers in the transaction that makes work due",
        "wake one, which looks and claims",
        _no_riding_along,
        rows=("latency", "drain-full-8"),
    ),
    Mechanism(
        "wake-ups",
        "wake idle workers after a commit",
        "one of them looks once a second",
        _no_wakeups,
        rows=("latency", "latency-outside"),
    ),
    Mechanism(
        "counters",
        "counters that follow once before the commit, and a fence that is no trigger",
        "the triggers of upgraded files, asked at each change of a row",
        _triggers,
        rows=(*_DRAINS, "drain-full-1", "spawn"),
    ),
)
BY_ID: Final = {mechanism.id: mechanism for mechanism in MECHANISMS}
