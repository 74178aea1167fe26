"""A task drawn to scale: lines that are as long as what they show, whatever the task went through or lacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from conftest import ManualClock, claim
from dura import DurableEngine
from dura.records import AttemptRow, CheckpointRow, TaskDetail, TaskRow, Waiter
from dura_tui import timeline
from dura_tui.widgets import cells
from tui.harness import Shop, fill, go_to, running, says, table, text, until, view

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(seconds: float | None) -> datetime | None:
    return None if seconds is None else NOW - timedelta(seconds=seconds)


def attempt(number: int, state: str, available: float | None, started: float | None, ended: float | None, **rest: object) -> AttemptRow:  # fmt: skip
    return AttemptRow(
        **{
            "run_id": f"run_{number}", "attempt": number, "state": state, "worker_id": None,
            "available_at": ago(available), "started_at": ago(started), "ended_at": ago(ended), "claim_expires_at": None,
            "claim_token": 1, "reclaims": 0, "deferrals": 0, "sleep_cause": None, "wake_event": None,
            "failure_reason": None,
        } | rest,  # type: ignore[arg-type]
    )  # fmt: skip


def step(name: str, finished: float | None, run: str = "run_1", value: str | None = "1") -> CheckpointRow:
    return CheckpointRow(name=name, value=value, size=1, finished_at=ago(finished), seconds=None, run_id=run)


def wait(timeout: float | None, event: str = "approved") -> Waiter:
    return Waiter(
        run_id="run_1", task_id="t", name="job", step_name="approval", event_name=event, timeout_at=ago(timeout),
        waiting=True,
    )  # fmt: skip


def task(
    attempts: tuple[AttemptRow, ...], steps: tuple[CheckpointRow, ...] = (), waits: tuple[Waiter, ...] = (),
    *, state: str | None = None, enqueued: float | None = 100, ended: float | None = None, due: float | None = None,
) -> TaskDetail:  # fmt: skip
    started = attempts[0].started_at if attempts else None
    row = TaskRow(
        task_id="t", run_id="run_1", name="job", queue="default", state=state or "running", attempts=len(attempts),
        max_attempts=None, priority=0, enqueued_at=ago(enqueued), started_at=started, ended_at=ago(ended),
        due_at=ago(due), sleep_cause=None, wake_event=None, claim_token=1, steps_done=len(steps), steps_total=None,
        steps_declared=False, idempotency_key=None, error=None,
    )  # fmt: skip
    return TaskDetail(
        task=row, params="null", result=None, steps=(), retry=None, max_reclaims=None, attempts=attempts,
        checkpoints=steps, waits=waits,
    )  # fmt: skip


def lines(detail: TaskDetail, width: int = 10, *, latest: bool = False) -> list[str]:
    of = timeline.scale(detail, NOW, latest=latest)
    return [cells.plain(timeline.draw(track, of, width)) for track in timeline.tracks(detail, NOW)]


def test_queue_work_and_backoff_are_as_long_as_they_lasted() -> None:
    detail = task(
        (attempt(1, "failed", 100, 80, 60), attempt(2, "completed", 30, 20, 0)), state="completed", ended=0
    )
    assert lines(detail) == ["··██      ", "    ┄┄┄·██"]
    assert lines(detail, 20) == ["····████            ", "        ┄┄┄┄┄┄··████"]
    assert lines(detail, latest=True)[1] == "██████████"


def test_a_step_lasts_from_the_finish_before_it_or_from_its_run_s_start() -> None:
    detail = task(
        (attempt(1, "failed", 100, 100, 60), attempt(2, "running", 30, 30, None)),
        (step("a", 80), step("b", 10, "run_2"), step("c", 10, "run_2"), step("late", 0, "run_2", value=None)),
    )
    assert lines(detail)[2:] == ["██        ", "       ██ ", "         █", "         ░"]
    notes = [cells.plain(track.note) for track in timeline.tracks(detail, NOW)]
    assert notes == ["40s", "30s", "20s", "20s", "0s", "10s"]


def test_a_sleeping_run_is_asleep_since_its_latest_step_and_a_near_deadline_is_drawn() -> None:
    sleeping = (attempt(1, "sleeping", -50, 100, None, sleep_cause="event", wake_event="approved"),)
    detail = task(sleeping, (step("a", 50),), (wait(-50),), state="sleeping", due=-50)
    assert lines(detail, 15) == ["█████░░░░░     ", "█████          ", "     ░░░░░    ┊"]
    far = task(sleeping, (step("a", 50),), (wait(-500),), state="sleeping", due=-500)
    assert lines(far)[2] == "     ░░░░░"


def test_a_delay_before_the_first_attempt_is_drawn_until_now() -> None:
    delayed = (attempt(1, "sleeping", -200, None, None, sleep_cause="delay"),)
    assert lines(task(delayed, state="sleeping", due=-200)) == ["┄┄┄┄┄┄┄┄┄┄"]
    pending = (attempt(1, "pending", 40, None, None),)
    assert lines(task(pending, state="pending")) == ["┄┄┄┄┄┄····"]


def test_what_lasted_no_time_has_a_sign_and_an_attempt_before_the_scale_has_none() -> None:
    done = task((attempt(1, "completed", 100, 100, 100),), (step("a", 100),), state="completed", ended=100)
    assert lines(done, 5) == ["█    ", "█    "]
    detail = task((attempt(1, "failed", 100, 90, 80), attempt(2, "running", 10, 10, None)))
    assert lines(detail, latest=True) == ["          ", "██████████"]


TIMES = (None, 200.0, 50.0, -300.0)
STATES = ("pending", "running", "sleeping", "completed", "failed", "cancelled")


@pytest.mark.parametrize("state", STATES)
def test_no_combination_of_times_breaks_a_line(state: str) -> None:
    for available, started, ended, finished, timeout in product(TIMES, TIMES, TIMES, TIMES[1:3], TIMES[::3]):
        attempts = (attempt(1, "failed", 100, started, 90), attempt(2, state, available, started, ended))
        steps = (step("a", finished), step("b", ended, "run_2", value=None))
        for enqueued in (None, 100, -40):
            detail = task(
                attempts, steps, (wait(timeout),), state=state, enqueued=enqueued, ended=ended, due=timeout
            )
            for latest in (False, True):
                of = timeline.scale(detail, NOW, latest=latest)
                assert of.end >= of.start
                for track in timeline.tracks(detail, NOW):
                    assert len(cells.plain(timeline.draw(track, of, 17))) == 17
                    assert "-" not in cells.plain(track.note)
                for width in (0, 4, 30):
                    assert len(cells.plain(timeline.axis(of, width))) == width


async def test_the_detail_draws_the_task_then_its_latest_attempt_then_the_facts(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    shop: Shop = fill(engine)
    clock.advance(40)
    engine.requeue_task(shop.failed)
    clock.advance(20)
    for _ in range(3):
        held = claim(engine)
        if held.task_id == shop.failed:
            break
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", shop.failed)
        await pilot.press("enter")
        await says(pilot, "✓ load", "t timeline")
        await pilot.press("t")
        await says(
            pilot,
            "whole task",
            "00:00:00",
            "+1m 00s",
            "✗ attempt 1 failed",
            "● attempt 2 running",
            "█ held",
        )
        await until(pilot, lambda: table(pilot).id == "times")
        await pilot.press("down", "enter")
        await says(pilot, "why attempt 1 failed")
        await pilot.press("escape", "t")
        await says(pilot, "latest attempt", "00:01:00", "t facts")
        await pilot.press("t")
        await says(pilot, "STEPS", "t timeline")


async def test_a_tall_screen_shows_facts_and_timeline_together(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    shop = fill(engine)
    clock.advance(60)
    async with running(path, clock, size=(120, 40)) as pilot:
        await go_to(pilot, "4", shop.waiting)
        await pilot.press("enter")
        await says(pilot, "STEPS", "whole task", "◆ approval", "░░░░", "9m 00s")
        assert all(len(line) <= 120 for line in text(pilot).splitlines())
        assert view(pilot).query_one("#times").size.width == 120
