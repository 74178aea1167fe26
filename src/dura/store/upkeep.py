"""Upkeep of the whole file: looking for damage, and rewriting it compactly. All of it reads everything."""

from __future__ import annotations

import sqlite3
from typing import Final

from dura.records import Finding
from dura.store.counts import wrong
from dura.store.invariants import exceptions

COUNTERS: Final = "the counters agree with the tasks"
"""The one rule whose breach can be repaired from the rest of the store."""


def findings(connection: sqlite3.Connection) -> tuple[Finding, ...]:
    """What SQLite's integrity check and the store's invariants find, in one read transaction or the one that is open."""
    begins = not connection.in_transaction
    if begins:
        connection.execute("BEGIN")
    try:
        damage = [row[0] for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
        found = [Finding(rule="SQLite's integrity check passes", breaches=tuple(damage))] if damage else []
        found += [Finding(rule=rule, breaches=tuple(ids)) for rule, ids in exceptions(connection)]
        miscounted = wrong(connection)
        if miscounted:
            found.append(Finding(rule=COUNTERS, breaches=tuple(miscounted[:20])))
    finally:
        if begins:
            connection.execute("ROLLBACK")
    return tuple(found)


def compact(connection: sqlite3.Connection) -> tuple[int, int]:
    """VACUUM, with the file made to give freed pages back from then on. Returns its size before and after, in bytes."""
    before = _size(connection)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    connection.execute("PRAGMA temp_store=FILE")
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store=MEMORY")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return before, _size(connection)


def _size(connection: sqlite3.Connection) -> int:
    pages, page_size = (
        connection.execute(f"PRAGMA {fact}").fetchone()[0] for fact in ("page_count", "page_size")
    )
    return int(pages * page_size)
