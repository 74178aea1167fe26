"""The first screen comes quickly: what it costs until then, in counts, and that what can wait waits for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from textual.message import Message

from conftest import ManualClock, wait_until
from dura import DurableEngine
from dura.clock import system_clock
from dura.errors import StoreNotFound
from dura.monitor import Monitor
from dura.records import Want
from dura_tui.feed import Feed
from dura_tui.first import OVERVIEW, FirstLook
from dura_tui.messages import NothingChanged, SnapshotArrived
from tui.far_end import Terminal
from tui.harness import fill, monitor, running

PROGRAM = """
import json, sys
from collections import Counter
from dura.monitor import Monitor
from dura_tui.cli import main
from dura_tui.first import FirstLook

path, noted = sys.argv[1:]
counts = Counter()

def counting(owner, name):
    original = getattr(owner, name)
    def counted(*given, **named):
        counts[name] += 1
        return original(*given, **named)
    setattr(owner, name, counted)

def look(*given):
    early = "textual" in sys.modules
    counting(Monitor, "snapshot")
    found = FirstLook_at(*given)
    from textual.css.stylesheet import Stylesheet
    from textual._compositor import Compositor
    from dura_tui.app import DuraApp
    from dura_tui.screens.main import MainScreen
    for owner, name in (
        (Stylesheet, "reparse"), (Stylesheet, "apply"), (Compositor, "render_full_update"), (DuraApp, "_display"),
    ):
        counting(owner, name)
    DuraApp.tick = lambda self: None  # No second passes before the first picture, however busy the machine is.
    bring = MainScreen._bring_others
    async def brought(self):
        facts = {
            "early": early,
            "counts": counts,
            "styles": [name for name, _ in self.app.stylesheet.source if name.endswith(".tcss")],
            "loaded": sorted(name for name in sys.modules),
            "rows": self.view.name_table.row_count,
        }
        with open(noted, "w") as file:
            json.dump(facts, file)
        await bring(self)
    MainScreen._bring_others = brought
    return found

FirstLook_at, FirstLook.at = FirstLook.at, look
sys.exit(main([path]))
"""
"""The command, which notes what it has cost when its first picture is drawn and the rest is about to be loaded."""

NOT_YET = (
    "dura.engine", "dura.workers", "dura.store.database", "dura.store.door",
    "dura_tui.bulk", "dura_tui.once", "dura_tui.screens.confirm", "dura_tui.screens.detail", "dura_tui.screens.reading",
    "dura_tui.screens.tasks", "dura_tui.widgets.editor", "dura_tui.widgets.filter_line", "dura_tui.widgets.text_view",
    "importlib.metadata", "tomllib", "textual.widgets._text_area", "textual.widgets._markdown",
)  # fmt: skip

STYLINGS = 110

Facts = dict[str, Any]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    folder = tmp_path_factory.mktemp("first")
    path, noted = folder / "store.db", folder / "noted"
    engine = DurableEngine(path)
    fill(engine)
    engine.close()
    terminal = Terminal("-c", PROGRAM, path, noted)
    try:
        wait_until(lambda: "charge_order" in terminal.shown().text)
        wait_until(lambda: noted.exists() and noted.read_text().endswith("}"))
        found: Facts = json.loads(noted.read_text())
        return found
    finally:
        terminal.end()


@pytest.mark.parametrize("module", NOT_YET)
def test_what_the_first_picture_does_not_need_is_loaded_after_it(facts: Facts, module: str) -> None:
    assert [name for name in facts["loaded"] if name == module or name.startswith(f"{module}.")] == []


def test_a_program_that_cannot_go_on_does_not_load_the_screen(facts: Facts) -> None:
    assert facts["early"] is False


def test_the_store_is_read_once_for_the_first_picture_and_nothing_is_painted_before_it(facts: Facts) -> None:
    assert facts["rows"] > 3
    assert facts["counts"]["snapshot"] == 1
    assert facts["counts"]["render_full_update"] <= 2
    assert facts["counts"]["_display"] <= 2


def test_styles_are_read_once_and_given_to_no_widget_for_a_size_that_is_not_there(facts: Facts) -> None:
    assert "reparse" not in facts["counts"]
    assert [Path(name).name for name in facts["styles"]] == ["app.tcss"]
    # To each widget and each part of a table as it is mounted and as its screen is shown, and to what has the focus.
    assert facts["counts"]["apply"] <= STYLINGS


# --- the look that was taken before -----------------------------------------------------------------------------------


def opened_again() -> NoReturn:
    raise AssertionError("the store is open already")


def fed(first: FirstLook, wanted: Want) -> tuple[Feed, list[Message]]:
    posted: list[Message] = []
    feed = Feed(opened_again, posted.append, refresh=0.01, clock=system_clock, first=first)
    feed.want(wanted)
    feed.start()
    return feed, posted


def test_the_feed_posts_the_look_that_was_taken_and_looks_on_through_the_same_eyes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No read because a while has passed, however busy the machine is.
    monkeypatch.setattr("dura_tui.feed.FULL_READ_SECONDS", 3600.0)
    engine = DurableEngine(path)
    first = FirstLook.at(str(path), OVERVIEW, None)
    feed, posted = fed(first, OVERVIEW)
    arrived = posted[0]
    assert isinstance(arrived, SnapshotArrived)
    assert (arrived.snapshot, arrived.want) == (first.snapshot, OVERVIEW)
    wait_until(lambda: len(posted) > 3)
    assert all(isinstance(message, NothingChanged) for message in posted[1:4])
    engine.spawn_task(name="later", params=None)
    wait_until(lambda: any(isinstance(each, SnapshotArrived) and each.snapshot.ready for each in posted))
    feed.stop()
    engine.close()


@pytest.mark.parametrize("busy", [True, False])
def test_a_look_that_failed_or_was_at_something_else_is_followed_by_one_at_once(
    path: Path, busy: bool
) -> None:
    DurableEngine(path).close()
    first = FirstLook.at(str(path), Want(waiting=True), None)
    feed, posted = fed(replace(first, snapshot=None) if busy else first, OVERVIEW)
    wait_until(lambda: any(isinstance(each, SnapshotArrived) and each.want == OVERVIEW for each in posted))
    feed.stop()


def test_a_feed_that_never_began_closes_what_it_was_given(path: Path) -> None:
    DurableEngine(path).close()
    first = FirstLook.at(str(path), OVERVIEW, None)
    Feed(opened_again, print, refresh=1, clock=system_clock, first=first).stop()
    assert isinstance(first.source, Monitor)
    assert first.source._reader._opened is None


def test_a_store_that_cannot_be_shown_is_refused(path: Path) -> None:
    with pytest.raises(StoreNotFound):
        FirstLook.at(str(path), OVERVIEW, None)


async def test_the_overview_wants_what_the_first_look_reads(path: Path, clock: ManualClock) -> None:
    DurableEngine(path).close()
    async with running(path, clock) as pilot:
        assert monitor(pilot).main.want() == OVERVIEW
