"""State edited and deleted, and old tasks cleaned up, from the monitor; and a file of 1.3.0, on which nothing is done."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from textual.widgets import TextArea

from conftest import ManualClock, dump, rows
from dura import DurableEngine
from dura_tui.actions import ACTIONS
from dura_tui.bulk import BulkOrder, Tally, carry_out_all
from dura_tui.operators import Operator
from dura_tui.orders import order_for
from tui.harness import Screen, fill, go_to, gone, monitor, running, says, table, text, until
from tui.test_actions import audit, type_over

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


@pytest.fixture
def feeds(engine: DurableEngine, clock: ManualClock) -> None:
    for key in ("cursor", "etag", "seen"):
        engine.set_state(namespace="feeds", key=key, value={"page": 12})
    clock.advance(5)


def value(path: Path, key: str) -> str | None:
    found = rows(path, "SELECT value FROM state WHERE namespace = 'feeds' AND key = ?", key)
    return found[0][0] if found else None


async def to_key(pilot: Screen, key: str) -> None:
    """Put the cursor on a key of the memory."""
    await go_to(pilot, "6", "namespace\0feeds")
    await until(pilot, lambda: len(pilot.app.query("#state-keys")) and "cursor" in text(pilot))
    await pilot.press("enter")
    await until(pilot, lambda: key in table(pilot).keys)
    table(pilot).move_to(key)
    await pilot.pause()
    assert table(pilot).key == key


@pytest.mark.usefixtures("feeds")
async def test_a_value_is_edited_as_json_and_set_with_what_it_was(path: Path, clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        await to_key(pilot, "cursor")
        await says(pilot, "E edit value", "D delete key")
        await pilot.press("E")
        await says(pilot, "Edit a value", "feeds/cursor", "Its value, as JSON", '"page": 12')
        editor = pilot.app.focused
        assert isinstance(editor, TextArea)
        for wrong, said in (("{", "✗ no JSON"), ("", "✗ a value is missing")):
            editor.text = wrong
            await says(pilot, said)
            await pilot.press("ctrl+s")
            assert "Set this value?" not in text(pilot)
        editor.text = '{"page": 3}'
        await pilot.press("ctrl+s")
        await says(pilot, "Set this value?", 'was {"page": 12}', 'now {"page": 3}', "dura set-state")
        focused = pilot.app.focused
        assert focused is not None
        assert focused.id == "no"
        await pilot.press("shift+tab", *"skip", "tab", "tab", "enter")
        await says(pilot, "✓ set feeds/cursor")
    assert value(path, "cursor") == '{"page": 3}'
    [entry] = audit(path)
    assert (entry["action"], entry["target"], entry["reason"]) == ("set", "feeds/cursor", "skip")


@pytest.mark.usefixtures("feeds")
async def test_a_value_that_somebody_else_wrote_meanwhile_is_refused(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await to_key(pilot, "cursor")
        await pilot.press("E")
        await says(pilot, "as JSON", '"page": 12')
        engine.set_state(namespace="feeds", key="cursor", value={"page": 13})
        await says(pilot, "! Written again meanwhile", '"page": 12')
        await pilot.press("ctrl+s", "y")
        await says(pilot, "✗ edit value refused: cannot set feeds/cursor")
    assert value(path, "cursor") == '{"page": 13}'
    assert audit(path) == []


@pytest.mark.usefixtures("feeds")
async def test_keys_are_deleted_one_or_several(path: Path, clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        await to_key(pilot, "cursor")
        await pilot.press("D")
        await says(pilot, "Delete this key?", "feeds / cursor", '{"page": 12}', "dura delete-state")
        await pilot.press("y")
        await says(pilot, "✓ deleted feeds/cursor")
        await until(pilot, lambda: table(pilot).row_count == 2 or table(pilot).ghost == "cursor")
        await pilot.press("asterisk", "D")
        await says(pilot, "all keys of feeds", "2 keys. Type 2 to go on", "feeds/etag, feeds/seen")
        await pilot.press("2", "enter", "enter")
        await says(pilot, "delete key: changed 2")
        await pilot.press("escape")
    assert rows(path, "SELECT * FROM state WHERE namespace = 'feeds'") == []
    assert [entry["action"] for entry in audit(path)] == ["delete"] * 3


async def test_the_engines_own_keys_are_only_read(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.emit_event(event_name="x", actor="ann")
    async with running(path, clock) as pilot:
        await go_to(pilot, "6", "namespace\0dura.audit")
        await pilot.press("enter")
        await until(pilot, lambda: table(pilot).row_count == 1 and table(pilot).id == "state-keys")
        for key in "ED":
            await pilot.press(key)
            await says(pilot, "is the engine's own")


async def test_cleanup_counts_first_asks_for_the_number_and_tells_how_far_it_is(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    shop = fill(engine)
    clock.advance(3600)
    engine.cancel_task(shop.pending)
    async with running(path, clock) as pilot:
        await says(pilot, "C clean up")
        await pilot.press("C")
        await says(pilot, "longer ago than", "Nothing to remove")
        await pilot.press("1", "enter", "enter")
        await gone(pilot, "longer ago than")
        await pilot.press("C")
        await says(pilot, "Nothing to remove")
        await pilot.press("shift+tab", "shift+tab", "shift+tab")
        await type_over(pilot, "soon")
        await says(pilot, "✗ ")
        await type_over(pilot, "30m")
        await says(
            pilot, "3 tasks that ended before 2026-01-01 00:30:00 UTC", "1 completed, 1 failed, 1 cancelled",
            "Type 3", "dura cleanup", "--before=2026-01-01T00:30:00",
        )  # fmt: skip
        await pilot.press("tab", "4", "enter")
        await says(pilot, "✗ 4 is not 3")
        await pilot.press("backspace", "3", "enter", "enter")
        await says(pilot, "3 of 3", "clean up: removed 3", "ended · esc closes")
        await pilot.press("escape")
        await says(pilot, "✓ clean up: removed 3")
    left = {task for (task,) in rows(path, "SELECT task_id FROM tasks")}
    assert left == {shop.pending, shop.running, shop.waiting, shop.backed_off, shop.delayed}
    [entry] = [entry for entry in audit(path) if entry["action"] == "cleanup"]
    assert entry["after"] == "removed 3"


async def test_on_a_store_of_1_3_0_every_action_is_refused_before_its_dialog_with_the_remedy(
    path: Path, clock: ManualClock
) -> None:
    shutil.copyfile(FIXTURE, path)
    before = dump(path)
    async with running(path, clock) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: table(pilot).row_count > 0)
        for action in ACTIONS.values():
            monitor(pilot).main.action_act(action.name)
            assert len(pilot.app.screen_stack) == 1
            await says(pilot, f"✗ {action.label} is refused on a store of dura 1.3.0", "dura upgrade")
        hints = text(pilot).splitlines()[-1]
        assert all(action.label not in hints for action in ACTIONS.values())
    assert dump(path) == before


@pytest.mark.parametrize(
    "name", ["emit", "extend", "requeue", "cancel", "wake", "set", "delete", "cleanup", "many"]
)
async def test_on_a_low_terminal_a_dialog_begins_with_what_it_is_about_and_keeps_its_buttons(
    name: str, path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    shop = fill(engine)
    tasks = {
        "emit": (shop.waiting, "Event name"), "extend": (shop.running, "resize_image"),
        "requeue": (shop.failed, "import_catalog"), "cancel": (shop.running, "resize_image"),
        "wake": (shop.backed_off, "sync_crm"), "many": (shop.failed, "all tasks"),
    }  # fmt: skip
    async with running(path, clock, size=(40, 10)) as pilot:
        if name in tasks:
            task, about = tasks[name]
            await go_to(pilot, "4", task)
            await pilot.press(*["asterisk"] * (name == "many"))
        elif name == "cleanup":
            about = "Remove tasks that ended"
        else:
            await go_to(pilot, "6", "namespace\0feeds")
            await pilot.press("enter")
            await until(pilot, lambda: table(pilot).key == "cursor")
            about = "feeds/cursor" if name == "set" else "feeds / cursor"
        monitor(pilot).main.action_act("cancel" if name == "many" else name)
        await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
        await says(pilot, about, "Back  ")
        assert "│" in next(line for line in text(pilot).splitlines() if "Back  " in line)


def test_a_cleanup_is_stopped_between_two_transactions_and_says_what_is_left(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FIRST", "_LEAST", "_MOST"):
        monkeypatch.setattr(f"dura.engine.pace.{name}", 2)
    for _ in range(7):
        engine.cancel_task(engine.spawn_task(name="job", params=None).task_id)
    clock.advance(1)
    order = order_for("cleanup", None, before=clock(), reason="disk")
    bulk = BulkOrder("cleanup", (order,), 7)
    told: list[Tally] = []
    operator = Operator(str(path), clock=clock)
    tally = carry_out_all(operator, bulk, progress=told.append, stopped=lambda: len(told) == 2)
    assert [each.changed for each in told] == [2, 4, 4]
    assert (tally.stopped, tally.ended) == (True, True)
    assert tally.line == "clean up: removed 4, not tried 3"
    refused = carry_out_all(Operator(str(path), read_only=True), bulk, progress=print, stopped=lambda: False)
    assert refused.trouble.startswith("read-only: clean up is refused")
    gone = carry_out_all(Operator(str(path) + "x"), bulk, progress=print, stopped=lambda: False)
    assert gone.trouble.startswith("clean up failed: ")
    assert [entry["after"] for entry in audit(path)] == ["removed 4"]
