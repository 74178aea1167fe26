"""`--read-only`: no key, command or click on any view changes a byte of the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.binding import Binding

from conftest import ManualClock, dump
from dura import DurableEngine
from dura_tui.actions import ACTIONS
from dura_tui.keys import KEYS, VIEW_KEYS
from dura_tui.operators import Operator
from dura_tui.orders import Order, Target
from tui.harness import Screen, Shop, fill, go_to, monitor, running, says, table, text, until, view


@pytest.fixture
def shop(engine: DurableEngine) -> Shop:
    engine.emit_event(event_name="noted", actor="ann@web1")
    return fill(engine)


def files(path: Path) -> dict[str, bytes]:
    """The database and its log, byte by byte. The index beside them is where readers note that they read."""
    return {
        file.name: file.read_bytes()
        for file in path.parent.glob(path.name + "*")
        if not file.name.endswith("-shm")
    }


async def leave_dialogs(pilot: Screen) -> None:
    while len(pilot.app.screen_stack) > 1:
        await pilot.press("escape")


async def show(pilot: Screen, shop: Shop, number: str) -> None:
    """Show a view with something under the cursor; for `detail` that of a task that could be cancelled."""
    if number == "detail":
        await go_to(pilot, "4", shop.running)
        await pilot.press("enter")
        await until(pilot, lambda: view(pilot).id == "detail" and table(pilot).row_count > 0)
    else:
        await pilot.press(number)
        await until(pilot, lambda: table(pilot).row_count > 0)


KEYS_PRESSED = (
    *[
        "j",
        "tab",
        "s",
        "escape",
        "S",
        "f",
        "escape",
        "colon",
        "escape",
        "Y",
        "t",
        "n",
        "b",
        "y",
        "p",
        "p",
        "r",
        "exclamation_mark",
        "T",
        "slash",
        "escape",
        "question_mark",
        "q",
        "v",
        "escape",
        "minus",
        "minus",
        "ctrl+p",
        "escape",
        "space",
        "V",
        "asterisk",
        "u",
    ],
    *(action.key for action in ACTIONS.values()),
    *["enter", "escape", "backspace", "right_square_bracket", "left_square_bracket"],
)


def test_the_keys_pressed_here_are_all_there_are() -> None:
    bound = {key for entry in KEYS for key in entry.keys.split(",")}
    assert bound - set(KEYS_PRESSED) <= {view.key for view in VIEW_KEYS}


@pytest.mark.parametrize("number", [*(view.key for view in VIEW_KEYS), "detail"])
async def test_no_key_changes_the_store(number: str, path: Path, shop: Shop, clock: ManualClock) -> None:
    before = files(path)
    async with running(path, clock, read_only=True) as pilot:
        await says(pilot, "READ-ONLY")
        await show(pilot, shop, number)
        for action in ACTIONS.values():
            monitor(pilot).main.action_act(action.name)
            assert len(pilot.app.screen_stack) == 1, f"{action.name} opened a dialog"
            await says(pilot, f"✗ read-only: {action.label} is refused")
        await pilot.press(*KEYS_PRESSED)
        assert monitor(pilot).trouble is None
    assert files(path) == before


async def test_no_command_of_the_palette_changes_the_store(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    before = files(path)
    async with running(path, clock, read_only=True) as pilot:
        await go_to(pilot, "4", shop.running)
        commands = list(pilot.app.get_system_commands(pilot.app.screen))
        assert {command.title for command in commands} >= {
            action.label.capitalize() for action in ACTIONS.values()
        }
        for command in commands:
            if command.title != "Quit":
                command.callback()
                await pilot.pause()
                await leave_dialogs(pilot)
    assert files(path) == before


async def test_a_click_where_an_action_would_be_does_nothing(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    before = files(path)
    async with running(path, clock, read_only=True) as pilot:
        await go_to(pilot, "4", shop.running)
        for hint in text(pilot).splitlines()[-1].split("  "):
            if "quit" not in hint:
                await pilot.click(
                    "#keys", offset=(text(pilot).splitlines()[-1].find(hint) + len(hint) - 1, 0)
                )
                await leave_dialogs(pilot)
    assert files(path) == before


@pytest.mark.parametrize("action", ACTIONS)
def test_the_operator_itself_refuses_whoever_asks(
    action: str, path: Path, shop: Shop, engine: DurableEngine
) -> None:
    before = dump(path)
    target = Target(task_id=shop.running, run_id="r", state="running", name="resize_image")
    outcome = Operator(str(path), read_only=True).carry_out(
        Order(action=action, target=target, event_name="x")
    )
    assert not outcome.done
    assert "read-only" in outcome.text
    assert dump(path) == before


def test_every_binding_is_in_the_table_of_keys() -> None:
    from dura_tui.screens.main import MainScreen

    bound = {binding.action for binding in MainScreen.BINDINGS if isinstance(binding, Binding)}
    assert bound == {key.action for key in KEYS}
