"""A table of live rows whose cursor and scroll stay with a row's key, whatever comes, goes or moves around it.

Three rules make it safe to act from and cheap to watch over a slow line:

- The cursor follows its key. When that row leaves the list, it stays as a struck-out ghost for a few seconds, so that a
  key pressed at that moment meets the row it was meant for (and is refused by the engine), never its neighbour.
- A scrolled list keeps the row at its top edge there; a list at its top stays at its top.
- Only cells that differ are written. When keys and order are unchanged, only those cells' regions are repainted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual._two_way_dict import TwoWayDict
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.message import Message
from textual.strip import Strip
from textual.widgets import DataTable
from textual.widgets._data_table import ColumnKey, RowKey
from textual.widgets._data_table import Row as RowMeta

from dura_tui import format as fmt
from dura_tui.widgets.cells import Cell, to_text
from dura_tui.widgets.marks import Marks

Record = TypeVar("Record")

GHOST_SECONDS: Final = 5.0
"""How long a row that has left the list stays under the cursor."""

_GHOST_STYLE: Final = "strike bright_black"
_LEAST_ELASTIC: Final = 8


@dataclass(frozen=True, slots=True)
class Row(Generic[Record]):
    """One row of a live table."""

    key: str
    cells: tuple[Cell, ...]
    """One for each of the table's columns, shown or not."""
    record: Record
    """What the row shows, for whoever acts on it."""

    def struck(self) -> Row[Record]:
        """The row as its own ghost."""
        cells = tuple(tuple((text, _GHOST_STYLE) for text, _ in pieces) for pieces in self.cells)
        return replace(self, cells=cells)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a live table."""

    label: str
    width: int = 0
    """In cells; 0 for an elastic column, which takes its share of what the others leave."""
    at: int = 0
    """From which width of the table on the column is shown."""
    right: bool = False
    """Whether its text ends at the right edge."""
    share: int = 1
    """How much of what is left an elastic column takes, compared with the other elastic ones."""
    sort: str = ""
    """The name by which a list is sorted by this column; empty if it cannot be."""
    by: Callable[[Any], Any] | None = None
    """What of a record is compared; None where the store sorts."""
    down: bool = False
    """Whether the largest comes first unless it is turned round."""


class LiveTable(DataTable[Text], Generic[Record]):
    """Rows by key, updated in place."""

    class Fitted(Message):
        """Its columns have got their widths: what was drawn to them must be drawn anew."""

    DEFAULT_CSS = "LiveTable { height: 1fr; }"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False, id="down"),
        Binding("k", "cursor_up", show=False, id="up"),
        Binding("g", "scroll_top", show=False, id="first"),
        Binding("G", "scroll_bottom", show=False, id="last"),
        Binding("ctrl+d,ctrl+f", "page_down", show=False, id="page-down"),
        Binding("ctrl+u,ctrl+b", "page_up", show=False, id="page-up"),
    ]

    def __init__(self, columns: Sequence[Column], *, empty: str, id: str | None = None) -> None:  # noqa: A002
        """Make a table.

        Args:
            columns: All columns, at least one of them elastic.
            empty: What to say when there are no rows.
            id: The widget's id.
        """
        super().__init__(
            id=id,
            cursor_type="row",
            cursor_foreground_priority="renderable",
            cursor_background_priority="css",
        )
        self.all_columns = tuple(columns)
        self.empty = empty
        self._shown: dict[str, Row[Record]] = {}
        self._places: tuple[int, ...] = ()
        self._ghost: tuple[str, datetime] | None = None
        self._awaited_key: str | None = None
        self._read = self._returned = False
        self._sorted: tuple[str, bool] | None = None
        self.marks = Marks[Record](self)
        """The rows that are marked for an action."""

    # --- what the views use ------------------------------------------------------------------------------------------

    @property
    def key(self) -> str | None:
        """The key of the row under the cursor; None for an empty table."""
        row = self._under_cursor()
        return row.key if row else None

    @property
    def record(self) -> Record | None:
        """What the row under the cursor shows, or showed when it was last in the list."""
        row = self._under_cursor()
        return row.record if row else None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all rows in their order, a ghost's included."""
        return tuple(self._shown)

    @property
    def records(self) -> dict[str, Record]:
        """What all rows show, by key in their order."""
        return {key: row.record for key, row in self._shown.items()}

    @property
    def ghost(self) -> str | None:
        """The key of the row that has left the list and is still shown; None if there is none."""
        return self._ghost[0] if self._ghost else None

    def width_of(self, place: int) -> int:
        """How many cells a column has for its text; 0 while it is not shown."""
        column = self.columns.get(ColumnKey(str(place)))
        return column.width if column is not None else 0

    def came_back(self) -> None:
        """What is shown next is read anew: a row that left the list meanwhile was seen by nobody, and leaves no ghost."""
        self._returned = True

    def show_rows(self, rows: Sequence[Row[Record]], now: datetime) -> None:
        """Show these rows in this order, keeping cursor and scroll on their keys."""
        wanted = self._with_ghost(rows, now)
        self.marks.follow(rows)
        if not self._read:
            self._read = True
            self.refresh()
        if not self._places:
            self._shown = wanted  # Drawn by the first layout.
        elif list(wanted) == list(self._shown):
            self._write_cells(wanted)
        else:
            self._replace_rows(wanted)

    def show_sort(self, sort: str, *, back: bool) -> None:
        """Mark the column that the list is sorted by.

        Args:
            sort: The column's name; empty for the list's own order.
            back: Whether it is turned round.
        """
        self._sorted = (sort, back) if sort else None
        for key, column in self.columns.items():
            column.label = self._label(int(key.value or 0))
        self._update_count += 1
        self.refresh()

    def reset(self) -> None:
        """Forget rows, cursor, scroll and ghost: what comes next is another list."""
        self._ghost = None
        self._awaited_key = None
        self._read = False
        self._shown = {}
        self.marks.clear()
        self.clear()

    def move_to(self, key: str) -> None:
        """Put the cursor on a row, as soon as it is there."""
        self._awaited_key = key
        self._take_awaited_key()

    def _take_awaited_key(self) -> None:
        if self._places and self._awaited_key in self._shown:
            self.move_cursor(row=self.get_row_index(self._awaited_key))
            self._awaited_key = None

    # --- rows --------------------------------------------------------------------------------------------------------

    def _under_cursor(self) -> Row[Record] | None:
        if not self.is_valid_row_index(self.cursor_row):
            return None
        key = self._row_locations.get_key(self.cursor_row)
        return None if key is None or key.value is None else self._shown.get(key.value)

    def _with_ghost(self, rows: Sequence[Row[Record]], now: datetime) -> dict[str, Row[Record]]:
        """The rows by key, and the cursor's row, struck out, if it has just left the list."""
        wanted = {row.key: row for row in rows}
        row, returned = self._under_cursor(), self._returned
        self._returned = False
        if returned or row is None or row.key in wanted:
            self._ghost = None
            return wanted
        if self._ghost is None or self._ghost[0] != row.key:
            self._ghost = (row.key, now)
        elif now - self._ghost[1] > timedelta(seconds=GHOST_SECONDS):
            self._ghost = None
            return wanted
        order = list(rows)
        order.insert(min(self.cursor_row, len(order)), row.struck())
        return {row.key: row for row in order}

    def _text(self, row: Row[Record], place: int) -> Text:
        return to_text(row.cells[place], "right" if self.all_columns[place].right else "left")

    def _write_cells(self, wanted: dict[str, Row[Record]]) -> None:
        changed: list[Coordinate] = []
        for index, (key, row) in enumerate(wanted.items()):
            before = self._shown[key].cells
            if row.cells == before:
                continue
            data = self._data[RowKey(key)]
            for column, place in enumerate(self._places):
                if row.cells[place] != before[place]:
                    data[ColumnKey(str(place))] = self._text(row, place)
                    changed.append(Coordinate(index, column))
        self._shown = wanted
        if changed:
            # The count is part of every cache key: what is drawn next is drawn afresh, but only these regions are.
            self._update_count += 1
            for coordinate in changed:
                self.refresh_coordinate(coordinate)

    def _replace_rows(self, wanted: dict[str, Row[Record]]) -> None:
        key, cursor = self.key, self.cursor_row
        scroll = int(self.scroll_y)
        height = max(self.scrollable_content_region.height - self.header_height, 1)
        cursor_in_sight = scroll <= cursor < scroll + height
        in_sight = list(self._shown)[scroll : scroll + height]

        self._data = {
            RowKey(name): {ColumnKey(str(place)): self._text(row, place) for place in self._places}
            for name, row in wanted.items()
        }
        self.rows = {RowKey(name): RowMeta(RowKey(name), 1) for name in wanted}
        self._row_locations = TwoWayDict({RowKey(name): index for index, name in enumerate(wanted)})
        self._shown = wanted
        self._update_count += 1
        self._update_dimensions(())

        index_of = {name: index for index, name in enumerate(wanted)}
        last = max(len(wanted) - 1, 0)
        cursor = min(index_of.get(key, cursor) if key is not None else 0, last)
        # Set without its watcher, which would scroll to the cursor before the scroll is put right below.
        self.set_reactive(DataTable.cursor_coordinate, Coordinate(cursor, 0))
        if scroll > 0:
            anchor = next((name for name in in_sight if name in index_of), None)
            if anchor is not None:
                scroll = index_of[anchor] - in_sight.index(anchor)
        if cursor_in_sight:
            scroll = min(max(scroll, cursor - height + 1), cursor)
        scroll = min(max(scroll, 0), max(len(wanted) - height, 0))
        if scroll != self.scroll_y:
            self.scroll_to(y=scroll, animate=False, force=True, immediate=True)
        self.refresh()
        if self.key != key:
            self._highlight_row(cursor)

    # --- layout ------------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Choose the columns that fit and give the elastic one what is left."""
        width = self.outer_size.width - self.styles.scrollbar_size_vertical
        places = tuple(place for place, column in enumerate(self.all_columns) if width >= column.at)
        fixed = sum(self.all_columns[place].width + 2 * self.cell_padding for place in places)
        widths = self._widths(places, width - fixed)
        if places != self._places:
            self._places = places
            self.columns.clear()
            self._column_locations = TwoWayDict({})
            for place in places:
                self.add_column(self._label(place, widths[place]), width=widths[place], key=str(place))
            # Every cell would be measured for widths that are given; of a long list that takes seconds.
            self._updated_cells.clear()
            self._replace_rows(self._shown)
            self._take_awaited_key()
        for place in places:
            self.columns[ColumnKey(str(place))].width = widths[place]
            self.columns[ColumnKey(str(place))].label = self._label(place, widths[place])
        self._clear_caches()
        self._update_dimensions(())
        self.refresh()
        self.post_message(self.Fitted())

    def _label(self, place: int, width: int | None = None) -> Text:
        """A column's header, with an arrow where the list is sorted by it."""
        column = self.all_columns[place]
        label = column.label
        if self._sorted is not None and self._sorted[0] == column.sort:
            arrow = "▾" if column.down != self._sorted[1] else "▴"
            room = width or self.width_of(place) or column.width
            label = arrow + label if column.right else f"{label[: max(room - 1, 0)]}{arrow}"
            label = label[:room] if column.right else label
        return Text(label, justify="right" if column.right else "left", no_wrap=True)

    def _widths(self, places: tuple[int, ...], left: int) -> dict[int, int]:
        """The width of each shown column when `left` cells are left for the elastic ones."""
        shares = sum(self.all_columns[place].share for place in places if not self.all_columns[place].width)
        widths = {}
        for place in places:
            column = self.all_columns[place]
            widths[place] = column.width or max(left * column.share // shares, _LEAST_ELASTIC)
        return widths

    def render_line(self, y: int) -> Strip:
        """Draw a line; an empty table says what it would hold, or that nothing was read yet."""
        if not self._shown and y == self.header_height:
            text = fmt.clip(f" {self.empty if self._read else 'Nothing read yet.'}", self.size.width)
            style = self.rich_style + Style(dim=True, italic=True)
            return Strip([Segment(text, style)]).adjust_cell_length(self.size.width, self.rich_style)
        strip = super().render_line(y)
        if self.marks and y >= self.header_height:
            place = y - self.header_height + self.scroll_offset.y
            return self.marks.drawn(strip, list(self._shown)[place : place + 1])
        return strip
