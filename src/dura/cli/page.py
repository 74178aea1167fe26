"""The printed page: headings, facts, tables and blocks of text.

On a terminal a page is drawn for its width, in colour, with the short form of ids; in a pipe it is plain text, one row a
line, as wide as it needs to be, with nothing cut and ids in full. Text from the store is never parsed as markup. This is
the only room that knows `rich`, and it loads it when a page is made.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dura.display import printable, short_id
from dura.states import State

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

Cell = str | tuple[str, str]
"""Printable text, or printable text with a style."""

FAINT: Final = "dim"

STATE_STYLES: Final[dict[str, str]] = {
    State.PENDING: "yellow",
    State.RUNNING: "blue",
    State.SLEEPING: "magenta",
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.CANCELLED: FAINT,
}

_INDENT: Final = 2
_GAP: Final = 2
"""Cells between two columns."""
_ROOMY: Final = 110
"""Columns from which on a page shows what is nice to know."""
_UNLIMITED: Final = 1_000_000
_TRAILING_SPACE: Final = re.compile(r"(?<! ) +((?:\x1b\[[0-9;]*m)*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    title: str
    right: bool = False
    """Whether its cells are numbers."""
    gives_way: bool = False
    """Whether it is cut, with an ellipsis, when the terminal is too narrow."""
    style: str = ""


class Page:
    """What a command prints, from top to bottom."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console: Console = Console(
            file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=False
        )
        self._begun = False
        self.piped: bool = not self._console.is_terminal
        """Whether no person reads this as it is printed."""
        self.roomy: bool = self.piped or self._console.width >= _ROOMY
        """Whether there is room for what is nice to know."""
        if self.piped:
            self._console.width = _UNLIMITED
        self.width: int = self._console.width
        """Cells in a line."""

    def identifier(self, identifier: str) -> Cell:
        """An id: its last eight characters on a terminal, all of it in a pipe."""
        return printable(identifier) if self.piped else short_id(identifier)

    def heading(self, title: str, remark: str = "") -> None:
        """Begin a part of the page."""
        if self._begun:
            self._print(self._text())
        self._print(self._text((title, "bold"), (f"  {remark}" if remark else "", FAINT)))
        self._begun = True

    def line(self, *cells: Cell) -> None:
        """A line of text, wrapped where the terminal ends."""
        self._begun = True
        self._print(self._text(*cells))

    def facts(self, pairs: Iterable[tuple[str, Cell]]) -> None:
        """Names and values in two columns; a long value goes on below itself."""
        from rich.table import Table

        self._begun = True
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style=FAINT, no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in pairs:
            grid.add_row(name, self._text(value))
        self._print(grid)

    def block(self, lines: Iterable[str], style: str = "") -> None:
        """Text of several lines, indented."""
        from rich.padding import Padding

        self._begun = True
        for line in lines:
            self._print(Padding(self._text((line, style)), (0, 0, 0, _INDENT), expand=False))

    def fits(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> bool:
        """Whether a table can be printed without cutting anything."""
        from rich.cells import cell_len

        widths = [len(column.title) for column in columns]
        for row in rows:
            words = (cell if isinstance(cell, str) else cell[0] for cell in row)
            widths = [max(width, cell_len(word)) for width, word in zip(widths, words, strict=True)]
        return sum(widths) + _GAP * (len(widths) - 1) <= self.width

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
        """A table, one line a row."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        self._begun = True
        found = [list(row) for row in rows]
        table = Table(
            box=None if self.piped else SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 2, 0, 0) if self.piped else (0, 1, 0, 0),
            header_style="" if self.piped else "bold",
            border_style=FAINT,
        )
        for index, column in enumerate(columns):
            cells = [self._cell(row[index], column) for row in found]
            widest = max((cell.cell_len for cell in cells), default=0)
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                style=column.style,
                no_wrap=not column.gives_way,
                overflow="ellipsis",
                min_width=None if column.gives_way else max(widest, len(column.title)),
            )
        for row in found:
            table.add_row(*(self._cell(cell, column) for cell, column in zip(row, columns, strict=True)))
        self._print(table)

    def _cell(self, cell: Cell, column: Column) -> Text:
        text = self._text(cell)
        text.no_wrap, text.overflow = True, "ellipsis"
        text.justify = "right" if column.right else "left"
        return text

    @staticmethod
    def _text(*cells: Cell) -> Text:
        from rich.text import Text

        text = Text()
        for cell in cells:
            words, style = (cell, "") if isinstance(cell, str) else cell
            text.append(words, style or None)
        return text

    def _print(self, what: RenderableType) -> None:
        with self._console.capture() as captured:
            self._console.print(what)
        for line in captured.get().splitlines():
            # What rich fills up to a column's width would only be in the way of who copies it.
            self._console.file.write(_TRAILING_SPACE.sub(r"\1", line) + "\n")
