"""What the monitor costs a terminal and a store while nothing happens, counted on a real pseudo-terminal."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.coordinate import Coordinate

from conftest import ManualClock, wait_until
from dura import DurableEngine
from dura.monitor import Monitor
from dura_tui.keys import VIEW_KEYS
from dura_tui.screens.all_views import make_views
from dura_tui.widgets.live_table import LiveTable
from tui.far_end import Terminal
from tui.harness import fill, go_to, monitor, running, table, tick

LOOKS = 12
STATEMENTS, OF_THE_OVERVIEW = 40, 160
"""That a look at a view may ask; the overview counts two outcomes in each of sixty buckets of time."""

PROGRAM = """
import sys
from datetime import UTC, datetime, timedelta
from dura_tui.app import DuraApp
from dura_tui.config import Settings

looks = 0
look = DuraApp.on_nothing_changed

def counted(self, message):
    global looks
    looks += 1
    look(self, message)
    self.tick()
    with open(sys.argv[2], "a") as log:
        log.write(".")

def clock():
    return datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC) + timedelta(seconds=int(sys.argv[3]) * looks)

DuraApp.on_nothing_changed = counted
DuraApp(sys.argv[1], clock=clock, refresh=0.05, settings=Settings(slow=sys.argv[4] == "slow")).run()
"""
"""The monitor, which draws after each look, and whose clock goes on by so many seconds with each look."""


Start = Callable[..., tuple[Terminal, Callable[[], int]]]
"""Starts it with so many seconds a look, at a pace; returns its terminal, and how often it has looked."""


@pytest.fixture
def start(path: Path, tmp_path: Path) -> Iterator[Start]:
    DurableEngine(path).close()
    terminals: list[Terminal] = []
    log = tmp_path / "looks"
    log.touch()

    def begin(step: int, pace: str, size: tuple[int, int] = (80, 24)) -> tuple[Terminal, Callable[[], int]]:
        terminal = Terminal("-c", PROGRAM, path, log, str(step), pace, size=size)
        terminals.append(terminal)
        wait_until(lambda: "Overview" in terminal.shown().text and log.stat().st_size > 3)
        return terminal, lambda: log.stat().st_size

    yield begin
    for terminal in terminals:
        terminal.end()


def output_of(terminal: Terminal, looks: Callable[[], int]) -> tuple[bytes, int]:
    """What is written during many looks, and during how many."""
    begun, before = looks(), len(terminal.output)
    wait_until(lambda: looks() >= begun + LOOKS)
    return terminal.output[before:], looks() - begun


def comes_to_write(
    terminal: Terminal, looks: Callable[[], int], wanted: Callable[[bytes, int], bool]
) -> None:
    """Wait until this is true of what many looks write: once what it began with is drawn, and the terminal has it."""
    wait_until(lambda: wanted(*output_of(terminal, looks)))


def test_nothing_is_written_when_nothing_changed(start: Start) -> None:
    comes_to_write(*start(0, "usual"), lambda written, _: written == b"")


def test_an_idle_second_costs_the_digits_of_the_clock(start: Start) -> None:
    def digits_of_the_clock(written: bytes, seconds: int) -> bool:
        text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", written).decode()
        return len(written) <= 80 * (seconds + 2) and re.fullmatch(r"[0-9:]+", text) is not None

    comes_to_write(*start(1, "usual"), digits_of_the_clock)


def test_a_slow_line_is_silent_for_a_minute(start: Start) -> None:
    terminal, looks = start(1, "slow")
    assert "12:00 UTC" in terminal.shown().text
    comes_to_write(terminal, looks, lambda written, _: written == b"")


def test_drawing_differences_shows_what_drawing_everything_shows(start: Start, engine: DurableEngine) -> None:
    fill(engine)
    terminal, looks = start(0, "usual", size=(100, 30))
    wait_until(lambda: "charge_order" in terminal.shown().text)
    for view in (*VIEW_KEYS, *reversed(VIEW_KEYS)):
        terminal.press(view.key)
        wait_until(lambda view=view: f"{view.key} {view.label}" in terminal.shown().text)  # type: ignore[misc]
    terminal.press("v")
    wait_until(lambda: "esc leaves" in terminal.shown().text)
    terminal.press("\x1b")
    wait_until(lambda: "esc leaves" not in terminal.shown().text)
    terminal.press("6")
    wait_until(lambda: "feeds" in terminal.shown().text)
    comes_to_write(terminal, looks, lambda written, _: written == b"")
    before = terminal.shown().text
    written = len(terminal.output)
    terminal.press("r")
    wait_until(lambda: len(terminal.output) > written + 2_000)
    wait_until(lambda: terminal.shown().text == before)


def test_a_terminal_that_changes_its_size_all_the_time_shows_the_last_one(path: Path) -> None:
    engine = DurableEngine(path)
    fill(engine)
    engine.close()
    terminal = Terminal("-m", "dura_tui", path, size=(100, 30))
    try:
        wait_until(lambda: "charge_order" in terminal.shown().text)
        for lines in range(10, 15):
            for step in range(30):
                terminal.resize(100 - 2 * step, 30 - step % 20)
            terminal.resize(40, lines)
            wait_until(lambda: "live" in terminal.shown().text.partition("\n")[0])
            wait_until(lambda: terminal.shown().text.splitlines()[-1].endswith("? help"))
        assert terminal.process.poll() is None
    finally:
        terminal.end()


def test_a_look_costs_few_statements_and_one_when_nothing_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DurableEngine(path)
    fill(engine)
    asked: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(asked.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    for name, view in make_views().items():
        with Monitor(path) as looking:
            looking.snapshot()
            asked.clear()
            looking.snapshot(view.want())
            assert len(asked) <= (OF_THE_OVERVIEW if name == "overview" else STATEMENTS), name
            asked.clear()
            assert not looking.changed()
            assert asked == ["PRAGMA data_version"]
    engine.close()


async def test_a_tick_draws_the_countdowns_and_no_other_cell(
    path: Path, engine: DurableEngine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = fill(engine)
    async with running(path, clock) as pilot:
        await go_to(pilot, "4", shop.pending)
        rows = table(pilot)
        drawn: list[str] = []
        refresh = rows.refresh_coordinate

        def noted(at: Coordinate) -> LiveTable[Any]:
            drawn.append(str(rows.get_cell_at(at)))
            refresh(at)
            return rows

        monkeypatch.setattr(rows, "refresh_coordinate", noted)
        monitor(pilot).tick()
        await pilot.pause()
        assert drawn == []
        await tick(pilot, clock, 1)
        # Each row has become a second older, and those that move by themselves show when.
        assert drawn
        assert all(re.search(r"\d+(s|m)", cell) for cell in drawn)
        assert len(drawn) <= 2 * len(rows.keys)
