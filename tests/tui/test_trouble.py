"""A store that cannot be read is a state of the screen, which says why, how old the picture is, and recovers by itself."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
from textual.message import Message

from conftest import ManualClock
from dura import DurableEngine
from dura_tui.app import DuraApp
from dura_tui.messages import ActionDone
from dura_tui.orders import Outcome
from tui.harness import Shop, fill, gone, monitor, running, says, tick, until


@pytest.fixture
def still(path: Path, clock: ManualClock) -> Path:
    """A store without a writer."""
    engine = DurableEngine(path, clock=clock)
    fill(engine)
    engine.close()
    return path


async def test_a_file_that_vanishes_and_comes_back(still: Path, clock: ManualClock) -> None:
    kept = still.with_suffix(".kept")
    async with running(still, clock) as pilot:
        await pilot.press("4")
        await says(pilot, "1 to 8 of 8", "● live")
        shutil.move(still, kept)
        await says(pilot, "✗ stale", "no such file", "Trying again.")
        await tick(pilot, clock, 9)
        await says(pilot, "stale 9s", "was read 9s ago", "import_catalog")
        shutil.move(kept, still)
        await says(pilot, "● live", "1 to 8 of 8")
        await gone(pilot, "no such file")


async def test_a_file_that_is_replaced_by_another_store(
    still: Path, tmp_path: Path, clock: ManualClock
) -> None:
    other = tmp_path / "other.db"
    engine = DurableEngine(other, clock=clock)
    engine.spawn_task(name="newcomer", params=None)
    engine.close()
    async with running(still, clock) as pilot:
        await pilot.press("4")
        await says(pilot, "1 to 8 of 8")
        other.replace(still)
        await says(pilot, "1 to 1 of 1", "newcomer", "● live")


async def test_a_file_that_turns_into_rubbish_and_back(still: Path, clock: ManualClock) -> None:
    good = still.read_bytes()
    async with running(still, clock) as pilot:
        await says(pilot, "● live")
        still.write_bytes(b"this is no database, and never was" * 100)
        await says(pilot, "✗ stale", "Trying again.")
        assert monitor(pilot).is_running
        still.write_bytes(good)
        await says(pilot, "● live")


async def test_a_store_that_is_locked_is_waited_for(still: Path, clock: ManualClock) -> None:
    holder = sqlite3.connect(still, isolation_level=None)
    holder.execute("PRAGMA journal_mode=DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    holder.execute("DELETE FROM events")
    try:
        async with running(still, clock) as pilot:
            await says(pilot, "✗ no data", still.name, "Trying again.")
            holder.execute("ROLLBACK")
            await says(pilot, "● live", "charge_order")
    finally:
        holder.close()


async def test_an_action_on_a_vanished_file_fails_with_a_reason(still: Path, clock: ManualClock) -> None:
    async with running(still, clock) as pilot:
        await pilot.press("4")
        await says(pilot, "1 to 8 of 8", "pending")
        await pilot.press("p")
        still.rename(still.with_suffix(".kept"))
        await pilot.press("c")
        await says(pilot, "Cancel this task?")
        await pilot.press("y")
        await says(pilot, "✗ cancel failed", "no such file")
    assert not still.exists()


async def test_a_reader_that_breaks_is_opened_anew(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    from dura.monitor import Monitor
    from dura.records import Snapshot, Want

    broken = [RuntimeError("[b]a bug[/b]"), OSError("the disk is gone")]

    class Breaking:
        def __init__(self) -> None:
            self.monitor = Monitor(path, clock=clock)

        def snapshot(self, want: Want = Want()) -> Snapshot:  # noqa: B008
            if broken:
                raise broken[-1]
            return self.monitor.snapshot(want)

        def changed(self) -> bool:
            return self.monitor.changed()

        def close(self) -> None:
            self.monitor.close()

    shop: Shop = fill(engine)
    async with running(path, clock, open_source=Breaking) as pilot:
        await says(pilot, "✗ the disk is gone", "Trying again.")
        broken.pop()
        await says(pilot, "✗ RuntimeError: [b]a bug[/b]")
        broken.pop()
        await says(pilot, "● live", "charge_order")
        await until(pilot, lambda: monitor(pilot).trouble is None)
    assert shop.pending


def test_an_action_that_ends_just_after_the_monitor_is_no_error(
    still: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    posts, over = threading.Event(), threading.Event()
    taken: list[bool] = []

    async def act_and_end() -> threading.Thread:
        async with running(still, clock) as pilot:
            app = monitor(pilot)

            def enabled(app: DuraApp, message: Message) -> bool:
                """The app has been found to be open, and is not any more when the message is handed over."""
                if isinstance(message, ActionDone):
                    posts.set()
                    assert over.wait(60)
                return True

            monkeypatch.setattr(DuraApp, "check_message_enabled", enabled)
            done = ActionDone(Outcome("wake", done=True, text="woke it"))
            acting = threading.Thread(target=lambda: taken.append(app.post_message(done)))
            acting.start()
            assert posts.wait(60)
        return acting

    acting = asyncio.run(act_and_end())
    over.set()
    acting.join(60)
    assert taken == [False]
