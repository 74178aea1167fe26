"""What a damaged page can make of a cell: values that the schema forbids, written past its rules."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from conftest import TABLES

VALUES: Final = (
    None,
    7,
    -1,
    1e300,
    b"\xff\x00",
    "",
    "no such thing",
    '{"a": ',
    "[" * 5_000,
    "9999-99-99T99:99:99",
    "\ud83d",
)
"""What no column may hold, or not all of them may."""


def cells(path: Path) -> Iterator[tuple[str, str, int]]:
    """Every column of every table, with the number of the value to put there."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        for table in TABLES:
            for column in connection.execute(f"PRAGMA table_info({table})").fetchall():
                yield from ((table, column[1], number) for number in range(len(VALUES)))


def spoil(path: Path, table: str, column: str, number: int) -> None:
    """Put the value into the column, in every second row, as if neither the schema nor its triggers were there."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        ((strict,),) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        )
        _rewrite(
            connection,
            table,
            re.sub(r"(?<!IS )NOT NULL|\bSTRICT\b", "", re.sub(r"\b(TEXT|INTEGER)\b", "BLOB", strict)),
        )
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        with suppress(sqlite3.IntegrityError):  # a column of unique values: nothing is spoilt then
            value = "CAST(? AS TEXT)" if isinstance(VALUES[number], str) else "?"
            connection.execute(
                f"UPDATE {table} SET {column} = {value} WHERE rowid % 2 = 0", (_bytes(VALUES[number]),)
            )
        for _, sql in triggers:
            connection.execute(sql)
        _rewrite(connection, table, strict)


def _bytes(value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _rewrite(connection: sqlite3.Connection, table: str, sql: str) -> None:
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?", (sql, table))
    connection.execute("PRAGMA writable_schema=OFF")
