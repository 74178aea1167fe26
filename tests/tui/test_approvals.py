"""Approvals: who waits for whom and until when, and the answer given from there."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from textual.widgets import TextArea

from conftest import ManualClock, at_once, claim, rows
from dura import DurableEngine, WorkflowSuspended
from dura.monitor import Monitor
from dura.records import Want
from dura.store.views.approvals import beginning
from dura_tui.widgets.editor import blank, harmless
from tui.harness import Screen, go_to, header, monitor, rows_shown, running, says, table, text, tick, until


def wait(engine: DurableEngine, event: str, seconds: float | None = 600.0, **spawn: object) -> str:
    """A task that waits for the event; its run's id."""
    engine.spawn_task(**{"name": "charge_order", "params": {"amount": 4200}, **spawn})  # type: ignore[arg-type]
    task = claim(engine)
    with suppress(WorkflowSuspended):
        engine.wait_for_event(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name="approval",
            event_name=event,
            timeout_secs=seconds,
            claim_token=task.claim_token,
        )
    return task.run_id


def editor(pilot: Screen) -> TextArea:
    return monitor(pilot).screen.query_one("#payload", TextArea)


async def test_waits_are_listed_by_deadline_and_say_what_it_means(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    open_end, late, soon = (wait(engine, f"approved:{seconds}", seconds) for seconds in (None, 900, 50))
    async with running(path, clock) as pilot:
        await pilot.press("8")
        await until(pilot, lambda: table(pilot).keys == (soon, late, open_end))
        await says(pilot, "50s", "◷ times out", "no deadline", "waits on", "8 Approvals 3")
        assert "the step times out and the task goes on" in monitor(pilot).main.view.describe()
        await tick(pilot, clock, 54)
        await says(pilot, "overdue 4s", "✗ too late")
        await pilot.press("slash", *"900", "enter")
        await until(pilot, lambda: table(pilot).keys == (late,))
        assert "8 Approvals 3" in header(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: rows_shown(pilot) == 3)
        await pilot.press("enter")
        await says(pilot, "charge_order", "waits for approved:50")


async def test_a_wait_is_answered_with_a_payload_like_the_last_one(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.emit_event(event_name="approved:ord_1", payload={"approved": True, "by": "ann"})
    engine.emit_event(event_name="shipped:ord_1", payload=7)
    run = wait(engine, "approved:ord_2")
    async with running(path, clock) as pilot:
        await go_to(pilot, "8", run)
        await pilot.press("e")
        await says(pilot, "Payload like that of approved:ord_1", "fill it in", '"by": null', "Wakes 1 run")
        await pilot.press("ctrl+t")
        await says(pilot, "Payload of approved:ord_1", "check it", '"by": "ann"')
        await pilot.press("ctrl+t")
        await until(pilot, lambda: editor(pilot).text == "null")
        await pilot.press("7")
        assert editor(pilot).text == "7"
        await pilot.press("ctrl+t", "ctrl+t")
        await says(pilot, '"by": "ann"')
        await pilot.press("ctrl+s", "y")
        await says(pilot, "✓ emitted approved:ord_2: woke 1 run")
        await until(pilot, lambda: table(pilot).ghost == run)
        assert "Approvals 1" not in header(pilot)
    [(payload,)] = rows(path, "SELECT payload FROM events WHERE event_name = 'approved:ord_2'")
    assert json.loads(payload) == {"approved": True, "by": "ann"}


async def test_what_somebody_has_begun_to_write_no_template_replaces(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    run = wait(engine, "approved:ord_2")
    async with running(path, clock) as pilot:
        await go_to(pilot, "8", run)
        await pilot.press("e")
        await says(pilot, "Wakes 1 run")
        editor(pilot).text = "12"
        engine.set_state(namespace="templates", key="approved", value={"approved": None})
        await says(pilot, "template: approved")
        assert editor(pilot).text == "12"
        await pilot.press("ctrl+t")
        await says(pilot, "Payload by template approved", '"approved": null')


async def test_an_answer_that_comes_too_late_for_the_run_is_refused(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    run = wait(engine, "approved:ord_2")
    async with running(path, clock) as pilot:
        await go_to(pilot, "8", run)
        await pilot.press("e")
        await says(pilot, "Wakes 1 run")
        await pilot.press("ctrl+s")
        await says(pilot, "Emit this event?")
        engine.cancel_task(rows(path, "SELECT task_id FROM runs WHERE run_id = ?", run)[0][0])
        await pilot.press("y")
        await says(pilot, "✗ emit event refused")
    assert rows(path, "SELECT * FROM events") == []


def test_templates_are_found_by_name_then_by_beginning_then_among_events(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    def found(name: str) -> tuple[str, str, object] | None:
        with Monitor(path, clock=clock) as monitor:
            template = monitor.snapshot(Want(template=name)).template
        return (
            None if template is None else (template.source, template.taken_from, json.loads(template.payload))
        )

    assert found("approved:ord_2") is None
    engine.emit_event(event_name="approved:zzz", payload=1)
    engine.emit_event(event_name="approved:aaa", payload=2)
    assert found("approved:ord_2") == ("event", "approved:aaa", 2)
    assert found("approved:aaa") == ("event", "approved:zzz", 1)
    assert found("approved") is None
    at_once(engine, lambda: [engine.emit_event(event_name=f"other:{n}", payload=n) for n in range(600)])
    assert found("approved:ord_2") == ("event", "approved:zzz", 1)
    for key, value in (("approved", 3), ("approved:", 4), ("approved:ord_2", 5)):
        engine.set_state(namespace="templates", key=key, value=value)
        assert found("approved:ord_2") == ("state", key, value)


def test_the_count_is_that_of_the_list_and_ends_where_it_is_capped(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        wait(engine, f"{'az'[number % 2]}:{number}", 600 - number)
    run = claim_sleeper(engine)
    with Monitor(path, clock=clock) as monitor:
        snapshot = monitor.snapshot(Want(waiting=True, approvals=500))
        assert (snapshot.waiting, snapshot.waiting_capped, len(snapshot.approvals)) == (20, False, 20)
        assert run not in {row.run_id for row in snapshot.approvals}
        deadlines = [row.timeout_at for row in snapshot.approvals]
        assert deadlines == sorted(deadlines, key=str)
        assert monitor.snapshot().waiting is None
        monkeypatch.setattr("dura.store.views.approvals._MOST_COUNTED", 5)
        wait(engine, "c:last", 5)
        snapshot = monitor.snapshot(Want(waiting=True, approvals=5))
        assert (snapshot.waiting_capped, "approvals" in snapshot.truncated) == (True, True)
        assert snapshot.approvals[0].event_name == "c:last"


def claim_sleeper(engine: DurableEngine) -> str:
    """A task that sleeps by itself; its run's id."""
    engine.spawn_task(name="nap", params=None)
    task = claim(engine)
    with suppress(WorkflowSuspended):
        engine.sleep(run_id=task.run_id, task_id=task.task_id, step_name="nap", seconds=60)
    return task.run_id


@pytest.mark.parametrize(
    ("name", "start"),
    [("approved:ord_1", "approved:"), ("a:b/c", "a:b/"), ("plain", "plain"), ("a\n:b", "a\n:"), (":x", ":")],
)
def test_events_of_a_kind_begin_alike(name: str, start: str) -> None:
    assert beginning(name) == start


def test_shapes_and_harmless_text() -> None:
    assert json.loads(blank('{"a": [1, {"b": "x"}], "c": true}')) == {"a": [None, {"b": None}], "c": None}
    assert blank("{") == "null"
    assert harmless("\t1\r\n2\x1b") == "    1\n2\\u001b"


async def test_the_dialog_fits_where_there_is_little_room(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    run = wait(engine, "approved:ord_2")
    async with running(path, clock, size=(40, 10)) as pilot:
        await go_to(pilot, "8", run)
        await pilot.press("e")
        await until(pilot, lambda: editor(pilot).has_focus)
        await pilot.press("tab", "tab")
        await says(pilot, "Emit …")
        assert all(len(line) <= 40 for line in text(pilot).splitlines())
