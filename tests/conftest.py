"""What every test of the engine stands on: a clock that only the test moves, and a store on a real file."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest

from counts import Count, Counts, counter
from dura import ClaimedTask, DurableEngine
from dura.store import door
from dura.store.views.look import Look

UNBATCHED = Path(__file__).parent / "unbatched"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--batching", choices=("on", "off"), default="on", help="whether one commit may serve many operations"
    )
    parser.addoption("--counts", metavar="FILE", help="add what the tests counted to what this file holds")


def pytest_configure(config: pytest.Config) -> None:
    # Its assertions are to say what they compared, as those in tests do, whoever imports it first.
    pytest.register_assert_rewrite("model")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job ignores Ctrl-C, and so would every program that a test starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # However busy the machine is, no look at a store is cut short; tests about that have watches of their own.
    Look.__init__.__defaults__ = (60.0,)
    # Nor has an example to be found or tried in time, and but for a soak they are the same each time.
    hypothesis.settings.register_profile(
        "steady",
        deadline=None,
        derandomize="DURA_TEST_SOAK" not in os.environ,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("steady")
    if (file := config.getoption("--counts")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Counts(Path(file)))
    if config.getoption("--batching") == "off":
        door._LARGEST_COMPANY = 0  # type: ignore[misc]  # what nothing but this option changes
        paths = [str(UNBATCHED), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--batching") == "off":
        for item in items:
            if item.get_closest_marker("batching"):
                item.add_marker(pytest.mark.skip(reason="is about batching"))


R = TypeVar("R")


class ManualClock:
    """A clock that stands still until it is told to move, in either direction."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def count(record_property: Callable[[str, object], None]) -> Count:
    """Says how often something was tried, for docs/reliability.md."""
    return counter(record_property)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def engine(path: Path, clock: ManualClock) -> Iterator[DurableEngine]:
    """An engine on a new store; what the test left in it is checked against the invariants."""
    engine = DurableEngine(path, clock=clock)
    yield engine
    assert engine.check() == ()
    engine.close()


def wait_until(condition: Callable[[], object], *, within: float = 60.0) -> None:
    """Wait for a fact, not for a time; give up with an error."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


def can_be_told_to_end(pid: int) -> bool:
    """Whether a program catches SIGTERM, as one does whose pool runs: one that has just been started would die of it."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        return bool(caught & 1 << signal.SIGTERM - 1)
    return False


def claim(engine: DurableEngine, **wanted: Any) -> ClaimedTask:
    """Claim the best run, which has to be there."""
    task = engine.claim_task(**{"worker_id": "w1", **wanted})
    assert task is not None, "nothing to claim"
    return task


def started(engine: DurableEngine, *, lease: float = 60, **spawn: Any) -> ClaimedTask:
    """Spawn a task and claim it; nothing else may be claimable."""
    ref = engine.spawn_task(**{"name": "job", "params": None, **spawn})
    task = claim(engine, timeout_secs=lease)
    assert task.run_id == ref.run_id, "another run was claimable"
    return task


def at_once(engine: DurableEngine, call: Callable[[], R]) -> R:
    """Make all engine calls of `call` in one transaction: thousands of them are then quick."""
    result: list[R] = []
    engine.update_state(namespace="test", key="at once", fn=lambda _: result.append(call()))
    return result[0]


@contextmanager
def plain(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of the standard library to the file, in autocommit mode: what anyone else may do to a store."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    try:
        yield connection
    finally:
        connection.close()


def rows(path: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """What a statement finds in the file, read beside the engine."""
    with plain(path) as connection:
        return connection.execute(sql, values).fetchall()


TABLES = ("tasks", "runs", "checkpoints", "events", "waits", "state")


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the six tables, to compare before and after."""
    with plain(path) as connection:
        return {
            table: connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()
            for table in TABLES
        }


def trace(engine: DurableEngine, note: Callable[[str], object] | None) -> None:
    """Let `note` be told of every statement that this thread's calls execute; None ends it."""
    engine.database.read(lambda connection: connection.set_trace_callback(note))
    engine.database.write(lambda tx: tx.connection.set_trace_callback(note))
