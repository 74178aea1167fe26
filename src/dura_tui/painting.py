"""What the terminal shows, cell by cell, so that only cells that differ are written to it, and nothing when none does.

Textual writes whole regions that may have changed. Over a slow line that is most of what is sent, and most of it is on
the screen already. So each of its updates is compared here with what was written before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

_SHORT_GAP: Final = 6
"""So many cells that are right already are written again where moving the cursor over them would take more bytes."""

_REST: Final = ""
"""The second cell of a wide character."""

_UNKNOWN: Final = "\0"
"""A cell of which nobody knows what the terminal shows."""


class Written(CompositorUpdate):
    """What is left of an update: the text that makes the terminal show it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def render_segments(self, console: Console) -> str:  # noqa: ARG002
        """The text."""
        return self._text


class Picture:
    """The cells that a terminal shows."""

    def __init__(self) -> None:
        """Begin without knowing anything."""
        self._size = (0, 0)
        self._characters: list[list[str]] = []
        self._codes: list[list[str]] = []

    def forget(self) -> None:
        """Something else was drawn there: take nothing for granted."""
        self._size = (0, 0)

    def changes(self, update: CompositorUpdate, size: tuple[int, int], colours: ColorSystem) -> str:
        """Take an update, and return what must be written for it.

        Args:
            update: The compositor's, for the whole screen or for parts of it.
            size: Columns and lines of the terminal.
            colours: Which colours the terminal has.

        Returns:
            Text with escape sequences; empty when the terminal shows it all already.
        """
        if size != self._size:
            columns, lines = self._size = size
            self._characters = [[_UNKNOWN] * columns for _ in range(lines)]
            self._codes = [[""] * columns for _ in range(lines)]
        pieces: list[str] = []
        code = ""
        for y, x, strip in _fragments(update):
            if not 0 <= y < size[1] or x >= size[0]:
                continue
            characters, codes = _cells(strip, size[0] - x, colours)
            for start, end in self._differences(x, y, characters, codes):
                pieces.append(f"\x1b[{y + 1};{x + start + 1}H")
                for place in range(start, end):
                    if codes[place] != code:
                        code = codes[place]
                        pieces.append(f"\x1b[0;{code}m" if code else "\x1b[0m")
                    pieces.append(characters[place])
            self._characters[y][x : x + len(characters)] = characters
            self._codes[y][x : x + len(codes)] = codes
        if code:
            pieces.append("\x1b[0m")
        return "".join(pieces)

    def _differences(
        self, x: int, y: int, characters: list[str], codes: list[str]
    ) -> Iterator[tuple[int, int]]:
        """Runs of new cells that differ from what is shown, as places in the new ones."""
        end = x + len(characters)
        old_characters, old_codes = self._characters[y][x:end], self._codes[y][x:end]
        if old_characters == characters and old_codes == codes:
            return
        start, last = -1, -1
        for place, new in enumerate(zip(characters, codes, strict=True)):
            if new == (old_characters[place], old_codes[place]):
                continue
            if start >= 0 and place - last > _SHORT_GAP:
                yield self._whole(start, last + 1, characters)
                start = -1
            start, last = (place if start < 0 else start), place
        if start >= 0:
            yield self._whole(start, last + 1, characters)

    @staticmethod
    def _whole(start: int, end: int, characters: list[str]) -> tuple[int, int]:
        """The run with both cells of the wide characters at its ends."""
        while start > 0 and characters[start] == _REST:
            start -= 1
        while end < len(characters) and characters[end] == _REST:
            end += 1
        return start, end


def _fragments(update: CompositorUpdate) -> Iterator[tuple[int, int, Strip]]:
    """The strips of an update, each with its line and column."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in strips:
                yield y, x, strip
                x += strip.cell_length
    elif isinstance(update, ChopsUpdate):
        for y, left, right in update.spans:
            for end, (x, chop) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if chop is not None and x < right and end > left:
                    yield y, x, chop if end <= right else chop.crop(0, right - x)


def _cells(strip: Strip, room: int, colours: ColorSystem) -> tuple[list[str], list[str]]:
    """A strip as cells: what each holds, and the codes of its style."""
    characters: list[str] = []
    codes: list[str] = []
    for text, style, control in strip:
        if control:
            continue
        if text.isascii():
            characters += text
        else:
            for character in text:
                width = cell_len(character)
                if width == 0 and characters:
                    characters[-1] += character
                elif width:
                    characters.append(character)
                    characters += [_REST] * (width - 1)
        codes += [_code(style, colours)] * (len(characters) - len(codes))
    return characters[:room], codes[:room]


@lru_cache(8192)
def _code(style: Style | None, colours: ColorSystem) -> str:
    """The parameters of the sequence that sets a style; empty for none."""
    if style is None:
        return ""
    before = style.update_link(None).render("x", color_system=colours).partition("x")[0]
    return before.removeprefix("\x1b[").removesuffix("m")
