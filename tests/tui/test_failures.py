"""Failures in groups, and a group requeued: in batches, stopped, refused, reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static

from conftest import ManualClock, claim, rows
from dura import DurableEngine
from dura.monitor import Monitor
from dura.records import FailureGroups, FailureKey, Want
from dura_tui import bulk as bulks
from dura_tui.actions import ACTIONS
from dura_tui.bulk import BulkOrder, Tally, carry_out_all
from dura_tui.operators import Operator
from dura_tui.orders import Target, order_for
from tui.harness import Screen, go_to, header, monitor, rows_shown, running, says, table, text, until


def fail(
    engine: DurableEngine,
    kind: str | None,
    *,
    done: tuple[str, ...] = (),
    final: bool = True,
    **spawn: object,
) -> str:
    """A task whose attempt fails; its id."""
    attempts = 1 if final else 2
    engine.spawn_task(**{"name": "sync", "params": None, "max_attempts": attempts, **spawn})  # type: ignore[arg-type]
    task = claim(engine)
    for step in done:
        engine.checkpoint(
            task_id=task.task_id, step_name=step, fn=lambda: 1, owner_run_id=task.run_id, claim_token=task.claim_token
        )  # fmt: skip
    reason = {"message": "boom"} if kind is None else {"type": kind, "message": "boom"}
    engine.fail_run(run_id=task.run_id, reason=reason, claim_token=task.claim_token)
    if not final:
        retried = claim(engine)
        engine.complete_run(run_id=retried.run_id, claim_token=retried.claim_token)
    return task.task_id


def groups(path: Path, clock: ManualClock, by: str) -> FailureGroups:
    with Monitor(path, clock=clock) as monitor:
        found = monitor.snapshot(Want(failure_groups=by)).failure_groups
    assert found is not None
    return found


def states(path: Path) -> dict[str, int]:
    return dict(rows(path, "SELECT state, COUNT(*) FROM tasks GROUP BY state"))


# --- the groups ------------------------------------------------------------------------------------------------------


def test_failures_are_grouped_by_type_and_only_tasks_that_are_failed_now_count_as_failed(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    fail(engine, "TimeoutError")
    fail(engine, "ValueError", final=False)
    clock.advance(600)
    last = fail(engine, "TimeoutError", name="charge")
    fail(engine, None)
    found = groups(path, clock, "error")
    assert [(group.key, group.tasks, group.attempts) for group in found.groups] == [
        ("TimeoutError", 2, 2), ("no type", 1, 1), ("ValueError", 0, 1),
    ]  # fmt: skip
    assert sum(group.tasks for group in found.groups) == states(path)["failed"]
    [timeouts, *_] = found.groups
    assert (timeouts.latest_task_id, timeouts.names) == (last, ("charge", "sync"))
    assert timeouts.latest_error == "TimeoutError: boom"
    assert timeouts.hour == (0,) * 9 + (1, 0, 1)
    assert timeouts.day == (0,) * 23 + (2,)
    assert (found.attempts, found.capped) == (4, False)


def test_the_failed_step_is_the_first_declared_one_that_had_not_finished(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    steps = ["load", "push", "note"]
    fail(engine, "E", steps=steps)
    fail(engine, "E", steps=steps, done=("load",))
    fail(engine, "E", steps=steps, done=("load", "push", "note"))
    fail(engine, "E", done=("b", "a"))
    fail(engine, "E")
    assert {group.key for group in groups(path, clock, "step").groups} == {
        "sync at load", "sync at push", "sync after its last step", "sync after b", "sync before any step",
    }  # fmt: skip


def test_steps_that_a_later_attempt_finished_do_not_move_an_earlier_failure(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.spawn_task(name="sync", params=None, steps=["load", "push"], max_attempts=2)
    for step in (None, "load"):
        task = claim(engine)
        if step:
            engine.checkpoint(
                task_id=task.task_id, step_name=step, fn=lambda: 1, owner_run_id=task.run_id, claim_token=task.claim_token
            )  # fmt: skip
        engine.fail_run(run_id=task.run_id, reason={"type": "E"}, claim_token=task.claim_token)
        clock.advance(1)
    assert {group.key: group.tasks for group in groups(path, clock, "step").groups} == {
        "sync at load": 0, "sync at push": 1,
    }  # fmt: skip


def test_a_sample_that_does_not_reach_back_leaves_the_bars_open(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dura.store.views.failuregroups._SAMPLE", 2)
    for _ in range(3):
        fail(engine, "E")
        clock.advance(400)
    found = groups(path, clock, "error")
    assert found.capped
    assert found.groups[0].hour == (None,) * 9 + (1, 1, 0)


def test_failed_tasks_of_a_group_are_those_that_failed_last_and_say_when_there_are_more(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [fail(engine, "E") for _ in range(4)]
    fail(engine, "F")
    fail(engine, "E", final=False)
    key = FailureKey(by="error", key="E")
    with Monitor(path, clock=clock) as monitor:
        found = monitor.snapshot(Want(failed_tasks=key)).failed_tasks
        assert found is not None
        assert ({task.task_id for task in found.tasks}, found.capped) == (set(made), False)
        monkeypatch.setattr("dura.store.views.failuregroups._MOST_SEEN", 3)
        found = monitor.snapshot(Want(failed_tasks=key)).failed_tasks
        assert found is not None
        assert (len(found.tasks), found.capped) == (3, True)


# --- many at once ----------------------------------------------------------------------------------------------------


def seen(path: Path) -> tuple[Target, ...]:
    """All tasks as they are now."""
    found = rows(path, "SELECT task_id, last_attempt_run, task_name, state FROM tasks ORDER BY rowid")
    return tuple(Target(task_id=task, run_id=run, name=name, state=state) for task, run, name, state in found)


def bulk(action: str, targets: tuple[Target, ...], **chosen: object) -> BulkOrder:
    return BulkOrder(action, tuple(order_for(action, target, **chosen) for target in targets), len(targets))


def do(
    path: Path, targets: tuple[Target, ...], stop_after: int = 10**6, read_only: bool = False
) -> list[Tally]:
    told: list[Tally] = []
    asked = iter(range(10**6))
    operator = Operator(str(path), actor="ann@web1", read_only=read_only)
    carry_out_all(
        operator,
        bulk("requeue", targets, reason="fixed"),
        progress=told.append,
        stopped=lambda: next(asked) >= stop_after,
    )
    return told


def test_what_moved_on_is_skipped_what_does_not_fit_is_refused_and_the_rest_is_done(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    for _ in range(4):
        fail(engine, "E")
    fail(engine, "E", final=False)
    targets = seen(path)
    assert targets[0].task_id is not None
    engine.requeue_task(targets[0].task_id)
    *_, tally = do(path, targets)
    assert (tally.changed, tally.refused, tally.skipped, tally.ended) == (3, 1, 1, True)
    assert {(reason.moved, reason.count, reason.named) for reason in tally.reasons} == {
        (True, 1, (targets[0].title,)), (False, 1, (targets[4].title,)),
    }  # fmt: skip
    assert tally.line == "requeue: changed 3, skipped 1 (moved on), refused 1"
    entries = rows(
        path, "SELECT value ->> 'actor', value ->> 'reason' FROM state WHERE namespace = 'dura.audit'"
    )
    assert entries == [("ann@web1", "fixed")] * 3


def test_progress_is_told_after_each_batch_and_a_stop_ends_before_the_next_task(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulks, "BATCH", 2)
    for _ in range(6):
        fail(engine, "E")
    told = do(path, seen(path), stop_after=5)
    assert [tally.changed for tally in told] == [2, 4, 5]
    assert (told[-1].stopped, told[-1].ended) == (True, True)
    assert told[-1].line == "requeue: changed 5, not tried 1"
    assert states(path) == {"pending": 5, "failed": 1}


def test_a_store_that_cannot_be_opened_ends_it_with_the_reason(tmp_path: Path) -> None:
    [tally] = do(tmp_path / "gone.db", (Target(task_id="t", run_id="r", name="x", state="failed"),))
    assert (tally.changed, tally.ended) == (0, True)
    assert "requeue failed" in tally.trouble
    assert "not tried 1" in tally.line


def test_read_only_refuses_all_of_it(path: Path, engine: DurableEngine, clock: ManualClock) -> None:
    fail(engine, "E")
    *_, tally = do(path, seen(path), read_only=True)
    assert (tally.changed, tally.done) == (0, 0)
    assert tally.trouble.startswith("read-only: requeue is refused")
    assert states(path) == {"failed": 1}


@pytest.mark.parametrize(
    "name", [name for name, action in ACTIONS.items() if not action.many and name != "cleanup"]
)
def test_an_action_for_one_task_is_not_done_to_many(
    name: str, path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    fail(engine, "E")
    tally = carry_out_all(
        Operator(str(path)),
        bulk(name, seen(path)),
        progress=print,
        stopped=lambda: False,
    )
    assert "one at a time" in tally.trouble


# --- the view --------------------------------------------------------------------------------------------------------


async def show(pilot: Screen, key: str) -> None:
    await go_to(pilot, "7", key)


async def test_a_group_is_requeued_once_its_number_was_typed(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    for _ in range(12):
        fail(engine, "TimeoutError", steps=["load", "push"], done=("load",))
    other = fail(engine, "ValueError")
    async with running(path, clock) as pilot:
        await show(pilot, "TimeoutError")
        await says(pilot, "13 failed tasks", "by error", "7 Failures 13")
        await pilot.press("R")
        await says(pilot, "failed with TimeoutError", "12 tasks. Type 12 to go on", "again from step load")
        focused = pilot.app.focused
        assert focused is not None
        assert focused.id == "no"
        await pilot.press("1", "enter", "enter")
        await says(pilot, "✗ 1 is not 12")
        await pilot.press("escape")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        assert states(path) == {"failed": 13}
        await pilot.press("R")
        await says(pilot, "Type 12")
        await pilot.press("1", "2", "enter", "enter")
        await says(pilot, "12 of 12", "requeue: changed 12", "ended · esc closes")
        await pilot.press("escape")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await until(pilot, lambda: "7 Failures 1 " in header(pilot))
        await pilot.press("j", "t")
        await says(pilot, "by step", "sync before any step", "sync at push")
        assert rows_shown(pilot) == 2
        await until(pilot, lambda: table(pilot).keys[0] == "sync before any step")
        await pilot.press("enter")
        await says(pilot, "✗ failed", other[-8:])
    assert states(path) == {"pending": 12, "failed": 1}


async def test_a_group_whose_tasks_were_all_tried_again_offers_nothing(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    fail(engine, "ValueError", final=False)
    async with running(path, clock) as pilot:
        await show(pilot, "ValueError")
        assert "R requeue" not in text(pilot)
        await pilot.press("R")
        await says(pilot, "✗ no task under the cursor")


async def test_read_only_offers_no_group_either(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    fail(engine, "ValueError")
    async with running(path, clock, read_only=True) as pilot:
        await show(pilot, "ValueError")
        await pilot.press("R")
        await says(pilot, "✗ read-only: requeue is refused")
        assert len(pilot.app.screen_stack) == 1


def bar_cells(pilot: Screen) -> int:
    drawn = str(monitor(pilot).screen.query_one("#bar", Static).render())
    return drawn.count("█") + drawn.count("░")


async def test_a_stop_key_ends_a_long_order(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulks, "BATCH", 1)
    for _ in range(40):
        fail(engine, "E")
    async with running(path, clock) as pilot:
        await show(pilot, "E")
        await pilot.press("R")
        await says(pilot, "Type 40")
        operator = monitor(pilot).operator
        attempt = operator.attempt

        def stop_at_the_third(*args: object) -> object:
            outcome = attempt(*args)  # type: ignore[arg-type]
            if states(path).get("pending") == 3:
                monitor(pilot).call_from_thread(monitor(pilot).screen.action_stop)  # type: ignore[attr-defined]
            return outcome

        monkeypatch.setattr(operator, "attempt", stop_at_the_third)
        await pilot.press("4", "0", "enter", "enter")
        await says(pilot, "changed 3, not tried 37", "stopped · esc closes")
        for width in (40, 100):
            await pilot.resize_terminal(width, 24)
            await until(pilot, lambda: bar_cells(pilot) == min(width - 30, 40))  # noqa: B023
        await pilot.press("escape")
    assert states(path) == {"pending": 3, "failed": 37}
