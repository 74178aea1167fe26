"""What every view has by keys, from the registries: it opens, explains itself, is filtered, sorted, left and come back to."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from conftest import ManualClock
from dura import DurableEngine
from dura_tui.keys import VIEW_KEYS, ViewKey
from dura_tui.screens.filtered import FilteredView
from tui.harness import Screen, fill, gone, monitor, running, says, table, text, until, view


async def opened(pilot: Screen, key: ViewKey) -> None:
    await pilot.press(key.key)
    await until(pilot, lambda: view(pilot).id == key.name and view(pilot).snapshot is not None)


async def test_every_view_opens_explains_itself_and_is_filtered_sorted_left_and_come_back_to(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    shop = fill(engine)
    engine.wake_task(shop.backed_off, actor="ann@desk")
    async with running(path, clock) as pilot:
        for key in VIEW_KEYS:
            await opened(pilot, key)
            await until(pilot, lambda: table(pilot).row_count > 0)

            await pilot.press("question_mark")
            await says(pilot, "Help", key.label, view(pilot).ABOUT[0].split()[0])
            await pilot.press("escape")
            assert len(pilot.app.screen_stack) == 1

            await (sorted_and_filtered if isinstance(view(pilot), FilteredView) else looked_for)(pilot)
            await opened(pilot, key)

            # Into whatever is under the cursor, and back by keys alone.
            await until(pilot, lambda: table(pilot).row_count > 0)
            await pilot.press("enter")
            assert monitor(pilot).trouble is None
            while len(pilot.app.screen_stack) > 1:
                await pilot.press("escape")
            await pilot.press("escape")
            await opened(pilot, key)
            assert all(len(line) <= 80 for line in text(pilot).splitlines())


async def sorted_and_filtered(pilot: Screen) -> None:
    """Sort the list by two columns, either way, and filter it until nothing is left."""
    shown = view(pilot)
    assert isinstance(shown, FilteredView)
    for place, name in enumerate(list(shown.sorts)[:2], 1):
        await pilot.press("s", str(place))
        assert shown.sort_now == name
        await pilot.press("S")
        assert shown.sort_now == f"-{name}"
    await pilot.press("s", "0")
    assert shown.sort_now == ""
    await pilot.press("slash", *"zzz", "enter")
    await until(pilot, lambda: shown.filter_now == "zzz" and shown.snapshot is not None)
    await until(pilot, lambda: table(pilot).row_count == 0)
    await pilot.press("escape")
    await until(pilot, lambda: shown.filter_now == "" and table(pilot).row_count > 0)


async def looked_for(pilot: Screen) -> None:
    """Where a view has no filter of that kind, `/` looks for a part of a name, or filters the tasks."""
    await pilot.press("slash")
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    await pilot.press("escape")


async def test_a_key_that_a_view_has_no_use_for_is_answered(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    fill(engine)
    async with running(path, clock) as pilot:
        for view_key, key, said in (
            ("1", "s", "has one order only"),
            ("6", "S", "has one order only"),
            ("4", "t", "is shown in one way only"),
        ):
            await pilot.press(view_key, key)
            await says(pilot, f"✗ this view {said}")
        await pilot.press("S")
        await says(pilot, "✗ only an order by a column is turned round: s chooses one")


async def test_an_empty_list_offers_nothing_to_be_done_to_its_rows(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("4")
        await says(pilot, "no task   newest first", "No task matches.", "/ filter")
        assert "mark" not in text(pilot).splitlines()[-1]
        assert "enter open" not in text(pilot)


async def test_what_is_wrong_with_a_filter_is_said_whole_at_80_columns(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("4", "slash", *"state:y", "enter")
        await says(pilot, "✗ no state 'y': use one of pending", "cancelled")
        await pilot.press("backspace")
        await gone(pilot, "no state")
