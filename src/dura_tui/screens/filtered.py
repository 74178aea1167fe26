"""What every list shares that can be searched: a filter, completed while it is typed, and an order by any column."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, Final, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import DataTable, Input

from dura.filters import FIELDS, Kind, parse, texts, to_line
from dura.records import Condition, Snapshot
from dura_tui import format as fmt
from dura_tui.completion import Completion, complete
from dura_tui.filter import FILTERED, Filtered, known_words
from dura_tui.screens.view import Hint, ListView, View
from dura_tui.widgets.bars import Line
from dura_tui.widgets.filter_line import FilterBox, FilterLine
from dura_tui.widgets.live_table import Column, LiveTable

Record = TypeVar("Record")
Item = TypeVar("Item")

_LINE_CELLS: Final = 60
"""Cells of a filter in a caption."""


class FilteredView(ListView[Record]):
    """A list with a filter and an order."""

    KIND: ClassVar[str]
    """Its name, by which `FILTERED` knows its fields."""
    ORDER: ClassVar[str]
    """The order that it has by itself, for example `soonest expiry first`."""
    CAP: ClassVar[int | None] = None
    """Rows at most that are read; None for a list that is read whole."""
    PART: ClassVar[str] = ""
    """The part of a snapshot that holds it."""
    CUT: ClassVar[str] = "search stopped early: narrow the filter"
    """What is said of a search that ran out of its time."""

    def __init__(self, table: LiveTable[Record], *, id: str | None = None) -> None:  # noqa: A002
        """Begin with everything, in the list's own order."""
        super().__init__(table, id=id)
        self.where: tuple[Condition, ...] = ()
        """The filter in force."""
        self.caption = Line(id="caption")
        self._empty = table.empty
        self._box = FilterBox(self._complete, placeholder=self.filtered.placeholder)

    def compose(self) -> ComposeResult:
        """The caption, the table, and the filter line."""
        yield self.caption
        yield self.table
        yield self._box

    # --- what is asked -----------------------------------------------------------------------------------------------

    @property
    def filtered(self) -> Filtered:
        """How the list is filtered."""
        return FILTERED[self.KIND]

    @property
    def filter_now(self) -> str:
        """The filter in force as a line; empty for none."""
        return to_line(self.where, self.filtered.fields)

    @property
    def text(self) -> str | None:
        """The free text of the filter."""
        return next(iter(texts(self.where)), None)

    @property
    def terms(self) -> tuple[Condition, ...]:
        """The filter without its free text."""
        return tuple(condition for condition in self.where if condition.field != "text")

    @property
    def sorts(self) -> dict[str, Column]:
        """The columns that the list can be sorted by, by name."""
        return {column.sort: column for column in self.table.all_columns if column.sort}

    def set_filter(self, line: str) -> None:
        """Show what matches.

        Raises:
            InvalidFilter: The line means nothing here.
        """
        where = parse(line, self.filtered.fields)
        if where != self.where:
            self.where = where
            self.ask()

    def set_sort(self, sort: str) -> None:
        """Sort by a column.

        Args:
            sort: Its name, with a `-` before it for the other way round; empty for the list's own order.

        Raises:
            ValueError: There is no such column.
        """
        name = sort.removeprefix("-")
        if sort and name not in self.sorts:
            raise ValueError(
                f"the {self.KIND} cannot be sorted by {name!r}: use one of {', '.join(self.sorts)}"
            )
        self.table.show_sort(name, back=sort.startswith("-"))
        if sort != self.sort_now:
            self.sort_now = sort
            self.order_changed()

    def ask(self) -> None:
        """The list is another one from here on; what was read for the one before is not shown any more."""
        self.snapshot = None
        self.table.empty = self._empty
        self.table.reset()
        self.post_message(View.WantChanged())

    def order_changed(self) -> None:
        """The same list stands in another order: the cursor stays with its row."""
        self.draw_again()

    def in_order(self, records: Sequence[Item]) -> list[Item]:
        """Records as they are to be shown; those without a value come last, however it is turned."""
        column = self.sorts.get(self.sort_now.removeprefix("-"))
        if column is None or column.by is None:
            return list(records)
        valued = [(column.by(record), record) for record in records]
        known = [pair for pair in valued if pair[0] is not None]
        known.sort(key=lambda pair: pair[0], reverse=column.down != self.sort_now.startswith("-"))
        return [record for _, record in known] + [record for value, record in valued if value is None]

    def all_of(self, what: str) -> str:
        """All that the list would hold, in words: `all running runs that match name:import_*`."""
        line = fmt.clip_middle(fmt.printable(self.filter_now), _LINE_CELLS)
        return f"all {what} that match {line}" if line else f"all {what}"

    def capped(self, state: str) -> str:
        """As for every list; how much matches a filter the caption says."""
        return "" if self.where else super().capped(state)

    # --- drawing -----------------------------------------------------------------------------------------------------

    def show(self, snapshot: Snapshot, now: datetime) -> None:
        """Take a snapshot that answers `want`, draw it, and complete with what it knows."""
        self.snapshot = snapshot
        if self.where:
            self.table.empty = f"Nothing found: {self.CUT}." if self.cut else "Nothing matches the filter."
        super().show(snapshot, now)
        self._box.know_more()

    @property
    def cut(self) -> bool:
        """Whether the search ran out of its time."""
        return bool(self.where and self.snapshot and self.PART in self.snapshot.truncated)

    def draw_caption(self, shown: int) -> None:
        """Say how much matches, and in which order; nothing where nothing is filtered or sorted.

        Args:
            shown: Rows that are listed.
        """
        text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
        if self.where:
            full = self.CAP is not None and shown >= self.CAP
            text.append(
                f"the first {fmt.number(shown)} that match" if full else f"{fmt.number(shown)} match", "bold"
            )
        self.append_finding(text, shown)
        self.caption.display = bool(text.plain.strip())
        self.caption.put(text)

    def append_finding(self, text: Text, shown: int) -> None:
        """Add filter, order and what they had to leave out to a caption."""
        gap = "   " if text.plain.strip() else ""
        if self.where:
            text.append(f"{gap}filter ", "bright_black")
            text.append(fmt.clip_middle(fmt.printable(self.filter_now), _LINE_CELLS), "cyan")
            gap = "   "
        if self.sort_now:
            text.append(f"{gap}sort ", "bright_black")
            text.append(self.sort_now)
            if self.CAP is not None and shown >= self.CAP:
                text.append(f" of {self.ORDER}: the first {fmt.number(self.CAP)}", "yellow")
        if self.cut:
            text.append(f"   {self.CUT}", "yellow")

    # --- the operator ------------------------------------------------------------------------------------------------

    @property
    def about(self) -> tuple[str, ...]:
        """What there is to say of the view, and what its filter takes."""
        measured = (Kind.AGE, Kind.COUNT)
        fields = " ".join(
            f"{name}{'>' if FIELDS[name].kind in measured else ':'}" for name in self.filtered.fields
        )
        words = f"{'any other words: ' if fields else ''}{self.filtered.text}"
        return (*self.ABOUT, *([f"{{filter}}  {fields}"] if fields else []), f"{{filter}}  {words}")

    def hints(self) -> list[Hint]:
        """Enter, the filter and the order."""
        sort = [("s", "sort", "screen.sort")] if self.sorts else []
        return [*super().hints(), ("/", "filter", "screen.filter"), *sort]

    @property
    def completing(self) -> bool:
        """Whether a filter is being typed."""
        return self._box.is_open

    def edit_filter(self) -> bool:
        """Open the filter line."""
        line = self.filter_now
        self._box.edit(f"{line} " if line else "")
        self.post_message(View.WantChanged())
        return True

    def back(self) -> bool:
        """Show all again; whether there was a filter."""
        had = bool(self.where)
        if had:
            self.where = ()
            self.ask()
        return had

    def _complete(self, line: str, cursor: int) -> Completion:
        return complete(line, cursor, self.filtered.fields, known_words(self.snapshot))

    @on(FilterLine.Left)
    def _leave_filter(self) -> None:
        self.table.focus()
        self.post_message(View.WantChanged())
        self.draw_again()

    @on(Input.Submitted)
    def _apply_filter(self, event: Input.Submitted) -> None:
        event.stop()
        self._box.submit(event.value, self.set_filter)

    @on(DataTable.HeaderSelected)
    def _sort_by_header(self, event: DataTable.HeaderSelected) -> None:
        """A click on a header sorts by it, a second one turns it round, a third gives the list's own order back."""
        event.stop()
        name = self.table.all_columns[int(event.column_key.value or 0)].sort
        if name:
            following = {name: f"-{name}", f"-{name}": ""}
            self.set_sort(following.get(self.sort_now, name))


def since(moment: datetime | None) -> float | None:
    """How long ago something was, for comparing."""
    return None if moment is None else -moment.timestamp()
