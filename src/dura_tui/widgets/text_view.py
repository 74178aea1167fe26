"""A scrolling view of text lines: JSON, tracebacks, help. Wraps to its width, draws only the lines in sight."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from dura_tui import format as fmt
from dura_tui.widgets.cells import Cell, cell

MOST_CHARACTERS: Final = 400_000
"""Longer values are cut here; the view says so."""

_NEAR: Final = 0.7
"""A line is broken after a space that lies beyond this share of it."""

_FOUND: Final = "reverse"
"""The style that marks what was searched for; nothing else here has it."""

_TOKEN: Final = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b')


def json_view(text: str | None) -> list[Cell]:
    """A stored JSON value as coloured lines."""
    if text is None:
        return [cell("nothing stored", "bright_black")]
    rest = len(text) - MOST_CHARACTERS
    if rest > 0:
        lines = [cell(line) for line in fmt.printable_lines(text[:MOST_CHARACTERS])]
        return [*lines, cell(f"… {fmt.number(rest)} characters more are not shown", "yellow")]
    if fmt.is_cut(text):
        note = cell("The rest was left in the store: it is too long to be carried here.", "yellow")
        return [*(cell(line) for line in fmt.printable_lines(text)), note]
    return [_coloured(line) for line in fmt.json_lines(text)]


def _coloured(line: str) -> Cell:
    pieces: list[tuple[str, str]] = []
    end = 0
    for match in _TOKEN.finditer(line):
        pieces.append((line[end : match.start()], "bright_black"))
        string, colon, digits, word = match.groups()
        if string is not None:
            pieces.append((string, "blue" if colon else "green"))
            pieces.append((colon or "", "bright_black"))
        else:
            pieces.append((digits or word, "cyan" if digits else "magenta"))
        end = match.end()
    pieces.append((line[end:], "bright_black"))
    return tuple(piece for piece in pieces if piece[0])


def failure_view(reason: str) -> list[Cell]:
    """A failure reason as lines: what failed in red, the traceback quiet, its last frames readable."""
    first, *rest = fmt.failure_lines(reason)
    return [cell(first, "bold red"), *(cell(line, "") for line in rest)]


def marked(line: Cell, part: str) -> Cell:
    """The line with each place where the part is found, in any case, reversed."""
    text = "".join(piece for piece, _ in line)
    found = [match.span() for match in re.finditer(re.escape(part), text, re.IGNORECASE)]
    if not found:
        return line
    edges = sorted({0, len(text), *(edge for span in found for edge in span)})
    pieces: list[tuple[str, str]] = []
    start = 0
    for piece, style in line:
        end = start + len(piece)
        cuts = [start, *(edge for edge in edges if start < edge < end), end]
        for left, right in pairwise(cuts):
            inside = any(first <= left and right <= last for first, last in found)
            pieces.append((text[left:right], f"{style} {_FOUND}".strip() if inside else style))
        start = end
    return tuple(pieces)


def wrap(line: Cell, width: int) -> list[Cell]:
    """Break a line into lines of at most `width` cells, after a space where one is near."""
    lines: list[Cell] = []
    current: list[tuple[str, str]] = []
    room = width
    for text, style in line:
        while text:
            head = text if cell_len(text) <= room else _head(text, room)
            if not head and room < width:
                lines.append(tuple(current))
                current, room = [], width
                continue
            head = head or text[0]
            current.append((head, style))
            room = max(room - cell_len(head), 0)
            text = text[len(head) :]
            if text:
                lines.append(tuple(current))
                current, room = [], width
    lines.append(tuple(current))
    return lines


def _head(text: str, room: int) -> str:
    head = text[:room]
    while cell_len(head) > room:
        head = head[:-1]
    space = head.rfind(" ") + 1
    return head[:space] if space > _NEAR * len(head) and head[:space].strip() else head


class TextView(ScrollView, can_focus=True):
    """Lines of cells, wrapped and scrolled."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False, id="down"),
        Binding("k", "scroll_up", show=False, id="up"),
        Binding("g", "scroll_home", show=False, id="first"),
        Binding("G", "scroll_end", show=False, id="last"),
        Binding("ctrl+d,ctrl+f", "page_down", show=False, id="page-down"),
        Binding("space", "page_down", show=False),
        Binding("ctrl+u,ctrl+b", "page_up", show=False, id="page-up"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Make an empty view."""
        super().__init__(id=id)
        self._lines: list[Cell] = []
        self._wrapped: list[Cell] = []
        self._part = ""
        self._found: list[int] = []
        """The wrapped lines that hold a match."""
        self._at = 0

    @property
    def place(self) -> tuple[int, int]:
        """At which of the lines with a match the search stands, from 1, and how many there are; (0, 0) without one."""
        return (self._at + 1 if self._found else 0), len(self._found)

    def search(self, part: str) -> None:
        """Mark a text wherever it is, in any case, and go to the first place from here on; empty text ends the search."""
        self._part = part
        self._wrap()
        here = int(self.scroll_y)
        self._at = next((place for place, line in enumerate(self._found) if line >= here), 0)
        self._show_found()

    def next_found(self, step: int) -> None:
        """Go to the next line with a match, or the one before."""
        if self._found:
            self._at = (self._at + step) % len(self._found)
            self._show_found()

    def _show_found(self) -> None:
        if self._found:
            height = max(self.scrollable_content_region.height, 1)
            self.scroll_to(y=max(self._found[self._at] - height // 3, 0), animate=False)

    @property
    def text(self) -> str:
        """The lines without their styles."""
        return "\n".join("".join(text for text, _ in line) for line in self._lines)

    def show_lines(self, lines: list[Cell]) -> None:
        """Show these lines; the scroll stays where it is if they are the same."""
        if lines == self._lines:
            return
        self._lines = lines
        self._wrap()
        self.scroll_to(y=0, animate=False)

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        if not width:
            return  # The first layout wraps them.
        lines = [marked(line, self._part) for line in self._lines] if self._part else self._lines
        self._wrapped = [part for line in lines for part in wrap(line, width)]
        self._found = [
            place for place, line in enumerate(self._wrapped) if any(_FOUND in style for _, style in line)
        ]
        self.virtual_size = Size(width, len(self._wrapped))
        self.refresh()

    def on_resize(self) -> None:
        """Wrap anew."""
        self._wrap()

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        base, width = self.rich_style, self.scrollable_content_region.width
        index = y + int(self.scroll_y)
        if index >= len(self._wrapped):
            return Strip.blank(width, base)
        segments = [Segment(text, base + Style.parse(style)) for text, style in self._wrapped[index]]
        return Strip(segments).adjust_cell_length(width, base)
