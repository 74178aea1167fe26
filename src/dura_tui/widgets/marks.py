"""Which rows of a table are marked for an action: some by key, each with what it showed last, or all that match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

if TYPE_CHECKING:
    from dura_tui.widgets.live_table import LiveTable, Row

Record = TypeVar("Record")

_SIGN: Final = "*"
_STYLE: Final = Style(color="yellow", bold=True)


class Marks(Generic[Record]):
    """Marks by key. A row that leaves the list keeps its mark, with what it showed when it was last seen."""

    def __init__(self, table: LiveTable[Record]) -> None:
        """Begin without any.

        Args:
            table: Whose rows they are; drawn anew when marks change.
        """
        self._table = table
        self._marked: dict[str, Record] = {}
        self._last: str | None = None
        self.everything = False
        """Whether all that matches the filter is meant, seen or not."""

    def __bool__(self) -> bool:
        return self.everything or bool(self._marked)

    def __len__(self) -> int:
        return len(self._marked)

    @property
    def records(self) -> tuple[Record, ...]:
        """What is marked, in the order in which it was."""
        return tuple(self._marked.values())

    @property
    def missing(self) -> int:
        """How many marked rows are not in the list any more."""
        return len(self._marked.keys() - set(self._table.keys))

    def toggle(self) -> None:
        """Mark the row under the cursor, or take its mark away, and go on to the next row."""
        key, record = self._table.key, self._table.record
        if key is None or record is None:
            return
        self.everything, self._last = False, key
        if self._marked.pop(key, None) is None:
            self._marked[key] = record
        self._table.action_cursor_down()
        self._table.refresh()

    def stretch(self) -> None:
        """Mark all rows from the one that was marked last to the one under the cursor."""
        rows, key = self._table.records, self._table.key
        if key is None:
            return
        keys = list(rows)
        here = keys.index(key)
        there = keys.index(self._last) if self._last in rows else here
        for each in keys[min(here, there) : max(here, there) + 1]:
            self._marked.setdefault(each, rows[each])
        self.everything, self._last = False, key
        self._table.refresh()

    def all(self) -> None:
        """Mean all that matches the filter; said again, none of it."""
        everything = not self.everything
        self.clear()
        self.everything = everything

    @contextmanager
    def kept(self, keep: bool) -> Iterator[None]:
        """Keep the marks when the table forgets its rows inside the block: it is the same list, another part of it.

        Args:
            keep: Whether to.
        """
        marked, everything = dict(self._marked), self.everything
        yield
        if keep:
            self._marked, self.everything = marked, everything

    def clear(self) -> None:
        """Take all marks away."""
        self._marked.clear()
        self._last, self.everything = None, False
        self._table.refresh()

    def follow(self, rows: Sequence[Row[Record]]) -> None:
        """Rows are shown anew: remember what the marked ones among them show now."""
        if self._marked:
            self._marked.update({row.key: row.record for row in rows if row.key in self._marked})

    def drawn(self, line: Strip, keys: Sequence[str]) -> Strip:
        """A row's line with the sign of a mark if it has one, in the cell that pads its left edge: marks take no room.

        Args:
            line: The line.
            keys: The row's key; empty below the last row.
        """
        if not any(self.everything or key in self._marked for key in keys):
            return line
        style = next((segment.style for segment in line.crop(0, 1) if segment.style), Style.null())
        return Strip.join([Strip([Segment(_SIGN, style + _STYLE)], 1), line.crop(1)])
