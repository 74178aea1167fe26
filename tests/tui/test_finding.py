"""Finding, by keys alone: filters in every list, orders by any column, saved filters, jumping, and bookmarks."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from textual.widgets import OptionList

from conftest import ManualClock
from dura import DurableEngine
from dura.store.views.look import Look
from dura_tui.cli import main
from dura_tui.filter import FILTERED
from dura_tui.keys import VIEW_KEYS
from dura_tui.screens.filtered import FilteredView
from dura_tui.screens.state import StateView
from dura_tui.start import Start, WrongStart, begin_with, command
from tui.harness import (
    Screen,
    Shop,
    fill,
    go_to,
    gone,
    monitor,
    running,
    says,
    table,
    text,
    until,
    view,
)

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


@pytest.fixture
def shop(engine: DurableEngine) -> Shop:
    return fill(engine)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where filters are saved in this test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "dura-tui" / "filters.json"


def names(pilot: Screen) -> list[str]:
    """The tasks that are listed, in their order."""
    return [record.name for record in table(pilot).records.values()]


async def type_filter(pilot: Screen, line: str) -> None:
    await pilot.press("slash")
    focused = monitor(pilot).focused
    assert focused is not None
    focused.value = line  # type: ignore[attr-defined]
    await pilot.press("enter")


def out_of_time_in_walks() -> Callable[[Look], bool]:
    """A watch by which each part's time is over after ten looks at it."""
    asked: dict[int, int] = {}

    def out_of_time(look: Look) -> bool:
        deadline = id(look) ^ int(look._deadline * 1e6)
        asked[deadline] = asked.get(deadline, 0) + 1
        return asked[deadline] > 10

    return out_of_time


# --- filters ----------------------------------------------------------------------------------------------------------


async def test_every_list_of_runs_is_filtered_by_fields(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock, size=(110, 30)) as pilot:
        await pilot.press("4")
        await type_filter(pilot, "-state:completed step:approval")
        await until(pilot, lambda: names(pilot) == ["charge_order"])
        await says(pilot, "filter -state:completed step:approval")
        await pilot.press("2")
        await type_filter(pilot, "worker:web1* name:resize_*")
        await until(pilot, lambda: names(pilot) == ["resize_image"])
        await says(pilot, "1 match", "filter worker:web1* name:resize_*")
        await type_filter(pilot, "worker:other")
        await says(pilot, "0 match", "Nothing matches the filter")
        assert "2 Leases 1" in text(pilot)
        await pilot.press("3")
        await type_filter(pilot, "attempts>1")
        await until(pilot, lambda: names(pilot) == ["sync_crm"])
        assert "first" not in view(pilot).describe()
        await pilot.press("8")
        await type_filter(pilot, "queue:default ord_1")
        await until(pilot, lambda: names(pilot) == ["charge_order"])
        await type_filter(pilot, "queue:mail")
        await says(pilot, "0 match")
        await pilot.press("7")
        await type_filter(pilot, "name:import_*")
        await says(pilot, "1 failed task", "ValueError", "filter name:import_*")
        await gone(pilot, "TimeoutError")
        await pilot.press("5")
        await type_filter(pilot, "catalog")
        await until(pilot, lambda: table(pilot).keys == ("event\0catalog.ready",))
        await pilot.press("9")
        await type_filter(pilot, "web2")
        await says(pilot, "0 workers", "filter web2")
        await pilot.press("0")
        await type_filter(pilot, "def")
        await until(pilot, lambda: table(pilot).keys == ("default",))
        await pilot.press("escape")
        await gone(pilot, "filter def")


async def test_keys_of_the_memory_are_filtered_in_the_store(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    for place in range(600):
        engine.set_state(namespace="feeds", key=f"cursor {place:03}", value=place)
    async with running(path, clock, size=(110, 30), start=Start("state", "r 59")) as pilot:
        state = view(pilot)
        assert isinstance(state, StateView)
        await until(pilot, lambda: state.keys.row_count == 10)
        await says(pilot, "keys with 'r 59'", "cursor 599")
        everything = state.matching()
        assert everything is not None
        assert everything.title == "all keys of feeds with 'r 59'"
        assert everything.reads(state.want(), None).state_like == "r 59"
        await pilot.press("Y")
        await until(pilot, lambda: monitor(pilot).clipboard)
        assert monitor(pilot).clipboard == command(str(path), Start("state", "r 59"))
        await type_filter(pilot, "nobody")
        await says(pilot, "No key has that in its name.")
        await pilot.press("escape")
        await until(pilot, lambda: state.keys.row_count == 500)


async def test_a_group_of_filtered_failures_stands_for_the_tasks_that_match(
    path: Path, shop: Shop, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock, size=(110, 30)) as pilot:
        await pilot.press("7")
        await type_filter(pilot, "name:import_*")
        await says(pilot, "filter name:import_*")
        target = view(pilot).target()
        assert target is not None
        assert target.many is not None
        assert "name:import_*" in target.many.title


async def test_what_is_wrong_in_a_filter_is_said_and_marked(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("4", "slash", *"name:a stat:failed", "enter")
        await says(pilot, "✗ no field stat: did you mean state?")
        line = monitor(pilot).focused
        assert line is not None
        assert line.selected_text == "stat"  # type: ignore[attr-defined]
        await pilot.press(*"state")
        await gone(pilot, "✗ no field")
        await pilot.press("enter")
        await says(pilot, "filter name:a state:failed")
        await pilot.press("2", "slash", *"state:failed", "enter")
        await says(pilot, "✗ this list has no field state: there are name, queue")


async def test_tab_completes_fields_and_values_that_the_store_knows(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("4", "slash")
        await says(pilot, "tab name:")
        await pilot.press("n", "tab")
        await says(pilot, "charge_order  import_catalog")
        await pilot.press(*"i", "tab")
        line = monitor(pilot).focused
        assert line is not None
        assert line.value == "name:import_catalog"  # type: ignore[attr-defined]
        await pilot.press("space", *"st", "tab", "tab")
        assert line.value == "name:import_catalog step:"  # type: ignore[attr-defined]
        await until(pilot, lambda: monitor(pilot).snapshot and monitor(pilot).snapshot.known)  # type: ignore[union-attr]
        await pilot.press(*"st")
        await says(pilot, "tab store")
        await pilot.press("tab", "enter")
        await says(pilot, "filter name:import_catalog step:store")
        await until(pilot, lambda: names(pilot) == ["import_catalog"])


async def test_a_search_that_is_cut_short_says_so_and_goes_on_with_the_next_page(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.spawn_task(name="needle", params=None)
    engine.spawn_many([{"name": "hay", "params": None} for _ in range(3_000)])
    async with running(path, clock, size=(110, 30), start=Start("tasks", "name:needle")) as pilot:
        await until(pilot, lambda: names(pilot) == ["needle"])
        monkeypatch.setattr("dura.store.views.look.Look._out_of_time", out_of_time_in_walks())
        await type_filter(pilot, "name:needle age<1d")
        await says(pilot, "search stopped early: n looks on", "Nothing found")
        assert "next page" in text(pilot)
        for _ in range(40):
            await pilot.press("n")
            await until(pilot, lambda: view(pilot).snapshot is not None)
            if names(pilot):
                break
        assert names(pilot) == ["needle"]
        await says(pilot, "1 to 1")


async def test_the_help_of_a_list_says_what_its_filter_takes(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("8", "question_mark")
        await says(
            pilot,
            "/  name: queue: id: key: error: step: age> attempts> event:",
            "/  any other words: part of",
        )
        await pilot.press("escape", "5", "question_mark")
        await says(pilot, "/  part of an event's name")


# --- orders -----------------------------------------------------------------------------------------------------------


async def test_tasks_are_sorted_by_any_column_and_turned_round(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock, size=(160, 30)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: len(names(pilot)) == 8)
        await pilot.press("s")
        await says(pilot, "Sort by", "its own order: newest first", "name")
        await pilot.press("2")
        await says(pilot, "sort name", "TASK▴")
        await until(pilot, lambda: names(pilot) == sorted(names(pilot)) and len(names(pilot)) == 8)
        await pilot.press("S")
        await says(pilot, "sort -name", "TASK▾")
        await until(
            pilot, lambda: names(pilot) == sorted(names(pilot), reverse=True) and len(names(pilot)) == 8
        )
        await pilot.press("s", "2")
        await says(pilot, "sort name")
        view(pilot).set_sort("-due")
        await says(pilot, "sort -due")
        await until(pilot, lambda: len(names(pilot)) == 4)
        await pilot.press("s", "0")
        await says(pilot, "newest first")
        await gone(pilot, "sort -")


async def test_a_click_on_a_header_sorts_by_it(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock, size=(110, 30)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: len(names(pilot)) == 3)
        own = names(pilot)
        await pilot.pause()
        column = table(pilot)
        at = sum(c.get_render_width(column) for c in column.ordered_columns[:2]) + 2
        await pilot.click("#sleeping LiveTable", offset=(at, 0))
        await says(pilot, "sort name", "TASK▴")
        assert names(pilot) == sorted(own)
        await pilot.click("#sleeping LiveTable", offset=(at, 0))
        await says(pilot, "sort -name")
        assert names(pilot) == sorted(own, reverse=True)
        await pilot.click("#sleeping LiveTable", offset=(at, 0))
        await gone(pilot, "sort -name")
        assert names(pilot) == own


async def test_the_cursor_stays_with_its_row_when_a_list_is_sorted(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock, size=(110, 30)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: len(names(pilot)) == 3)
        held = table(pilot).keys[1]
        table(pilot).move_to(held)
        await until(pilot, lambda: table(pilot).key == held)
        for sort in ("name", "-name", "cause", "-due", "id", "event", "-event", "attempts", "queue", ""):
            view(pilot).set_sort(sort)
            await pilot.pause()
            assert table(pilot).key == held


async def test_every_list_can_be_sorted_by_each_of_its_columns(
    path: Path, shop: Shop, clock: ManualClock
) -> None:
    async with running(path, clock, size=(110, 30)) as pilot:
        for key in VIEW_KEYS:
            if key.name not in FILTERED or key.name == "state":
                continue
            await pilot.press(key.key)
            await until(pilot, lambda: view(pilot).snapshot is not None)
            shown = view(pilot)
            assert isinstance(shown, FilteredView)
            assert len(shown.sorts) >= 2
            for sort in shown.sorts:
                for turned in (sort, f"-{sort}"):
                    shown.set_sort(turned)
                    shown.draw(clock())
                    assert shown.sort_now == turned
            shown.set_sort("")
            with pytest.raises(ValueError, match="cannot be sorted by 'colour'"):
                shown.set_sort("colour")


async def test_a_list_that_is_not_whole_says_of_what_it_is_sorted(
    path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    engine.spawn_many(
        [
            {"name": f"n{place % 7}", "params": None, "available_after": timedelta(seconds=60)}
            for place in range(501)
        ]
    )
    async with running(path, clock, size=(110, 30)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: len(names(pilot)) == 500)
        view(pilot).set_sort("name")
        await says(pilot, "sort name of those that are due soonest: the first 500")


# --- jumping ----------------------------------------------------------------------------------------------------------


async def test_any_part_of_an_id_leads_to_the_task(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("colon", *shop.failed[-9:], "enter")
        await until(pilot, lambda: monitor(pilot).main.shown == "detail")
        await says(pilot, "import_catalog", "✗ failed")


async def test_several_tasks_with_a_part_are_a_choice(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock, size=(110, 30)) as pilot:
        await pilot.press("colon", *shop.failed[:4])
        await until(pilot, lambda: monitor(pilot).screen.query_one(OptionList).option_count == 8)
        await says(pilot, "import_catalog", "charge_order", "enter opens it")
        chosen = monitor(pilot).screen.query_one(OptionList)
        await pilot.press("down", "down", "up", "down")
        assert chosen.highlighted == 2
        wanted = chosen.get_option_at_index(2).id
        await pilot.press("enter")
        await until(pilot, lambda: monitor(pilot).main.shown == "detail")
        await until(pilot, lambda: view(pilot).snapshot and view(pilot).snapshot.task)  # type: ignore[union-attr]
        assert view(pilot).snapshot.task.task.task_id == wanted  # type: ignore[union-attr]


async def test_an_id_that_nobody_has_is_told(path: Path, shop: Shop, clock: ManualClock) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("colon", *"zzz")
        await says(pilot, "no task has this in its id")
        await pilot.press("enter", "escape")
        assert monitor(pilot).main.shown == "overview"


# --- saved filters ----------------------------------------------------------------------------------------------------


async def test_a_filter_is_kept_under_a_name_chosen_and_deleted(
    path: Path, shop: Shop, clock: ManualClock, kept: Path
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("f")
        await says(pilot, "none yet: filter or sort a list")
        await pilot.press("escape", "4")
        await type_filter(pilot, "state:failed name:import_*")
        await pilot.press("s", "2", "f")
        await says(pilot, "keep the present one: tasks: state:failed name:import_* sort name")
        await pilot.press(*"night shift", "enter")
        await until(pilot, kept.exists)
        assert json.loads(kept.read_text())["filters"] == [
            {"name": "night shift", "view": "tasks", "filter": "state:failed name:import_*", "sort": "name"}
        ]
        await pilot.press("escape", "s", "0", "1", "f")
        await says(pilot, "night shift")
        await pilot.press("enter")
        await says(pilot, "1 to 1 of 1", "filter state:failed name:import_*", "sort name")
        await pilot.press("f", "d")
        await says(pilot, "d again deletes 'night shift'")
        await pilot.press("d")
        await until(pilot, lambda: json.loads(kept.read_text())["filters"] == [])


async def test_the_same_name_again_is_asked_about(
    path: Path, shop: Shop, clock: ManualClock, kept: Path
) -> None:
    async with running(path, clock) as pilot:
        await pilot.press("4")
        for line in ("state:failed", "state:pending"):
            await type_filter(pilot, line)
            await pilot.press("f")
            await says(pilot, f"keep the present one: tasks: {line}")
            if line == "state:pending":
                await pilot.press("tab")
            await pilot.press(*"mine", "enter")
        await says(pilot, "enter again replaces 'mine'")
        await pilot.press("enter")
        await until(pilot, lambda: "pending" in kept.read_text())
        assert "failed" not in kept.read_text()


def unbroken(pilot: Screen) -> str:
    """What the screen shows in one line, wherever a path has made a box break its own."""
    return " ".join(text(pilot).replace("│", " ").split())


async def test_a_damaged_file_is_told_and_left_alone(
    path: Path, shop: Shop, clock: ManualClock, kept: Path
) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text('{"version": 1, "filters": [')
    async with running(path, clock, size=(200, 50)) as pilot:
        await pilot.press("4")
        await type_filter(pilot, "state:failed")
        await pilot.press("f")
        await until(pilot, lambda: "nothing is written to it" in unbroken(pilot))
        assert "is damaged: Expecting value: line 1" in unbroken(pilot)
        await pilot.press("x", "enter", "escape")
    assert kept.read_text() == '{"version": 1, "filters": ['


async def test_the_palette_finds_saved_filters_and_the_jump(
    path: Path, shop: Shop, clock: ManualClock, kept: Path
) -> None:
    kept.parent.mkdir(parents=True)
    entry = {"name": "old [imports]", "view": "failures", "filter": "name:import_*", "sort": "-age"}
    kept.write_text(json.dumps({"version": 1, "filters": [entry]}))
    async with running(path, clock, size=(110, 30)) as pilot:
        await pilot.press("ctrl+p", *"old imports")
        await says(pilot, "Filter: old [imports]", "name:import_*")
        await pilot.press("enter")
        await pilot.pause()
        if monitor(pilot).main.shown != "failures":
            await pilot.press("enter")
        await says(pilot, "filter name:import_*", "sort -age")
        await pilot.press("ctrl+p", *"jump")
        await says(pilot, "Jump to a task")


# --- bookmarks --------------------------------------------------------------------------------------------------------


async def test_the_monitor_begins_where_it_is_told(path: Path, shop: Shop, clock: ManualClock) -> None:
    start = Start("failures", "name:import_*", "-age")
    async with running(path, clock, size=(110, 30), start=start) as pilot:
        await says(pilot, "ValueError", "filter name:import_*", "sort -age")
        await gone(pilot, "TimeoutError")
        await pilot.press("Y")
        await until(pilot, lambda: monitor(pilot).clipboard)
        assert monitor(pilot).clipboard == command(str(path), start)
        await go_to(pilot, "4", shop.failed)
        await pilot.press("enter")
        await says(pilot, "import_catalog")
        await pilot.press("Y")
        await until(pilot, lambda: "id:" in monitor(pilot).clipboard)
        assert monitor(pilot).clipboard == command(str(path), Start("tasks", f"id:{shop.failed}"))


WRONG: tuple[tuple[str | None, str | None, str | None, str], ...] = (
    ("failure", None, None, "there is no view 'failure': use one of overview, leases"),
    ("failures", "name:a step:x", None, "this list has no field step"),
    (None, "state:nope", None, "no state 'nope'"),
    ("failures", None, "colour", "the failures cannot be sorted by 'colour': use one of failed"),
    ("state", None, "age", "the state has an order of its own only"),
    ("overview", "x", None, "the overview is neither filtered nor sorted"),
)


@pytest.mark.parametrize(("name", "line", "sort", "words"), WRONG, ids=[words for *_, words in WRONG])
def test_a_bookmark_that_cannot_be_shown_says_what_can(
    name: str | None, line: str | None, sort: str | None, words: str
) -> None:
    with pytest.raises(WrongStart, match=re.escape(words)):
        begin_with(name, line, sort)


def test_without_a_view_the_tasks_are_meant() -> None:
    assert begin_with(None, None, None) == Start()
    assert begin_with(None, "state:f", None) == Start("tasks", "state:f")
    assert begin_with(None, None, "-age") == Start("tasks", "", "-age")
    assert (
        begin_with(None, None, "oldest") == begin_with("tasks", None, "-newest") == Start("tasks", "", "-age")
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--filter", "state:nope"], "no state 'nope'"),
        (["--view", "queues", "--filter", "mail"], "is printed without a filter"),
        (["--view", "none"], "there is no view 'none'"),
    ],
    ids=["filter", "queues", "view"],
)
def test_the_command_ends_with_2_and_marks_what_is_wrong(
    path: Path, shop: Shop, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert main([str(path), *options]) == 2
    error = capsys.readouterr().err
    assert words in error
    if "nope" in error:
        lines = error.splitlines()
        assert lines[1].index("nope") == lines[2].index("^^^^")


def test_a_printed_list_takes_the_bookmark_of_the_tasks(
    path: Path, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    for sort in ("age", "-age", "oldest", "name"):
        assert main([str(path), "--view", "tasks", "--filter", "state:pending", f"--sort={sort}"]) == 0
        assert "send_receipt" in capsys.readouterr().out


def test_a_command_is_quoted_for_the_shell() -> None:
    start = Start("tasks", "-state:failed name:import_*", "-age")
    assert command("/a b.db", start) == (
        "dura-tui '/a b.db' --view tasks '--filter=-state:failed name:import_*' --sort=-age"
    )


# --- a store of 1.3.0 -------------------------------------------------------------------------------------------------


async def test_an_old_store_is_filtered_and_sorted_too(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "old.db"
    shutil.copyfile(FIXTURE, path)
    async with running(path, clock, size=(160, 40)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: len(names(pilot)) > 5)
        everything = len(names(pilot))
        await type_filter(pilot, "state:completed")
        await until(pilot, lambda: 0 < len(names(pilot)) < everything)
        view(pilot).set_sort("-name")
        await until(pilot, lambda: names(pilot) == sorted(names(pilot), reverse=True))
        for key in ("2", "3", "7", "8"):
            await pilot.press(key)
            await type_filter(pilot, "name:*o* age>1s")
            await says(pilot, "filter name:*o* age>1s")
