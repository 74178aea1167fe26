"""Copied text on its way out: the sequence for the terminal, what tmux needs besides, and the file."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest

from conftest import ManualClock, wait_until
from dura import DurableEngine
from dura_tui import clipboard
from dura_tui.config import Settings
from tui.far_end import Terminal
from tui.harness import fill, go_to, running, says

BARE = "\x1b]52;c;b3JkXzE=\a"


def test_the_terminal_is_asked_to_take_it() -> None:
    assert clipboard.sequence("ord_1", {"TERM": "xterm-256color"}) == BARE


@pytest.mark.parametrize("inside", [{"TMUX": "/tmp/tmux-0/default,1,0"}, {"TERM": "tmux-256color"}])
def test_inside_tmux_it_is_also_passed_through(inside: dict[str, str]) -> None:
    assert clipboard.sequence("ord_1", inside) == f"{BARE}\x1bPtmux;\x1b{BARE}\x1b\\"


def test_what_terminals_would_drop_does_not_fit() -> None:
    assert clipboard.fits("a" * clipboard.MOST_BYTES)
    assert not clipboard.fits("a" * (clipboard.MOST_BYTES + 1))
    assert not clipboard.fits("é" * clipboard.MOST_BYTES)
    assert len(clipboard.sequence("a" * clipboard.MOST_BYTES, {})) <= 100_000


def test_the_file_is_for_its_user_alone_and_replaces_the_last_one(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    assert clipboard.keep("first\r\n\ud800", environment) == clipboard.keep("second", environment)
    path = tmp_path / "dura-tui" / "copied.txt"
    assert path.read_text() == "second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["copied.txt"]


def test_a_link_in_the_cache_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("untouched")
    (tmp_path / "dura-tui").mkdir()
    (tmp_path / "dura-tui" / "copied.txt").symlink_to(target)
    clipboard.keep("secret", {"XDG_CACHE_HOME": str(tmp_path)})
    assert target.read_text() == "untouched"


def test_without_a_cache_folder_the_file_is_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = clipboard.keep("text", {"XDG_CACHE_HOME": str(tmp_path / "file")})
    assert (path.parent, path.read_text()) == (tmp_path, "text")


async def test_a_file_is_told_by_its_path(
    path: Path, engine: DurableEngine, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(clipboard, "keep", lambda text: clipboard._written(Path("kept.txt"), text))
    shop = fill(engine)
    async with running(path, clock, size=(160, 30), settings=Settings(clipboard="file")) as pilot:
        await go_to(pilot, "4", shop.failed)
        await pilot.press("y")
        await says(pilot, "written to kept.txt", "import_catalog")
        assert (tmp_path / "kept.txt").read_text() == shop.failed


def test_a_copied_id_reaches_the_terminal(path: Path) -> None:
    engine = DurableEngine(path)
    task = engine.spawn_task(name="charge_order", params=None)
    engine.close()
    terminal = Terminal("-m", "dura_tui", path, "--no-mouse")
    try:
        wait_until(lambda: "charge_order" in terminal.shown().text)
        terminal.press("4")
        wait_until(lambda: task.task_id in terminal.shown().text)
        terminal.press("y")
        encoded = base64.b64encode(task.task_id.encode())
        wait_until(lambda: b"\x1b]52;c;" + encoded + b"\a" in terminal.output)
        assert b"\x1b[?1003h" not in terminal.output
    finally:
        terminal.end()
