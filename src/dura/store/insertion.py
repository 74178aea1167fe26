"""Insertion: many rows by one statement.

`executemany` begins the statement anew for each row, opening the table and its indexes and seeking the place in each: half
the time of an insert. Rows that stand in one statement as VALUES are inserted one behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dura.store.transaction import Transaction

_MOST: Final = 64
"""Rows in one statement; more gain nothing."""

_FEW: Final = 16
"""Up to so many rows have a statement of exactly their number: a connection keeps only so many statements prepared."""


class Insertion:
    """A statement that takes its rows as VALUES.

    Args:
        sql: The statement, with a `%s` where the rows belong.
        row: One of them, as in VALUES.
    """

    def __init__(self, sql: str, row: str) -> None:
        self._width = row.count("?")
        self._statements: Final = {
            rows: sql % ", ".join([row] * rows) for rows in (*range(1, _FEW + 1), _MOST)
        }
        """By the number of rows."""

    def execute(self, tx: Transaction, values: Sequence[Any]) -> int:
        """Insert rows, given as the values of the first, of the second, and so on. Returns how many were inserted."""
        left = len(values) // self._width
        if left in self._statements:
            return tx.execute(self._statements[left], values).rowcount
        at = inserted = 0
        while left:
            rows = _MOST if left >= _MOST else min(left, _FEW)
            until = at + rows * self._width
            inserted += tx.execute(self._statements[rows], values[at:until]).rowcount
            at, left = until, left - rows
        return inserted
