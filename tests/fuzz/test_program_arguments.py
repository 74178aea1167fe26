"""Both programs with command lines of every kind, and on no command line a traceback."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings

from cli.shop import Shop, stock
from counts import Count
from dura.cli import main as dura_main
from dura.cli.commands import _LOOKING, COMMANDS
from dura.cli.exits import MEANINGS
from dura_tui import config
from dura_tui.arguments import make_parser as tui_parser
from dura_tui.cli import main as tui_main
from fuzz.calls import digest
from fuzz.programs import Ended, command_lines, judge
from fuzz.scene import SETTINGS
from world.mutations import trace

LOOKING: Final = {command.name for command in _LOOKING}

TUI_CODES: Final = {0: "done", 1: "the file, or the output", 2: "the command line"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return stock(tmp_path_factory.mktemp("shop") / "store.db")


@pytest.fixture
def folder(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to be in, so that a stray name makes no file elsewhere; it holds the store and nothing else at the end."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(shop.path, folder / "store.db")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    yield folder
    assert os.listdir(folder) == ["store.db"]


def ids(shop: Shop) -> list[str]:
    return [
        shop.waiting,
        shop.failed,
        shop.cancelled,
        shop.completed,
        shop.running,
        shop.delayed,
        shop.pending,
    ]


def run(main: Callable[[list[str]], int], line: list[str]) -> Ended:
    """Call the program in this process, with something on its standard input."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, io.StringIO('{"from": "standard input"}')
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = main(line)
            except SystemExit as exit_:
                code = exit_.code if isinstance(exit_.code, int) else 1
    finally:
        sys.stdin = before
    return Ended(int(code), out.getvalue(), err.getvalue())


@pytest.mark.parametrize("name", COMMANDS)
def test_command_ends_as_documented_and_a_wrong_line_changes_nothing(
    name: str, shop: Shop, folder: Path, count: Count
) -> None:
    path = folder / "store.db"
    codes = {int(code): meaning for code, meaning in MEANINGS.items()}
    ends: Counter[int] = Counter()

    @SETTINGS
    @given(command_lines(COMMANDS[name].parser(), str(path), ids(shop), without=set()))
    def fuzz(line: list[str]) -> None:
        shutil.copy(shop.path, path)
        before, content = trace(folder), digest(path)
        for leftover in folder.glob("store.db-*"):
            leftover.unlink()
        before = trace(folder)
        ended = run(dura_main, [name, *line])
        judge(line, ended, codes=codes, path=path, no_store=3)
        if name in LOOKING:
            assert trace(folder) == before, f"{name} {line} left a trace"
        elif ended.code == 2:
            assert digest(path) == content, f"{name} {line} was a wrong command line, and wrote something"
        for leftover in folder.glob("store.db-*"):
            leftover.unlink()
        ends[ended.code] += 1

    fuzz()
    count("command lines of dura", ends.total())
    assert set(ends) > {2}, ends


def test_one_look_of_the_monitor_ends_as_documented(shop: Shop, folder: Path, count: Count) -> None:
    path = folder / "store.db"
    before = trace(folder)
    ends: Counter[int] = Counter()

    @settings(SETTINGS, max_examples=SETTINGS.max_examples * 3)
    @given(command_lines(tui_parser(), str(path), ids(shop), without={"--demo", "--watch"}))
    def fuzz(line: list[str]) -> None:
        ended = run(tui_main, line)
        judge(line, ended, codes=TUI_CODES, path=path, no_store=1)
        assert trace(folder) == before
        ends[ended.code] += 1

    fuzz()
    count("command lines of dura-tui", ends.total())
    assert set(ends) >= {0, 2}, ends


@pytest.mark.parametrize(
    ("module", "line", "code"),
    [
        ("dura", ["status", "STORE", "--limit", "\udcff"], 2),
        ("dura", ["tasks", "STORE", "--text", "\udcff\x1b[2J"], 2),
        ("dura", ["task", "STORE", "\x1b]0;owned\x07"], 1),
        ("dura", ["emit", "STORE", "dura.x", "--payload", "1"], 2),
        ("dura", ["cancel", "MISSING\x1b[31m", "abcd"], 3),
        ("dura_tui", ["MISSING\udcff", "--once"], 1),
        ("dura_tui", ["STORE", "--refresh", "nan"], 2),
        ("dura_tui", ["STORE", "--json", "--view", "\x1b[31m"], 2),
    ],
)
def test_a_real_process_ends_the_same_way(module: str, line: list[str], code: int, folder: Path) -> None:
    path = folder / "store.db"
    line = [word.replace("STORE", str(path)).replace("MISSING", str(folder / "missing")) for word in line]
    done = subprocess.run(
        [sys.executable, "-m", module, *line],
        stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60, env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    assert done.returncode == code, err
    assert err.startswith(module.replace("_", "-")) or "usage:" in err
    assert "Traceback" not in err
    assert "\x1b" not in out + err


@pytest.mark.parametrize("file", ["/dev/zero", "pipe", "large"])
def test_settings_without_an_end_or_a_writer_are_refused_or_empty(file: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(2**40)
    if file == "pipe":
        assert isinstance(config.load(str(tmp_path / file)), config.Settings)
    else:
        with pytest.raises(config.WrongSettings, match="holds more than 256 KiB"):
            config.load(str(tmp_path / file))
