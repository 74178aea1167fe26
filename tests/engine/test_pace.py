"""The pace of upkeep: batches of about the same time, bounded, and rests in which the log is emptied."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from dura import DurableEngine
from dura.engine.pace import Pace
from dura.store.transaction import Transaction


class Watch:
    """A timer that only work and sleep move."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.seconds += seconds


def work(watch: Watch, amounts: list[int], each: float) -> Callable[[Transaction, int], int]:
    """Work that takes `each` seconds a row."""

    def batch(tx: Transaction, most: int) -> int:
        amounts.append(most)
        watch.seconds += most * each
        return most

    return batch


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def pace(engine: DurableEngine, watch: Watch) -> Pace:
    return Pace(engine.database, timer=watch, sleep=watch.sleep)


@pytest.mark.parametrize("each", [0.000005, 0.00002, 0.0001])
def test_batches_grow_or_shrink_to_the_time_that_they_may_take(pace: Pace, watch: Watch, each: float) -> None:
    amounts: list[int] = []
    for _ in range(20):
        pace.batch(work(watch, amounts, each))
    assert 0.0005 < amounts[-1] * each < 0.0015


def test_a_batch_that_took_long_is_followed_by_a_small_one(pace: Pace, watch: Watch) -> None:
    amounts: list[int] = []
    for _ in range(10):
        pace.batch(work(watch, amounts, 0.00001))
    pace.batch(work(watch, amounts, 0.001))
    pace.batch(work(watch, amounts, 0.001))
    assert amounts[-1] < amounts[-2] / 10


def test_the_size_of_a_batch_is_bounded_on_both_sides(pace: Pace, watch: Watch) -> None:
    amounts: list[int] = []
    for _ in range(20):
        pace.batch(work(watch, amounts, 0.0))
    for _ in range(20):
        pace.batch(work(watch, amounts, 1.0))
    assert max(amounts) == 2000
    assert amounts[-1] == 5


def test_there_is_a_rest_between_batches_and_a_longer_one_after_a_long_batch(
    pace: Pace, watch: Watch
) -> None:
    for _ in range(10):
        pace.batch(work(watch, [], 0.00001))
    pace.batch(lambda tx, most: setattr(watch, "seconds", watch.seconds + 0.05))
    pace.batch(work(watch, [], 0.00001))
    assert watch.sleeps[1:-1] == pytest.approx([0.003] * len(watch.sleeps[1:-1]))
    assert len(watch.sleeps) > 5
    assert watch.sleeps[-1] == pytest.approx(0.05, rel=0.1)


def test_batches_that_find_little_to_do_take_no_rest(pace: Pace, watch: Watch) -> None:
    for _ in range(5):
        pace.batch(work(watch, [], 0.0000005))
    assert watch.sleeps == []


def test_the_log_is_in_the_file_after_some_rests(
    pace: Pace, watch: Watch, engine: DurableEngine, path: Path
) -> None:
    def logged() -> bool:
        still = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        found = still.execute("SELECT name FROM sqlite_master WHERE name = 'state'").fetchall()
        still.close()
        return found == []

    batches = 0
    while logged() and batches < 50:
        pace.batch(work(watch, [], 0.00001))
        batches += 1
    assert 10 < batches < 50


def test_work_inside_an_open_operation_takes_no_rest(pace: Pace, watch: Watch, engine: DurableEngine) -> None:
    def inside(_: object) -> None:
        for _ in range(50):
            pace.batch(work(watch, [], 0.001))

    engine.update_state(namespace="n", key="k", fn=inside)
    assert watch.sleeps == []


def test_what_work_returns_is_returned_and_what_it_raises_is_undone(
    pace: Pace, engine: DurableEngine
) -> None:
    assert pace.batch(lambda tx, most: "done") == "done"

    def fail(tx: Transaction, most: int) -> None:
        tx.execute("INSERT INTO state VALUES ('n', 'k', '1', '2026')")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        pace.batch(fail)
    assert engine.get_state(namespace="n", key="k") is None
