"""Queues: depth, the oldest due run, rates, and when they drain."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import ManualClock, claim
from dura import DurableEngine
from dura.monitor import Monitor
from dura.records import QueueRow, Want
from tui.harness import go_to, running, says, table, tick, until

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


def found(path: Path, clock: ManualClock) -> dict[str, QueueRow]:
    with Monitor(path, clock=clock) as monitor:
        snapshot = monitor.snapshot(Want(queues=True))
    assert snapshot.truncated == ()
    # What the rows hold is what is counted anyway.
    totals = snapshot.totals()
    for state in ("pending", "running", "sleeping", "completed", "failed", "cancelled"):
        assert sum(getattr(row, state) for row in snapshot.queues) == totals.get(state, 0)
    if snapshot.file.origin == "dura":  # An old file can hold pending runs of tasks that have ended.
        assert sum(row.ready for row in snapshot.queues) == snapshot.ready
    return {row.queue: row for row in snapshot.queues}


def work(engine: DurableEngine, queue: str, count: int) -> None:
    for _ in range(count):
        task = claim(engine, queue=queue)
        engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)


def test_a_queue_s_depth_and_oldest_due_are_its_own(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.spawn_task(name="a", params=None, queue="mail", priority=5)
    clock.advance(10)
    engine.spawn_task(name="a", params=None, queue="mail")
    engine.spawn_task(name="b", params=None, queue="slow", available_after=timedelta(seconds=20))
    engine.spawn_task(name="b", params=None, queue="slow", available_after=timedelta(seconds=900))
    engine.spawn_task(name="c", params=None)
    work(engine, "default", 1)
    began = clock.moment
    clock.advance(30)
    queues = found(path, clock)
    assert list(queues) == ["default", "mail", "slow"]
    mail, slow, default = queues["mail"], queues["slow"], queues["default"]
    assert (mail.ready, mail.pending, mail.oldest_due) == (2, 2, began - timedelta(seconds=10))
    assert (slow.ready, slow.pending, slow.sleeping) == (1, 0, 2)
    assert slow.oldest_due == began + timedelta(seconds=20)
    assert (default.ready, default.completed, default.oldest_due, default.drain_seconds) == (0, 1, None, 0.0)


def test_the_time_to_drain_is_told_by_what_comes_and_what_goes(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    for _ in range(30):
        engine.spawn_task(name="a", params=None, queue="full")
    engine.spawn_task(name="a", params=None, queue="stuck")
    clock.advance(400)
    for _ in range(5):
        engine.spawn_task(name="a", params=None, queue="full")
    work(engine, "full", 10)
    full, stuck = found(path, clock)["full"], found(path, clock)["stuck"]
    assert full.ready == 25
    assert full.in_per_minute == pytest.approx(1)
    assert full.out_per_minute == pytest.approx(2)
    assert full.drain_seconds == pytest.approx(25 * 60)
    assert (stuck.in_per_minute, stuck.drain_seconds) == (0, None)


def test_a_file_of_1_3_0_is_one_queue(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "old.db"
    shutil.copyfile(FIXTURE, path)
    assert list(found(path, clock)) == ["default"]


async def test_queues_say_what_grows_what_stands_and_since_when(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.spawn_task(name="a", params=None, queue="stuck")
    clock.advance(400)
    for _ in range(12):
        engine.spawn_task(name="b", params=None, queue="grows")
    async with running(path, clock) as pilot:
        await go_to(pilot, "0", "stuck")
        await says(pilot, "stands", "6m", "grows", "READY", "DRAINS IN")
        assert table(pilot).keys == ("grows", "stuck")
        await tick(pilot, clock, 60)
        await says(pilot, "7m")
        await pilot.press("g", "enter")
        await says(pilot, "filter queue:grows", "1 to 12 of 12")
        await pilot.press("minus")
        await until(pilot, lambda: table(pilot).key == "grows")
