"""Workers: who is there or gone, what each holds, and at what rate it works."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ManualClock, claim, rows
from dura import DurableEngine
from dura.monitor import Monitor
from dura.records import Want, WorkerRow
from tui.harness import go_to, gone, monitor, running, says, table, text, tick, until


def dead_worker() -> str:
    """The id of a worker whose process has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(timeout=60)
    return f"{socket.gethostname()}:{process.pid}:worker_1"


def hold(engine: DurableEngine, worker: str, lease: float = 60, name: str = "job") -> str:
    """A run that the worker holds; its id."""
    engine.spawn_task(name=name, params=None)
    return claim(engine, worker_id=worker, timeout_secs=lease).run_id


def settle(engine: DurableEngine, worker: str, *, fails: bool = False) -> None:
    engine.spawn_task(name="job", params=None, max_attempts=1)
    task = claim(engine, worker_id=worker)
    if fails:
        engine.fail_run(run_id=task.run_id, reason={}, claim_token=task.claim_token)
    else:
        engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)


def found(path: Path, clock: ManualClock) -> dict[str, WorkerRow]:
    with Monitor(path, clock=clock) as monitor:
        return {row.worker_id: row for row in monitor.snapshot(Want(workers=True)).workers}


def test_a_worker_s_rate_is_of_the_last_five_minutes_and_its_counts_of_the_hour(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    settle(engine, "a")
    settle(engine, "b")
    clock.advance(3_000)
    for _ in range(3):
        settle(engine, "a")
    settle(engine, "a", fails=True)
    workers = found(path, clock)
    assert (workers["a"].completed, workers["a"].failed) == (4, 1)
    assert workers["a"].per_minute == pytest.approx(4 / 5)
    assert (workers["b"].completed, workers["b"].per_minute) == (1, 0)


def test_a_sampled_rate_is_of_the_time_that_the_sample_reaches(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dura.store.views.workers._SAMPLE", 4)
    for _ in range(6):
        settle(engine, "a")
        clock.advance(10)
    worker = found(path, clock)["a"]
    assert worker.sampled
    assert worker.per_minute == pytest.approx(4 * 60 / 40)


def test_what_a_worker_holds_is_named_up_to_five_with_the_soonest_expiry_first(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    runs = [hold(engine, "a", lease=60 - number) for number in range(7)]
    worker = found(path, clock)["a"]
    assert worker.leases == 7
    assert [lease.run_id for lease in worker.holding] == runs[:-6:-1]


async def test_a_gone_worker_that_holds_something_comes_first_and_its_run_can_be_acted_on(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    here = f"{socket.gethostname()}:1:worker_1"
    hold(engine, here, name="fine")
    settle(engine, "another form")
    dead = dead_worker()
    run = hold(engine, dead, lease=30, name="lost")
    async with running(path, clock, size=(100, 24)) as pilot:
        await go_to(pilot, "9", f"run\0{run}")
        keys = [key.replace("\0", " ") for key in table(pilot).keys]
        assert keys[0] == f"worker {dead}"
        await says(pilot, "✗ gone", "● alive", "? unknown", "3 workers", "1 gone", "2 leases", "30s")
        await tick(pilot, clock, 34)
        await says(pilot, "overdue 4s")
        await pilot.press("c")
        await says(pilot, "Cancel this task?", "lost")
        await pilot.press("y")
        await says(pilot, "✓ cancelled lost")
        await until(pilot, lambda: table(pilot).ghost == f"run\0{run}")
    assert rows(path, "SELECT state FROM runs WHERE run_id = ?", run) == [("cancelled",)]


async def test_enter_goes_to_the_task_that_is_held(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    hold(engine, "a", name="charge_order")
    settle(engine, "idle")
    async with running(path, clock) as pilot:
        await go_to(pilot, "9", "worker\0idle")
        await gone(pilot, "enter open")
        await go_to(pilot, "9", "worker\0a")
        await says(pilot, "enter open")
        assert "worker a" in monitor(pilot).main.view.describe()
        assert "x extend" not in text(pilot)
        await pilot.press("enter")
        await says(pilot, "● running   charge_order")
