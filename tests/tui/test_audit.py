"""The audit: what operators did, found by who, what and why, and the way from there to the task."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ManualClock, plain
from dura import DurableEngine
from dura.errors import InvalidValue
from dura.filters import parse
from dura.monitor import Monitor
from dura.records import AuditPage, AuditQuery, Condition, Want
from dura_tui.filter import FILTERED
from tui.harness import gone, monitor, rows_shown, running, says, table, until


@pytest.fixture
def acted(engine: DurableEngine, clock: ManualClock) -> list[str]:
    """Three tasks that were cancelled, one of them requeued, and an event that was emitted."""
    tasks = [engine.spawn_task(name="job", params=None).task_id for _ in range(3)]
    for number, task in enumerate(tasks):
        clock.advance(60)
        engine.cancel_task(task, actor=f"{'annbob'[number % 2 * 3 :][:3]}@web1", reason=f"reason {number}")
    engine.requeue_task(tasks[0], actor="ann@web1", reason="Fixed now")
    engine.emit_event(event_name="approved:ord_1", payload={"ok": True}, actor="bob@web1")
    engine.emit_event(event_name="unseen", payload=1)
    return tasks


def page(path: Path, clock: ManualClock, **query: object) -> AuditPage:
    with Monitor(path, clock=clock) as monitor:
        found = monitor.snapshot(Want(audit_query=AuditQuery(**query))).audit_page  # type: ignore[arg-type]
    assert found is not None
    return found


def test_entries_are_found_by_each_field_the_latest_first(
    path: Path, acted: list[str], clock: ManualClock
) -> None:
    entries = page(path, clock).entries
    assert [entry.action for entry in entries] == ["emit", "requeue", "cancel", "cancel", "cancel"]
    assert [entry.task_id for entry in entries] == [None, acted[0], acted[2], acted[1], acted[0]]
    assert entries[1].before == "cancelled"
    assert (entries[1].after, entries[1].reason) == ("pending", "Fixed now")
    assert len(page(path, clock, actor="ANN").entries) == 3
    assert [entry.target for entry in page(path, clock, action="emit").entries] == ["approved:ord_1"]
    assert len(page(path, clock, target=acted[0]).entries) == 2
    assert [entry.action for entry in page(path, clock, text="fixed").entries] == ["requeue"]
    assert page(path, clock, actor="ann", action="emit").entries == ()


def test_pages_go_through_all_entries_once(path: Path, acted: list[str], clock: ManualClock) -> None:
    after, keys = None, []
    while True:
        found = page(path, clock, limit=2, after=after)
        keys += [entry.key for entry in found.entries]
        after = found.next_page
        if after is None:
            break
    assert keys == sorted(set(keys), reverse=True)
    assert len(keys) == 5


def test_an_entry_that_is_no_entry_is_shown_as_far_as_it_goes(
    path: Path, acted: list[str], clock: ManualClock
) -> None:
    with plain(path) as connection:
        for key, value in (("zz1", "not json"), ("zz2", "[1]"), ("zz3", '{"actor": 7, "target": null}')):
            connection.execute("INSERT INTO state VALUES ('dura.audit', ?, ?, 'no time')", (key, value))
    entries = page(path, clock, limit=3).entries
    assert [(entry.actor, entry.at, entry.task_id) for entry in entries] == [("7", None, None), ("", None, None), ("", None, None)]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "actions"),
    [
        ("", 5),
        ("action:requeue actor:ANN", 1),
        ("-action:requeue", 4),
        ("action:e*", 1),
        ("actor:ann,bob", 5),
        ("target:approved", 1),
        ("fixed NOW", 1),
    ],
)
def test_the_audit_is_filtered_by_conditions(
    path: Path, acted: list[str], clock: ManualClock, line: str, actions: int
) -> None:
    entries = page(path, clock, where=parse(line, FILTERED["audit"].fields)).entries
    assert len(entries) == actions


def test_a_field_that_the_audit_has_not_is_refused(path: Path, acted: list[str], clock: ManualClock) -> None:
    with pytest.raises(InvalidValue, match="no field 'name'"):
        page(path, clock, where=(Condition(field="name", values=("x",)),))


async def test_the_audit_is_filtered_and_leads_to_the_task(
    path: Path, acted: list[str], engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock, size=(110, 24)) as pilot:
        await pilot.press("a")
        await says(pilot, "1 to 5", "emit", "approved:ord_1", "ann@web1", "Fixed now", "cancelled → pending")
        await pilot.press("slash", *"action:req", "enter")
        await until(pilot, lambda: rows_shown(pilot) == 1)
        assert monitor(pilot).main.view.copied() == acted[0]
        await pilot.press("enter")
        await says(pilot, "○ pending   job", acted[0][-8:])
        await pilot.press("escape")
        await says(pilot, "filter action:req")
        await pilot.press("slash", *"x ator:y", "enter")
        await says(pilot, "did you mean actor?")
        await pilot.press("escape", "escape")
        await gone(pilot, "action:req")
        await until(pilot, lambda: rows_shown(pilot) == 5)
        table(pilot).move_to(table(pilot).keys[0])
        await pilot.press("enter")
        await says(pilot, "emit approved:ord_1", '"actor": "bob@web1"')


async def test_older_entries_are_a_page_away(
    path: Path, acted: list[str], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dura_tui.screens.audit.PAGE", 2)
    async with running(path, clock) as pilot:
        await pilot.press("a")
        await says(pilot, "1 to 2 and older ones", "n older")
        await pilot.press("n")
        await says(pilot, "3 to 4 and older ones", "b newer")
        await pilot.press("n")
        await says(pilot, "5 to 5")
        await pilot.press("b", "b")
        await says(pilot, "1 to 2 and older ones")
