"""Insertion: many rows by one statement.

`executemany` begins the statement anew for each row, opening the table and its indexes and seeking the place in each: half
the time of an insert. Rows that stand in one statement as VALUES are inserted one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dura.store.transaction import Transaction

_MOST: Final = 64
"""Rows in one statement; more gain little."""

_FEW: Final = 16
"""Up to so many rows have a statement of exactly their number: a connection keeps only so many statements prepared."""

_LONGEST: Final = 64 * 1024
"""Characters in one statement of several rows: a prepared statement keeps what it was given last until it is used again."""


class Insertion:
    """A statement that takes its rows as VALUES.

    Args:
        sql: The statement, with a `%s` where the rows belong.
        row: One of them, as in VALUES.
        texts: The places of values that may be long, in a row; each is text or None.
    """

    def __init__(self, sql: str, row: str, *, texts: Sequence[int]) -> None:
        self._width = row.count("?")
        self._texts = texts
        self._statements: Final = {
            rows: sql % ", ".join([row] * rows) for rows in (*range(1, _FEW + 1), _MOST)
        }
        """By the number of rows."""

    def execute(self, tx: Transaction, values: Sequence[Any]) -> int:
        """Insert rows, given as the values of the first, of the second, and so on. Returns how many were inserted."""
        width, at, inserted = self._width, 0, 0
        left = len(values) // width
        if left == 1:
            return tx.execute(self._statements[1], values).rowcount
        while left:
            rows = _MOST if left >= _MOST else min(left, _FEW)
            some = values[at : at + rows * width]
            if self._length(some) <= _LONGEST:
                inserted += tx.execute(self._statements[rows], some).rowcount
            else:
                each = [some[first : first + width] for first in range(0, len(some), width)]
                inserted += tx.executemany(self._statements[1], each).rowcount
            at, left = at + len(some), left - rows
        return inserted

    def _length(self, values: Sequence[Any]) -> int:
        return sum(sum(map(len, filter(None, values[place :: self._width]))) for place in self._texts)
