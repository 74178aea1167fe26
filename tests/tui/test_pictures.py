"""Every view and dialog, compared cell by cell with stored pictures: `make pictures` takes them anew.

A difference that is meant is taken anew and reviewed as a diff of `tests/tui/pictures`, where each file is a screen as
text with the style of every cell in each theme (see `picture`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Final

import pytest
from textual.widgets import Input, TextArea

from conftest import dump
from dura_tui.app import DuraApp
from dura_tui.config import Settings
from dura_tui.keys import VIEW_KEYS
from dura_tui.widgets import cells
from tui.fixed_store import NOW, SHOWN_PATH, Fixed, make
from tui.harness import Screen, table, until
from tui.picture import Styled, take, written
from tui.settling import settled

PICTURES: Final = Path(__file__).parent / "pictures"
SIZES: Final = ((80, 24), (200, 50))
THEMES: Final = ("dura-dark", "dura-light", "dura-safe-dark")


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture, and the way to it from the one before."""

    name: str
    keys: str
    """Pressed first, parted by spaces."""
    row: str = ""
    """What the row says that the cursor is then put on; empty to leave it where it is."""
    more: str = ""
    """Pressed last."""


_FAILED: Final = "✗ failed import_catalog"
_WAITING: Final = "◐ sleeping charge_order"

VIEWS: Final = (
    *(Scene(view.name, view.key) for view in VIEW_KEYS),
    Scene("failures-by-step", "7 t"),
    Scene("detail", "4", _FAILED, "enter"),
    Scene("timeline", "t"),
    Scene("timeline-latest", "t"),
    Scene("detail-waiting", "t escape", _WAITING, "enter"),
    Scene("timeline-waiting", "t"),
    Scene("detail-running", "2", "import_catalog", "enter"),
    Scene("filtered", "4 slash n a m e : i m * enter"),
    Scene("marked", "escape space space"),
    Scene("all-marked", "3 asterisk"),
)
DIALOGS: Final = (
    Scene("emit", "e"),
    Scene("cleanup", "escape C"),
    Scene("views", "escape v"),
    Scene("jump", "escape colon 0 1 9 c a c"),
    Scene("sort", "escape 4 s"),
    Scene("saved", "escape f"),
    Scene("requeue", "escape", _FAILED, "R"),
    Scene("reading", "escape enter", "2 failed ValueError", "enter"),
    Scene("filter", "escape escape slash n a m e :"),
    Scene("filter-refused", "x space s t a t e : y enter"),
    Scene("help", "escape 2 question_mark"),
    Scene("extend", "escape", "import_catalog", "x"),
    Scene("cancel", "escape c"),
    Scene("sorted", "escape s 2"),
    Scene("wake", "3", "backoff", "w"),
    Scene("many-woken", "escape asterisk w"),
    Scene("answer", "escape u 8", "ord_18", "e"),
    Scene("answer-asked", "ctrl+s"),
    Scene("many-requeued", "escape escape 7", "ValueError", "R"),
    Scene("delete", "escape 6", "shop", "tab D"),
    Scene("set", "escape E"),
)
_TOURS: Final = {"views": VIEWS, "dialogs": DIALOGS}


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Cursors do not blink, no second passes that would draw anew, and nobody has settings or saved filters."""
    monkeypatch.setattr(DuraApp, "tick", lambda self: None)
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda self: None)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("NO_COLOR", "SSH_CONNECTION", "SSH_CLIENT"):
        monkeypatch.delenv(name, raising=False)


@dataclass(slots=True)
class Stage:
    """The monitor on the fixed store."""

    pilot: Screen
    app: DuraApp
    source: Fixed

    async def settle(self) -> None:
        """Wait until every key has done its work, and what is shown was read for what is shown."""
        await until(self.pilot, self._is_settled)

    def _is_settled(self) -> bool:
        # What is wanted no more is told with the next second, and here none passes.
        self.app.want_changed()
        read = self.source.given is not None and self.app.snapshot is self.source.given
        return not self.app.typing and read and self.source.asked == self.app._want()

    async def press(self, keys: str) -> None:
        for key in keys.split():
            await self.pilot.press(key)
            await self.settle()

    def put_cursor(self, words: str) -> None:
        """Put the cursor on the first row that says all of these words."""
        shown = table(self.pilot)
        said = {key: " ".join(map(cells.plain, row.cells)) for key, row in shown._shown.items()}
        found = [key for key, row in said.items() if all(word in row for word in words.split())]
        assert found, f"no row says {words!r}: {said}"
        shown.move_to(found[0])

    async def play(self, scene: Scene) -> Styled:
        """Go there from the scene before, and take the picture."""
        await self.press(scene.keys)
        if scene.row:
            self.put_cursor(scene.row)
            await self.press(scene.more)
        return await self.take()

    async def take(self) -> Styled:
        """The picture, once nothing is left to be drawn."""
        await settled(self.app)
        return take(self.app)


async def walk(path: Path, scenes: Sequence[Scene], theme: str, size: tuple[int, int]) -> dict[str, Styled]:
    """Pictures of all these scenes, by name."""
    source = Fixed(path)
    app = DuraApp(
        SHOWN_PATH, clock=lambda: NOW, open_source=lambda: source, refresh=60, settings=Settings(theme=theme)
    )
    async with app.run_test(size=size) as pilot:
        stage = Stage(pilot, app, source)
        await stage.settle()
        return {scene.name: await stage.play(scene) for scene in scenes}


def differences(folder: Path, pictures: dict[str, str]) -> Iterator[str]:
    """What differs from the stored pictures of a size, as a reviewer reads it."""
    for name, picture in pictures.items():
        stored = folder / f"{name}.txt"
        before = stored.read_text("utf-8") if stored.exists() else ""
        if picture != before:
            lines = unified_diff(
                before.splitlines(),
                picture.splitlines(),
                f"{folder.name}/{name} stored",
                "now",
                n=1,
                lineterm="",
            )
            yield "\n".join(lines)


@pytest.mark.parametrize(
    ("tour", "size", "themes"),
    [
        ("views", (80, 24), THEMES),
        ("views", (200, 50), THEMES),
        ("dialogs", (80, 24), THEMES),
        ("dialogs", (200, 50), THEMES[:1]),
    ],
    ids=lambda value: "x".join(map(str, value)) if isinstance(value, tuple) and len(value) == 2 else None,
)
async def test_every_view_and_dialog_looks_as_it_did(
    tour: str, size: tuple[int, int], themes: tuple[str, ...], tmp_path: Path
) -> None:
    make(path := tmp_path / "orders.db")
    walks = {theme: await walk(path, _TOURS[tour], theme, size) for theme in themes}
    pictures = {
        scene.name: written({theme: taken[scene.name] for theme, taken in walks.items()})
        for scene in _TOURS[tour]
    }
    folder = PICTURES / f"{size[0]}x{size[1]}"
    if os.environ.get("DURA_TEST_PICTURES") == "take":
        folder.mkdir(parents=True, exist_ok=True)
        for name, picture in pictures.items():
            (folder / f"{name}.txt").write_text(picture, "utf-8")
    if found := "\n".join(differences(folder, pictures)):
        pytest.fail(f"{found}\n\nIf this is meant: make pictures, and look at their diff.", pytrace=False)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "200x50"])
def test_every_stored_picture_is_taken(size: tuple[int, int]) -> None:
    stored = {file.stem for file in (PICTURES / f"{size[0]}x{size[1]}").iterdir()}
    assert stored == {scene.name for tour in _TOURS.values() for scene in tour}


def test_the_store_in_the_pictures_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one.db", "two.db"):
        make(tmp_path / name)
    assert dump(tmp_path / "one.db") == dump(tmp_path / "two.db")
