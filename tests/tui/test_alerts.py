"""Alerts: what exceeds its limit is shown, and rings once when it rises."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from conftest import ManualClock, claim
from dura import DurableEngine
from dura.monitor import Monitor
from dura.records import Snapshot, Want
from dura_tui.alerts import Alarms, parse_alert
from dura_tui.app import DuraApp
from dura_tui.config import Settings
from tui.harness import Screen, gone, monitor, running, says, text, tick, until


def look(path: Path, clock: ManualClock) -> Snapshot:
    with Monitor(path, clock=clock) as monitor:
        return monitor.snapshot(Want(throughput=True))


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("oldest-due>5m", 300.0),
        ("oldest-due > 1h30m", 5400.0),
        ("failures-per-minute>0.5", 0.5),
        ("wal-size>64MB", 64e6),
        ("wal-size>1.5 gb", 1.5e9),
        ("wal-size>4096", 4096.0),
    ],
)
def test_a_limit_is_read_with_its_unit(said: str, limit: float) -> None:
    alert = parse_alert(said)
    assert (alert.limit, alert.measure.name) == (limit, said.partition(">")[0].strip())


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("oldest-due", "write for example"),
        ("oldest>5m", "there are oldest-due, failures-per-minute, wal-size"),
        ("oldest-due>5", "has no unit"),
        ("failures-per-minute>many", "is no number"),
        ("wal-size>-1", "is no size"),
    ],
)
def test_what_is_no_alert_is_told_why(said: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_alert(said)


def test_an_alert_rises_once_and_falls(path: Path, engine: DurableEngine, clock: ManualClock) -> None:
    alarms = Alarms([parse_alert("oldest-due>5m")])
    task = engine.spawn_task(name="a", params=None)
    clock.advance(300)
    assert not alarms.look(look(path, clock))
    assert alarms.badge == ""
    clock.advance(62)
    assert alarms.look(look(path, clock))
    assert not alarms.look(look(path, clock))
    assert alarms.badge == "▲ oldest due 6m 02s"
    assert alarms.lines == ["oldest due 6m 02s, limit 5m 00s"]
    engine.cancel_task(task.task_id)
    assert not alarms.look(look(path, clock))
    assert alarms.badge == ""


def test_a_quieted_alert_stays_quiet_until_it_rises_again(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    alarms = Alarms([parse_alert("oldest-due>5m")])
    task = engine.spawn_task(name="a", params=None)
    clock.advance(600)
    alarms.look(look(path, clock))
    assert alarms.quiet()
    assert not alarms.quiet()
    alarms.look(look(path, clock))
    assert (alarms.loud, alarms.badge) == (False, "▲ oldest due 10m")
    engine.cancel_task(task.task_id)
    alarms.look(look(path, clock))
    engine.spawn_task(name="b", params=None)
    clock.advance(600)
    assert alarms.look(look(path, clock))
    assert alarms.loud


def test_failures_count_as_a_rate_over_five_minutes(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    alarms = Alarms([parse_alert("failures-per-minute>0.9")])
    assert alarms.needs_throughput
    for _ in range(5):
        engine.spawn_task(name="a", params=None, max_attempts=1)
        task = claim(engine)
        engine.fail_run(run_id=task.run_id, reason={"type": "E"}, claim_token=task.claim_token)
    clock.advance(1)
    assert alarms.look(look(path, clock))
    clock.advance(600)
    alarms.look(look(path, clock))
    assert not alarms.loud


def test_the_size_of_the_log_counts(path: Path, engine: DurableEngine, clock: ManualClock) -> None:
    engine.spawn_task(name="a", params=None)
    alarms = Alarms([parse_alert("wal-size>1kb"), parse_alert("wal-size>1b")])
    assert alarms.look(look(path, clock))
    assert len(alarms.lines) == 1
    assert "limit 1 B" in alarms.lines[0]


async def test_the_monitor_shows_rings_and_quiets(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[str] = []
    monkeypatch.setattr(DuraApp, "bell", lambda self: rung.append("!"))
    task = engine.spawn_task(name="a", params=None, available_after=timedelta(0))
    settings = Settings(alerts=(parse_alert("oldest-due>5m"), parse_alert("failures-per-minute>3")))
    async with running(path, clock, settings=settings) as pilot:
        assert "▲" not in text(pilot)
        await _later(pilot, clock, 360)
        await says(pilot, "▲ oldest due 6m 00s", "oldest due 6m 00s, limit 5m 00s   ! quiets")
        await _later(pilot, clock, 60)
        await says(pilot, "▲ oldest due 7m 00s")
        assert rung == ["!"]
        await pilot.press("!")
        await gone(pilot, "! quiets")
        await pilot.press("!")
        await says(pilot, "the alerts that are up are quiet already")
        assert "▲ oldest due 7m 00s" in text(pilot)
        engine.cancel_task(task.task_id)
        await gone(pilot, "▲")
        assert rung == ["!"]
        await pilot.press("!")
        await says(pilot, "no alert is up")


async def _later(pilot: Screen, clock: ManualClock, seconds: float) -> None:
    await tick(pilot, clock, seconds)
    monitor(pilot).read_now()
    now = clock()
    await until(pilot, lambda: (seen := monitor(pilot).snapshot) is not None and seen.taken_at == now)
