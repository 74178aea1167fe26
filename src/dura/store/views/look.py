"""One look at a store: an open read transaction, its time, what the file is, and how long each part may take.

A query that runs out of its part's time ends there and keeps the rows it has found; the part's name is then listed in
`Look.truncated`. So a large or an old file makes a view shorter, never the monitor slow.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from dura.clock import Clock, moment_or_never, to_text
from dura.errors import NotADuraStore
from dura.store.kinds import Kind, recognise, refuse
from dura.store.reading import Source
from dura.store.views.oldfile import lend_columns

PART_SECONDS: Final = 0.5
"""How long the queries of one part may take together."""

VALUE_LIMIT: Final = 64 * 1024
"""Characters of a stored value that a list carries."""

_STEPS_BETWEEN_CHECKS: Final = 2000
"""Instructions of SQLite's between two looks at the watch."""

R = TypeVar("R")

Values = Sequence[Any] | Mapping[str, Any]


class OutOfTimeError(Exception):
    """A stream ran out of its part's time."""


class Look:
    """What the views read through.

    Args:
        connection: In a read transaction, with `sqlite3.Row` rows.
        path: The store, for messages.
        moment: The engine's time.
        part_seconds: How long each part may take.

    Raises:
        NotADuraStore: The file holds something else, or nothing yet.
        StoreTooNew: A newer dura wrote it.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: str, moment: datetime, part_seconds: float = PART_SECONDS
    ) -> None:
        found = recognise(connection)
        if found.kind is Kind.EMPTY:
            raise NotADuraStore(
                f"{path}: this SQLite file has no tables, so it is no dura store yet. Check the path, or start the "
                "application that fills it.",
                path=path,
            )
        refuse(found, path)
        self.moment = moment
        self.now = to_text(moment)
        self.origin = "1.3.0" if found.kind is Kind.RELEASE_1_3_0 else "dura"
        self.truncated: list[str] = []
        self._connection = connection
        self._part_seconds = part_seconds
        self._deadline = time.monotonic() + part_seconds
        self._cut = False
        self.indexes = frozenset(
            row[0] for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'index'")
        )
        """The indexes that there are; a 1.3.0 file has fewer."""
        self.counted = found.kind is Kind.OURS
        """Whether there are counters."""
        lend_columns(connection)
        connection.set_progress_handler(self._out_of_time, _STEPS_BETWEEN_CHECKS)

    def close(self) -> None:
        """Take the watch off the connection."""
        self._connection.set_progress_handler(None, 0)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Give the queries inside the block their time, and note the name if it was not enough."""
        self._cut = False
        self._deadline = time.monotonic() + self._part_seconds
        yield
        if self._cut:
            self.truncated.append(name)

    def more_time(self) -> None:
        """Begin the present part's time anew: to show what a search that ran out of its own has found."""
        self._deadline = time.monotonic() + self._part_seconds

    @property
    def cut(self) -> bool:
        """Whether a query of the present part ran out of time."""
        return self._cut

    def shorten(self) -> None:
        """Note that the present part holds less than there is, for another reason than time."""
        self._cut = True

    # --- queries ------------------------------------------------------------------------------------------------------

    def stream(self, sql: str, values: Values = ()) -> Generator[sqlite3.Row]:
        """The rows one by one; closing the generator ends the query.

        Raises:
            OutOfTimeError: The part's time is over.
        """
        try:
            with closing(self._connection.execute(sql, values)) as cursor:
                yield from cursor
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            self._cut = True
            raise OutOfTimeError from None

    def rows(self, sql: str, values: Values = ()) -> list[sqlite3.Row]:
        """All rows, or those found before the part's time was over."""
        found: list[sqlite3.Row] = []
        try:
            for row in self.stream(sql, values):
                found.append(row)  # noqa: PERF402 - what was found before the time was over counts
        except OutOfTimeError:
            pass
        return found

    def first(self, sql: str, values: Values = ()) -> sqlite3.Row | None:
        """The first row, if there is one."""
        with closing(self.stream(sql, values)) as stream:
            try:
                return next(stream, None)
            except OutOfTimeError:
                return None

    def _out_of_time(self) -> bool:
        return time.monotonic() > self._deadline


def through(
    view: Callable[[Look, Source], R], path: str, clock: Clock
) -> Callable[[sqlite3.Connection, Source], R]:
    """What a `Reader` runs so that `view` sees the store through a `Look`."""

    def look(connection: sqlite3.Connection, source: Source) -> R:
        with closing(Look(connection, path, clock())) as opened:
            return view(opened, source)

    return look


# --- stored text ------------------------------------------------------------------------------------------------------


def moment_of(text: str | None) -> datetime | None:
    """A stored time; None for never, for nothing, and for text that is no time."""
    try:
        moment = moment_or_never(text)
        return None if moment is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def shown(value: str, limit: int = VALUE_LIMIT) -> str:
    """A stored value as a record carries it: cut, with a mark, if it is long."""
    return value if len(value) <= limit else value[:limit] + "…"


def shown_or_none(value: str | None, limit: int = VALUE_LIMIT) -> str | None:
    """`shown`, for a value that may be absent."""
    return None if value is None else shown(value, limit)


def json_of(text: str | None) -> Any:
    """A stored value decoded; text that is no JSON stays text."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def like(part: str) -> str:
    r"""A LIKE pattern (ESCAPE '\') for text that holds `part`."""
    for special in "\\%_":
        part = part.replace(special, f"\\{special}")
    return f"%{part}%"
