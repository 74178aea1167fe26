"""Each action by its keys at 80x24: what the screen says, and what the file says afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from conftest import ManualClock, claim, rows
from dura import DurableEngine
from dura_tui.actions import ACTIONS, Confirm
from dura_tui.screens.dialog import Dialog
from tui.harness import EVENT, Screen, Shop, fill, go_to, gone, monitor, running, says, table, text, until


@pytest.fixture
def shop(engine: DurableEngine) -> Shop:
    return fill(engine)


def run_of(path: Path, task_id: str) -> dict[str, object]:
    """A task's latest run."""
    names = ("run_id", "state", "attempt", "claim_expires_at")
    found = rows(
        path, f"SELECT {', '.join(names)} FROM runs WHERE task_id = ? ORDER BY attempt DESC LIMIT 1", task_id
    )
    return dict(zip(names, found[0], strict=True))


def audit(path: Path) -> list[dict[str, object]]:
    """The audit entries, oldest first."""
    found = rows(path, "SELECT value FROM state WHERE namespace = 'dura.audit' ORDER BY key")
    return [json.loads(value) for (value,) in found]


async def type_over(pilot: Screen, value: str) -> None:
    """Put a text in place of what the focused input holds."""
    line = pilot.app.focused
    assert isinstance(line, Input)
    line.value = value
    await pilot.pause()


async def test_emit_previews_the_woken_runs_asks_and_wakes_them(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "5", f"awaited\0{EVENT}")
        await pilot.press("e")
        await says(
            pilot, "Emit an event", EVENT, "Wakes 1 run", f"charge_order {shop.waiting[-8:]}", "step approval"
        )
        editor = pilot.app.focused
        assert isinstance(editor, TextArea)
        editor.text = "[1,\n"
        await says(pilot, "✗ no JSON", "line 2, column 1")
        await pilot.press("ctrl+s")
        assert "Emit this event?" not in text(pilot)
        await pilot.press("down", "2", "]", "ctrl+s")
        await says(pilot, "Emit this event?", "[1, 2]", "Wakes 1 run")
        focused = pilot.app.focused
        assert focused is not None
        assert focused.id == "no"
        await pilot.press("enter")
        await gone(pilot, "Emit this event?")
        assert run_of(path, shop.waiting)["state"] == "sleeping"
        await pilot.press("ctrl+s")
        await says(pilot, "Emit this event?")
        await pilot.press("y")
        await says(pilot, f"✓ emitted {EVENT}: woke 1 run")
        await until(pilot, lambda: f"event\0{EVENT}" in table(pilot).keys)
    assert run_of(path, shop.waiting)["state"] == "pending"
    [entry] = audit(path)
    assert (entry["action"], entry["target"]) == ("emit", EVENT)
    assert "@" in str(entry["actor"])


async def test_emit_completes_names_that_runs_wait_for(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "5", "event\0catalog.ready")
        await pilot.press("e")
        await says(pilot, "! Already emitted", "The first write wins")
        await pilot.press("shift+tab")
        await type_over(pilot, "appr")
        await says(pilot, "awaited, ↓ chooses", EVENT)
        await pilot.press("down")
        await says(pilot, "Wakes 1 run")
        await type_over(pilot, "nobody:waits")
        await says(pilot, "No run waits for it now.")
        await pilot.press("escape")
        await gone(pilot, "Emit an event")
    assert audit(path) == []


async def test_extend_adds_to_what_is_left_without_a_question(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    before = str(run_of(path, shop.running)["claim_expires_at"])
    async with running(path, clock) as pilot:
        await go_to(pilot, "2", str(run_of(path, shop.running)["run_id"]))
        await says(pilot, "1m 00s")
        await pilot.press("x")
        await says(pilot, "Extend the lease", "resize_image")
        await type_over(pilot, "-3")
        await says(pilot, "✗ a number of seconds above 0")
        await type_over(pilot, "120")
        await pilot.press("enter")
        await says(pilot, "✓ extended the lease of resize_image", "3m 00s")
    assert before == "2026-01-01T00:01:00.000000+00:00"
    assert run_of(path, shop.running)["claim_expires_at"] == "2026-01-01T00:03:00.000000+00:00"
    assert [entry["action"] for entry in audit(path)] == ["extend"]


@pytest.mark.parametrize(
    ("downs", "kept", "forecast"),
    [
        (0, ["load", "parse"], "kept: load, parse; next: store"),
        (2, ["load"], "kept: load; next: parse"),
        (3, [], "no step is kept; next: load"),
    ],
)
async def test_requeue_offers_which_steps_to_keep(
    downs: int,
    kept: list[str],
    forecast: str,
    path: Path,
    shop: Shop,
    engine: DurableEngine,
    clock: ManualClock,
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", shop.failed)
        await pilot.press("R")
        await says(
            pilot, "Requeue the task", "keep 2 finished steps", "again from step parse", "from scratch"
        )
        await pilot.press(*["down"] * downs)
        await says(pilot, forecast)
        await pilot.press("enter")
        await says(pilot, "Requeue this task?", forecast)
        await pilot.press("shift+tab", *"fixed", "tab", "tab", "enter")
        await says(pilot, "✓ requeued import_catalog", "attempt 2 is pending", "○ pending")
    assert (run_of(path, shop.failed)["state"], run_of(path, shop.failed)["attempt"]) == ("pending", 2)
    found = rows(path, "SELECT checkpoint_name FROM checkpoints WHERE task_id = ? ORDER BY 1", shop.failed)
    assert [name for (name,) in found] == kept
    assert [entry["reason"] for entry in audit(path)] == ["fixed"]


async def test_cancel_asks_with_cancel_focused_and_escape_changes_nothing(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "3", str(run_of(path, shop.waiting)["run_id"]))
        for leave in ("escape", "n", "enter"):
            await pilot.press("c")
            await says(pilot, "Cancel this task?", shop.waiting)
            await pilot.press(leave)
            await gone(pilot, "Cancel this task?")
        assert run_of(path, shop.waiting)["state"] == "sleeping"
        await pilot.press("c")
        await says(pilot, "Cancel this task?")
        await pilot.press("right", "enter")
        await says(pilot, "✓ cancelled charge_order")
    assert run_of(path, shop.waiting)["state"] == "cancelled"


async def test_wake_makes_a_backed_off_task_due_at_once(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "3", str(run_of(path, shop.backed_off)["run_id"]))
        await says(pilot, "↻ backoff", "1m 30s", "w wake")
        await pilot.press("w")
        await says(pilot, "Wake this task?", "when its backoff ends", "dura wake")
        await pilot.press("y")
        await says(pilot, "✓ woke sync_crm")
    assert run_of(path, shop.backed_off)["state"] == "pending"


async def test_an_action_that_does_not_fit_is_not_begun(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", shop.completed)
        for key, words in (
            ("x", "holds no lease: it is completed"),
            ("R", "only a failed or cancelled task can be requeued"),
            ("c", "has ended: it is completed"),
            ("w", "only a sleeping task can be woken"),
        ):
            await pilot.press(key)
            await says(pilot, words)
            assert len(pilot.app.screen_stack) == 1
        await go_to(pilot, "3", str(run_of(path, shop.waiting)["run_id"]))
        await pilot.press("w")
        await says(pilot, "emit its event instead")
    assert audit(path) == []


async def test_an_action_on_a_claim_that_moved_on_is_refused_with_the_present_state(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    """The screen is paused, the run is reclaimed by another worker, and the key comes late."""
    run_id = str(run_of(path, shop.running)["run_id"])
    async with running(path, clock) as pilot:
        await go_to(pilot, "2", run_id)
        await pilot.press("p")
        await says(pilot, "‖ paused")
        clock.advance(61)
        engine.cancel_task(shop.pending)
        assert claim(engine, worker_id="web2:1:1").run_id == run_id
        await pilot.press("x")
        await says(pilot, "Extend the lease")
        await pilot.press("enter")
        await says(pilot, "✗ extend lease refused: cannot extend the lease of run ", ": it has been")
    assert run_of(path, shop.running)["state"] == "running"
    assert audit(path) == []


async def test_a_key_meets_the_row_that_has_just_left_never_its_neighbour(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    first, second = (str(run_of(path, task)["run_id"]) for task in (shop.backed_off, shop.delayed))
    async with running(path, clock) as pilot:
        await go_to(pilot, "3", first)
        engine.cancel_task(shop.backed_off)
        await until(pilot, lambda: table(pilot).ghost == first)
        assert table(pilot).key == first
        await pilot.press("w")
        await says(pilot, "has left the list; was ◐ sleeping")
        await pilot.press("y")
        await says(pilot, "✗ wake refused", "cancelled")
        assert run_of(path, shop.delayed)["state"] == "sleeping"
        clock.advance(6)
        monitor(pilot).tick()
        await until(pilot, lambda: first not in table(pilot).keys)
        assert table(pilot).key == second


async def test_the_palette_runs_the_same_actions(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await go_to(pilot, "3", str(run_of(path, shop.backed_off)["run_id"]))
        await pilot.press("ctrl+p")
        await pilot.press(*"wake")
        await says(pilot, "Make a delayed, backed-off or deferred task due now")
        await pilot.press("enter")
        await says(pilot, "Wake this task?")
        await pilot.press("y")
        await says(pilot, "✓ woke sync_crm")
    assert run_of(path, shop.backed_off)["state"] == "pending"


@pytest.mark.parametrize("name", ACTIONS)
async def test_an_action_asks_as_the_registry_says(
    name: str, path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    """No action is done by Enter alone but one that needs no question; before each, its command can be copied."""
    confirm = ACTIONS[name].confirm
    tasks = {"extend": shop.running, "requeue": shop.failed, "cancel": shop.running, "wake": shop.backed_off}
    async with running(path, clock) as pilot:
        if name in tasks:
            await go_to(pilot, "4", tasks[name])
        elif name in ("set", "delete"):
            await go_to(pilot, "6", "namespace\0feeds")
            await pilot.press("enter")
            await until(pilot, lambda: table(pilot).key == "cursor")
        elif name == "emit":
            await go_to(pilot, "5", f"awaited\0{EVENT}")
        await pilot.press(ACTIONS[name].key)
        await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
        if confirm is Confirm.QUESTION and name in ("emit", "requeue", "set"):
            await says(pilot, {"emit": "Wakes 1 run", "requeue": "kept: load", "set": "as JSON"}[name])
            await pilot.press("enter" if name == "requeue" else "ctrl+s")
            await until(pilot, lambda: len(pilot.app.screen_stack) == 3)
        focused = pilot.app.focused
        assert focused is not None
        assert focused.id == ("seconds" if confirm is Confirm.NOTHING else "no")
        assert len(pilot.app.screen.query("#count")) == (confirm is Confirm.COUNT)
        dialog = pilot.app.screen
        assert isinstance(dialog, Dialog)
        assert str(dialog.command()).startswith("dura ")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: pilot.app.clipboard == dialog.command())
        await pilot.press("escape")
    assert audit(path) == []
