"""What every test of the engine stands on: a clock that only the test moves, and a store on a real file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dura import DurableEngine


class ManualClock:
    """A clock that stands still until it is told to move, in either direction."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


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


def wait_until(condition: Callable[[], object], *, within: float = 20.0) -> None:
    """Wait for a fact, not for a time; give up with an error."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)
