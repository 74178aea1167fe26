"""Keys that arrive together, as they do over a slow line, go where the one before has led."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Input, Static

from conftest import ManualClock, wait_until
from dura import DurableEngine
from dura_tui import typeahead
from dura_tui.app import DuraApp
from dura_tui.screens.emit import EmitDialog
from dura_tui.typeahead import Typeahead
from tui.far_end import Terminal
from tui.harness import fill, monitor, running, until, view


def test_a_filter_typed_at_once_is_a_filter_and_no_keys(path: Path) -> None:
    engine = DurableEngine(path)
    fill(engine)
    engine.close()
    terminal = Terminal("-m", "dura_tui", path)
    try:
        wait_until(lambda: "charge_order" in terminal.shown().text)
        terminal.press("4/queue:mail\r2")
        wait_until(lambda: "2 Leases" in terminal.shown().text)
        terminal.press("4")
        wait_until(lambda: "queue:mail" in terminal.shown().text)
        assert terminal.process.poll() is None
    finally:
        terminal.end()


async def test_keys_for_a_dialog_wait_until_it_is_there(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    fill(engine)
    async with running(path, clock) as pilot:
        app = monitor(pilot)
        for character in "e" + "noted":
            app.post_message(Key(character, character))
        await until(pilot, lambda: any(box.value == "noted" for box in pilot.app.screen.query(Input)))
        assert view(pilot).id == "overview"


async def test_keys_for_a_dialog_wait_for_it_however_long_it_takes_to_open(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = EmitDialog.compose

    def slow_compose(dialog: EmitDialog) -> ComposeResult:
        # A machine that has no time for the monitor: its patience is over before it gets to anything else.
        time.sleep(2 * typeahead._PATIENCE_SECONDS)
        yield from compose(dialog)

    monkeypatch.setattr(EmitDialog, "compose", slow_compose)
    async with running(path, clock) as pilot:
        for character in "e" + "quit":
            monitor(pilot).post_message(Key(character, character))
        await until(pilot, lambda: any(box.value == "quit" for box in pilot.app.screen.query(Input)))


async def test_keys_typed_before_there_is_a_screen_wait_for_nothing_but_each_other(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typeahead, "_PATIENCE_SECONDS", 3600.0)
    app = DuraApp(str(path), clock=clock)
    for character in "45":
        app._typed.append(Key(character, character))
    async with app.run_test() as pilot:
        await until(pilot, lambda: view(pilot).id == "events")


class Leaving(Static, can_focus=True):
    """Gone with the first key that it is given."""

    def on_key(self, event: Key) -> None:
        event.stop()
        self.remove()


async def test_a_key_whose_widget_has_gone_holds_up_no_other(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Typeahead, "on_typeahead_key_done", lambda self, message: None)
    monkeypatch.setattr(typeahead, "_LONGEST_SECONDS", 3600.0)
    async with running(path, clock) as pilot:
        await monitor(pilot).main.mount(leaving := Leaving())
        leaving.focus()
        await until(pilot, lambda: leaving.has_focus)
        for character in "x4":
            monitor(pilot).post_message(Key(character, character))
        await until(pilot, lambda: view(pilot).id == "tasks")


async def test_a_key_that_is_never_done_holds_up_no_other_for_ever(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Typeahead, "on_typeahead_key_done", lambda self, message: None)
    monkeypatch.setattr(typeahead, "_LONGEST_SECONDS", 0.1)
    async with running(path, clock) as pilot:
        for character in "234":
            monitor(pilot).post_message(Key(character, character))
        await until(pilot, lambda: view(pilot).id == "tasks")


async def test_a_key_that_is_seen_to_after_the_end_does_nothing(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        app = monitor(pilot)
    key = Key("2", "2")
    await app.on_event(key)
    key._set_forwarded()
    await app.on_event(key)
    app._typed.append(Key("3", "3"))
    await app._take_next()
    await app.on_typeahead_key_done(Typeahead.KeyDone(app._number, 2))
