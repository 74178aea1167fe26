"""Marks: actions go to the marked rows, or to all that match the filter; what has moved on is left out and told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from conftest import ManualClock, claim, rows
from dura import DurableEngine
from dura_tui.screens import marked
from tui.harness import (
    EVENT,
    Screen,
    fill,
    go_to,
    gone,
    monitor,
    running,
    says,
    table,
    text,
    tick,
    until,
)
from tui.test_actions import audit, run_of


@pytest.fixture
def many(engine: DurableEngine) -> list[str]:
    """Delayed tasks, the first two of another name; their ids."""
    names = ["sync", "sync", *["remind"] * 4]
    return [
        engine.spawn_task(name=name, params=None, available_after=timedelta(seconds=60 + n)).task_id
        for n, name in enumerate(names)
    ]


def states(path: Path) -> dict[str, str]:
    return dict(rows(path, "SELECT task_id, state FROM tasks"))


def run_ids(path: Path, tasks: list[str]) -> list[str]:
    return [str(run_of(path, task)["run_id"]) for task in tasks]


def stars(pilot: Screen) -> int:
    """Rows that carry the sign of a mark."""
    return sum(line.startswith("*") for line in text(pilot).splitlines()[3:-2])


async def confirm(pilot: Screen, number: str) -> None:
    await says(pilot, f"Type {number} to")
    await pilot.press(*number, "enter", "enter")
    await says(pilot, "ended · ")
    await pilot.press("escape")
    await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


async def test_marked_rows_are_acted_upon_and_no_others(
    path: Path, many: list[str], clock: ManualClock
) -> None:
    runs = run_ids(path, many)
    async with running(path, clock) as pilot:
        await go_to(pilot, "3", runs[0])
        await pilot.press("space", "j", "space")
        await says(pilot, "* 2 marked", "u unmark")
        assert stars(pilot) == 2
        await pilot.press("c")
        await says(
            pilot, "2 marked runs", "2 runs. Type 2 to go on", "sync", "remind", "dura cancel", "and 1 more"
        )
        focused = pilot.app.focused
        assert focused is not None
        assert focused.id == "no"
        await confirm(pilot, "2")
        await gone(pilot, "* 2 marked")
        await says(pilot, "✓ cancel: changed 2")
    assert [task for task, state in states(path).items() if state == "cancelled"] == [many[0], many[2]]
    assert {entry["action"] for entry in audit(path)} == {"cancel"}


async def test_a_range_is_marked_from_the_last_mark_and_taken_away_again(
    path: Path, many: list[str], clock: ManualClock
) -> None:
    runs = run_ids(path, many)
    async with running(path, clock) as pilot:
        await go_to(pilot, "3", runs[1])
        await pilot.press("space", "j", "j", "V")
        await says(pilot, "* 4 marked")
        assert stars(pilot) == 4
        await pilot.press("k", "space")
        await says(pilot, "* 3 marked")
        await pilot.press("u")
        await gone(pilot, " marked")
        assert stars(pilot) == 0
        await pilot.press("space", "escape")
        await gone(pilot, " marked")
        assert monitor(pilot).main.shown == "sleeping"
        await pilot.press("V")
        await says(pilot, "* 1 marked")


async def test_marked_rows_that_moved_on_are_left_out_and_told_and_the_number_is_of_the_rest(
    path: Path, many: list[str], engine: DurableEngine, clock: ManualClock
) -> None:
    runs = run_ids(path, many)
    async with running(path, clock) as pilot:
        await go_to(pilot, "3", runs[0])
        await pilot.press("space", "space", "space")
        await says(pilot, "* 3 marked")
        engine.wake_task(many[0])
        engine.cancel_task(many[1])
        engine.requeue_task(many[1])
        await says(pilot, "* 3 marked, 2 of them not listed here")
        await pilot.press("w")
        await says(pilot, "1 run. Type 1 to go on", "they have moved on", "1 pending, attempt 1")
        await confirm(pilot, "1")
    assert {task for task, state in states(path).items() if state == "sleeping"} == set(many[3:])
    assert [entry["target"] for entry in audit(path)] == [many[2]]


async def test_what_moves_on_while_the_dialog_is_open_is_skipped_with_its_present_state(
    path: Path, many: list[str], engine: DurableEngine, clock: ManualClock
) -> None:
    runs = run_ids(path, many)
    async with running(path, clock) as pilot:
        await go_to(pilot, "3", runs[0])
        await pilot.press("space", "space", "w")
        await says(pilot, "Type 2 to go on")
        engine.cancel_task(many[0])
        await pilot.press(*"99", "enter", "enter")
        await says(pilot, "✗ 99 is not 2")
        await pilot.press("backspace")
        await gone(pilot, "is not 2")
        await pilot.press("backspace", "2", "enter", "enter")
        await says(
            pilot,
            "changed 1, skipped 1 (moved on)",
            "skipped 1: cannot wake task",
            "cancelled, not sleeping",
            "sync ",
        )
        await pilot.press("escape")
    assert states(path)[many[1]] == "pending"


async def test_all_that_match_are_all_pages_of_the_filter_and_no_more(
    path: Path, many: list[str], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marked, "PAGE", 2)
    monkeypatch.setattr("dura_tui.screens.tasks.PAGE", 2)
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", many[-1])
        await pilot.press("slash", *"name:remind", "enter")
        await says(pilot, "1 to 2 of 4")
        await pilot.press("asterisk")
        await says(pilot, "* all tasks that match name:remind")
        assert stars(pilot) == table(pilot).row_count
        await pilot.press("u", "space", "n")
        await says(pilot, "3 to 4 of 4", "* 1 marked, 1 of them not listed here")
        assert stars(pilot) == 0
        await pilot.press("asterisk")
        await says(pilot, "* all tasks that match name:remind")
        await pilot.press("c")
        await says(pilot, "all tasks that match name:remind", "4 tasks. Type 4 to go on")
        await confirm(pilot, "4")
    assert {task for task, state in states(path).items() if state == "cancelled"} == set(many[2:])


async def test_another_filter_begins_without_marks(path: Path, many: list[str], clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", many[0])
        await pilot.press("space")
        await says(pilot, "* 1 marked")
        await pilot.press("slash", *"name:remind", "enter")
        await gone(pilot, " marked")
        await pilot.press("asterisk", "escape")
        await gone(pilot, "* all")
        assert stars(pilot) == 0


async def test_what_the_action_does_not_fit_is_left_out_before_it_is_counted(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    shop = fill(engine)
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", shop.failed)
        await pilot.press("asterisk", "R")
        await says(pilot, "2 tasks. Type 2 to go on", "they are not for this: 3 sleeping")
        await pilot.press("escape", "x")
        await says(pilot, "1 task. Type 1 to go on", "left out")
        await pilot.press("escape")


async def test_a_dialog_about_none_offers_only_to_leave(
    path: Path, many: list[str], clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", many[0])
        await pilot.press("asterisk", "R")
        await says(pilot, "There is none to which this can be done.", "esc leaves")
        for word in ("keep every finished step", "their number", "reason", "Requeue ", "enter twice"):
            assert word not in text(pilot)
        await pilot.press("6", "enter")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


async def test_claims_are_extended_each_by_as_much(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    for lease in (60, 90):
        engine.spawn_task(name="job", params=None)
        claim(engine, timeout_secs=lease)
    async with running(path, clock) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: table(pilot).row_count == 2)
        await pilot.press("asterisk", "x")
        await says(pilot, "all running runs", "Seconds more for each", "Type 2 to go on")
        await confirm(pilot, "2")
    ends = [end for (end,) in rows(path, "SELECT claim_expires_at FROM runs ORDER BY 1")]
    assert [end[14:19] for end in ends] == ["03:00", "03:30"]


async def test_waiting_runs_are_answered_together(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    shop = fill(engine)
    async with running(path, clock) as pilot:
        await go_to(pilot, "8", str(run_of(path, shop.waiting)["run_id"]))
        await pilot.press("space", "e")
        await says(pilot, "Payload of each, as JSON", "Type 1 to go on")
        await confirm(pilot, "1")
    assert rows(path, "SELECT payload FROM events WHERE event_name = ?", EVENT) == [("null",)]
    assert run_of(path, shop.waiting)["state"] == "pending"


async def test_marks_are_offered_where_something_can_be_done_and_nowhere_else(
    path: Path, many: list[str], clock: ManualClock
) -> None:
    async with running(path, clock, read_only=True) as pilot:
        for number in "19a":
            await pilot.press(number, "space", "asterisk", "V")
            await pilot.pause()
            assert " marked" not in text(pilot)
        await go_to(pilot, "3", run_ids(path, many)[0])
        await pilot.press("space", "w")
        await says(pilot, "✗ read-only: wake is refused")
        await tick(pilot, clock, 13)
        await pilot.press("asterisk", "c")
        await says(pilot, "✗ read-only: cancel is refused")


async def test_groups_of_failures_are_requeued_together(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    for kind in ("A", "B", "B", "C"):
        engine.spawn_task(name="sync", params=None, max_attempts=1)
        task = claim(engine)
        engine.checkpoint(task_id=task.task_id, step_name=f"s{kind}", fn=lambda: 1, owner_run_id=task.run_id)
        engine.fail_run(run_id=task.run_id, reason={"type": kind}, claim_token=task.claim_token)
    async with running(path, clock) as pilot:
        await go_to(pilot, "7", "B")
        await pilot.press("space", "space", "R")
        await says(
            pilot, "2 marked groups", "3 tasks. Type 3 to go on", "again from step sB (1 never finished it"
        )
        await confirm(pilot, "3")
        await until(pilot, lambda: "7 Failures 1 " in text(pilot))
        await pilot.press("asterisk", "R")
        await says(pilot, "all failed tasks", "1 task. Type 1 to go on")
        await pilot.press("escape")
    assert sorted(states(path).values()) == ["failed", "pending", "pending", "pending"]
