"""A store that the 1.3.0 release wrote, fresh for each test, and the time at which its story ends."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conftest import ManualClock, rows

RELEASE_1_3_0 = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


@pytest.fixture
def old(path: Path) -> Path:
    """A copy of the store that the release wrote."""
    shutil.copy(RELEASE_1_3_0, path)
    return path


@pytest.fixture
def story(clock: ManualClock) -> ManualClock:
    """The clock when the story of that store ends."""
    clock.moment = datetime(2026, 1, 5, 9, 8, tzinfo=UTC)
    return clock


def task_of(path: Path, key: str) -> str:
    """The id of the task that an idempotency key names."""
    ((task_id,),) = rows(path, "SELECT task_id FROM tasks WHERE idempotency_key = ?", key)
    return str(task_id)


def runs_of(path: Path, key: str) -> list[tuple[int, str]]:
    """Attempt and state of each run of the task that a key names."""
    found = rows(
        path,
        "SELECT attempt, state FROM runs WHERE task_id = ? ORDER BY attempt, rowid",
        task_of(path, key),
    )
    return [(attempt, state) for attempt, state in found]
