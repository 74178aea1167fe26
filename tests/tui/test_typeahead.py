"""Keys that arrive together, as they do over a slow line, go where the one before has led."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Input

from conftest import ManualClock, wait_until
from dura import DurableEngine
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


async def test_a_key_whose_widget_has_gone_holds_up_no_other(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Typeahead, "on_typeahead_key_done", lambda self, message: None)
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
