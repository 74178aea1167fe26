"""Driving the monitor with everything that there is to press: every key and palette command of the registry, on a view.

Whatever opens is filled in, confirmed in every way it offers, and left. So nothing is missing from the drive that is in the
registry, a new key or action included.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from textual import events
from textual.binding import Binding
from textual.screen import Screen as TextualScreen
from textual.widgets import Button, Input, TextArea

from dura_tui import screens
from dura_tui.keys import KEYS, VIEW_KEYS
from dura_tui.screens.dialog import Dialog
from tui.harness import Screen, Shop, go_to, monitor, table, text, until, view
from tui.settling import settled

VIEWS: Final = (*(each.key for each in VIEW_KEYS), "detail")

_ROUNDS: Final = 3
"""Confirmations that may follow each other: a form, what it would do, and the number of tasks."""

for module in iter_modules(screens.__path__, "dura_tui.screens."):
    # The monitor loads a dialog when it is first opened; what dialogs there are must not hang on what was opened before.
    import_module(module.name)

_LEAVING: Final = ("q", "ctrl+q", "ctrl+c")


def keys() -> Iterator[str]:
    """Every key that does something on the main screen, but those that end the program."""
    for entry in KEYS:
        yield from (key for key in entry.keys.split(",") if key not in _LEAVING)


def dialog_keys(kind: type[TextualScreen[object]] = Dialog) -> set[str]:
    """Every key that a dialog of any kind binds, but those that leave it."""
    found: set[str] = set()
    for each in (kind, *kind.__subclasses__()):
        for binding in each.__dict__.get("BINDINGS", ()):
            key = binding.key if isinstance(binding, Binding) else binding[0]
            found |= set(key.split(","))
        if each is not kind:
            found |= dialog_keys(each)
    return found - {"escape"}


async def hit(pilot: Screen, key: str) -> None:
    """Press a key, and wait until all that it set off has been seen to. Unlike `Pilot.press`, not for what moves."""
    character = key if len(key) == 1 else None
    event = events.Key(key, character)
    event.set_sender(pilot.app)
    driver = pilot.app._driver
    assert driver is not None
    driver.send_message(event)
    await settle(pilot)


async def settle(pilot: Screen) -> None:
    """Wait until what was set off, and what that set off, has been seen to: actions carried out, and dialogs answered."""
    await until(pilot, lambda: not (monitor(pilot).typing or acting() or "Looking " in text(pilot)))
    # What an action's thread said last.
    await settled(pilot.app)


def acting() -> bool:
    """Whether an action is being carried out."""
    lasting = ("dura-tui-feed", "dura-tui-hangup")
    return any(t.name.startswith("dura-tui-") and t.name not in lasting for t in threading.enumerate())


async def show(pilot: Screen, number: str, task_id: str) -> None:
    """Show a view with something under the cursor; for `detail` that of the task."""
    if number == "detail":
        await go_to(pilot, "4", task_id)
        await hit(pilot, "enter")
        await until(pilot, lambda: view(pilot).id == "detail" and table(pilot).row_count > 0)
    else:
        await hit(pilot, number)
        await until(pilot, lambda: table(pilot).row_count > 0)


async def drive(pilot: Screen, number: str, shop: Shop, *, palette: bool, rows: int = 1) -> int:
    """Press everything on one view. Returns how much that was.

    Args:
        pilot: The monitor.
        number: The view's key, or `detail`.
        shop: The tasks in its store.
        palette: Whether to run every command of the palette too.
        rows: On how many tasks, of different states, where the view is about tasks.
    """
    pressed = 0
    tasks = (shop.running, shop.failed, shop.delayed)[:rows]
    for row in tasks if number in ("4", "detail") else ("",):
        for key in keys():
            await arrive(pilot, number, row or shop.running)
            await hit(pilot, key)
            pressed += 1 + await answer(pilot)
        if palette:
            for command in list(pilot.app.get_system_commands(pilot.app.screen)):
                if command.title not in ("Quit", "Theme"):
                    await arrive(pilot, number, row or shop.running)
                    command.callback()
                    await settle(pilot)
                    pressed += 1 + await answer(pilot)
    return pressed


async def arrive(pilot: Screen, number: str, task_id: str) -> None:
    """Be on the view, with the cursor on the task where the view lists tasks."""
    await leave(pilot)
    at = view(pilot).id
    if number == "detail":
        if at != "detail":
            await show(pilot, number, task_id)
    elif at != next(each.name for each in VIEW_KEYS if each.key == number):
        await hit(pilot, number)
    if number == "4" and task_id in table(pilot).keys:
        table(pilot).move_to(task_id)


async def answer(pilot: Screen) -> int:
    """Fill in and confirm whatever dialog is open, and whatever opens then; leave the rest. Returns what was pressed."""
    pressed = 0
    for _ in range(_ROUNDS):
        screen = pilot.app.screen
        if not isinstance(screen, Dialog):
            break
        for entry in screen.query(Input):
            if not entry.value:
                entry.value = "1"
        for area in screen.query(TextArea):
            if not area.text and not area.read_only:
                area.text = "1"
        await settle(pilot)
        for key in ("ctrl+s", "y"):
            writing = isinstance(screen.focused, Input | TextArea) and key == "y"
            if pilot.app.screen is screen and not writing:
                await hit(pilot, key)
                pressed += 1
        for button in list(screen.query(Button)):
            if pilot.app.screen is screen and button.id != "no":
                button.press()
                await settle(pilot)
                pressed += 1
    await leave(pilot)
    return pressed


async def leave(pilot: Screen) -> None:
    """Close every dialog, and whatever line is being written."""
    for _ in range(20):
        if len(pilot.app.screen_stack) == 1 and not isinstance(monitor(pilot).main.focused, Input):
            return
        await hit(pilot, "escape")
    raise AssertionError(f"cannot leave {pilot.app.screen_stack}")


def files(
    path: Path, beside: Iterable[str] = ("", "-wal", "-journal")
) -> dict[str, tuple[bytes, int] | None]:
    """The store's files byte by byte, and when they were written. The log's index is where readers note that they read."""
    found: dict[str, tuple[bytes, int] | None] = {}
    for suffix in beside:
        file = path.with_name(path.name + suffix)
        found[suffix] = (file.read_bytes(), file.stat().st_mtime_ns) if file.exists() else None
    return found
