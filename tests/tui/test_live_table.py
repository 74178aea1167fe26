"""The live table: cursor and scroll stay on their keys, and only what differs is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from rich.console import Console
from textual.app import App, ComposeResult
from textual.events import Resize
from textual.geometry import Region, Size
from textual.pilot import Pilot
from textual.widgets import _data_table

from dura_tui.widgets.cells import cell
from dura_tui.widgets.live_table import GHOST_SECONDS, Column, LiveTable, Row
from tui.settling import settled

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class TableApp(App[None]):
    def compose(self) -> ComposeResult:
        yield LiveTable[str](
            (Column("KEY"), Column("VALUE", 8), Column("MORE", 8, at=60)), empty="Nothing here."
        )


def rows(keys: list[str], value: str = "v") -> list[Row[str]]:
    return [Row(key, (cell(key), cell(value), cell("more")), key) for key in keys]


@asynccontextmanager
async def shown(
    keys: list[str], size: tuple[int, int] = (80, 12)
) -> AsyncIterator[tuple[LiveTable[str], Pilot[None]]]:
    app = TableApp()
    async with app.run_test(size=size) as pilot:
        table = app.query_one(LiveTable)
        await settled(pilot.app)
        table.show_rows(rows(keys), NOW)
        await settled(pilot.app)
        yield table, pilot


def names(count: int) -> list[str]:
    return [f"task-{place:03d}" for place in range(count)]


def place(table: LiveTable[str]) -> tuple[str | None, str | None, int]:
    """The ghost, the key under the cursor, and how many rows there are."""
    return table.ghost, table.key, table.row_count


def top(table: LiveTable[str]) -> str:
    return table.keys[int(table.scroll_y)]


async def test_the_cursor_follows_its_key_through_rows_that_come_go_and_move() -> None:
    dice = Random(11)
    async with shown(names(60)) as (table, pilot):
        table.move_to("task-030")
        await settled(pilot.app)
        keys = names(60)
        for step in range(60):
            others = [key for key in keys if key != "task-030"]
            dice.shuffle(others)
            del others[: dice.randrange(len(others) // 4 + 1)]
            keys = [f"new-{step}", *others]
            keys.insert(dice.randrange(len(keys)), "task-030")
            table.show_rows(rows(keys, f"v{step}"), NOW)
            assert table.key == table.record == "task-030"
            assert table.keys == tuple(keys)
            await settled(pilot.app)
            assert table.key == "task-030"
            assert int(table.scroll_y) <= table.cursor_row < int(table.scroll_y) + 11


async def test_a_scrolled_list_keeps_its_top_row_while_rows_come_above() -> None:
    async with shown(names(60)) as (table, pilot):
        table.move_to("task-040")
        await settled(pilot.app)
        before, line = top(table), table.cursor_row - int(table.scroll_y)
        assert before != "task-000"
        table.show_rows(rows(["a", "b", "c", *names(60)]), NOW)
        await settled(pilot.app)
        assert (top(table), table.key) == (before, "task-040")
        table.show_rows(rows([key for key in names(60) if key not in ("task-000", "task-001", before)]), NOW)
        await settled(pilot.app)
        assert (table.key, table.cursor_row - int(table.scroll_y)) == ("task-040", line)


async def test_a_list_at_its_top_stays_at_its_top_while_the_cursor_is_in_sight() -> None:
    async with shown(names(60)) as (table, pilot):
        await pilot.press("j")
        table.show_rows(rows(["a", "b", "c", *names(60)]), NOW)
        await settled(pilot.app)
        assert (top(table), table.key) == ("a", "task-001")


async def test_a_row_that_leaves_under_the_cursor_stays_as_a_ghost_and_then_goes() -> None:
    async with shown(names(5)) as (table, pilot):
        table.move_to("task-002")
        left = [key for key in names(5) if key != "task-002"]
        table.show_rows(rows(left), NOW)
        assert (table.ghost, table.key, table.record, table.row_count) == (
            "task-002",
            "task-002",
            "task-002",
            5,
        )
        table.show_rows(rows(left), NOW + timedelta(seconds=GHOST_SECONDS))
        assert place(table) == ("task-002", "task-002", 5)
        table.show_rows(rows(left), NOW + timedelta(seconds=GHOST_SECONDS + 1))
        await settled(pilot.app)
        assert place(table) == (None, "task-003", 4)


async def test_a_ghost_goes_as_soon_as_the_cursor_leaves_it_and_revives_if_its_row_returns() -> None:
    async with shown(names(5)) as (table, pilot):
        left = names(5)[1:]
        table.show_rows(rows(left), NOW)
        assert place(table) == ("task-000", "task-000", 5)
        table.show_rows(rows(names(5)), NOW)
        assert place(table) == (None, "task-000", 5)
        table.show_rows(rows(left), NOW)
        await pilot.press("j")
        table.show_rows(rows(left), NOW)
        assert place(table) == (None, "task-001", 4)


async def test_only_cells_that_differ_are_repainted() -> None:
    async with shown(names(8)) as (table, pilot):
        regions: list[Region] = []
        refresh = table.refresh

        def spy(*given: Region, **options: bool) -> LiveTable[str]:
            regions.extend(given or [table.region])
            refresh(*given, **options)
            return table

        table.refresh = spy  # type: ignore[method-assign]
        changed = rows(names(8))
        changed[3] = Row("task-003", (cell("task-003"), cell("other"), cell("more")), "task-003")
        table.show_rows(changed, NOW)
        await settled(pilot.app)
        assert [region.height for region in regions] == [1]
        assert regions[0].width == 10
        regions.clear()
        table.show_rows(changed, NOW)
        await settled(pilot.app)
        assert regions == []


async def test_columns_come_and_go_with_the_width_and_the_cursor_stays() -> None:
    async with shown(names(30)) as (table, pilot):
        table.move_to("task-020")
        await settled(pilot.app)
        assert [str(column.label) for column in table.ordered_columns] == ["KEY", "VALUE", "MORE"]
        await pilot.resize_terminal(40, 12)
        assert [str(column.label) for column in table.ordered_columns] == ["KEY", "VALUE"]
        assert table.key == "task-020"
        assert table.virtual_size.width <= 40


async def test_no_cell_is_measured_when_columns_come_or_go(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(names(30)) as (table, pilot):
        measured: list[str] = []
        measure: Callable[..., int] = vars(_data_table)["measure"]

        def spy(console: Console, renderable: Any, default: int) -> int:
            measured.append(str(renderable))
            return measure(console, renderable, default)

        monkeypatch.setattr(_data_table, "measure", spy)
        await pilot.resize_terminal(40, 12)
        assert len(table.columns) == 2
        await pilot.resize_terminal(80, 12)
        assert len(table.columns) == 3
        assert set(measured) <= {"KEY", "VALUE", "MORE"}


async def test_the_columns_are_those_of_the_last_of_many_sizes() -> None:
    dice = Random(7)
    async with shown(names(30)) as (table, pilot):
        for _ in range(25):
            sizes = [Size(dice.choice((40, 59, 62, 80, 200)), dice.choice((5, 12))) for _ in range(3)]
            for size in sizes:
                pilot.app.post_message(Resize(size, size))
                for _ in range(dice.randrange(4)):
                    # As much as one task does between two of its waits, or a frame.
                    await asyncio.sleep(dice.choice((0, 0, 0.01)))
            await settled(pilot.app)
            assert pilot.app.size == table.outer_size == sizes[-1]
            assert len(table.columns) == (3 if sizes[-1].width >= 62 else 2)
            assert table.virtual_size.width == sizes[-1].width - 2


async def test_an_empty_list_says_what_it_would_hold() -> None:
    async with shown([]) as (table, pilot):
        table.show_rows([], NOW)
        await settled(pilot.app)
        lines = [strip.text for strip in pilot.app.screen._compositor.render_strips()]
        assert "Nothing here." in lines[1], lines
        assert table.key is None
        table.show_rows(rows(["a"]), NOW)
        assert table.key == "a"


async def test_text_that_looks_like_markup_is_shown_as_it_is() -> None:
    async with shown([]) as (table, pilot):
        table.show_rows(rows(["[bold red]x[/]", "[/nope]", "[@click=app.bell]y[/]"], "[b]"), NOW)
        await settled(pilot.app)
        shown_text = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        for words in ("[bold red]x[/]", "[/nope]", "[@click=app.bell]y[/]", "[b]"):
            assert words in shown_text
