"""Tasks by queue, name and state, from counters in the state namespace `dura.counts`, so that no count grows with the store.

Operations say which tasks went from which state to which (`Transaction.moved`), and the counters follow before the commit: once
for all that a transaction does, so that of many workers' turns each state costs one small write. In an upgraded file triggers
keep them (triggers.sql), since programs of 1.3.0 may still write there.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from typing import Final

from dura.store.transaction import Transaction

_MOVE: Final = "UPDATE state SET value = CAST(value + ? AS TEXT) WHERE namespace = 'dura.counts' AND key = ?"

_INSERT: Final = "INSERT INTO state (namespace, key, value, updated_at) VALUES ('dura.counts', ?, ?, ?)"

_keys: Final[dict[tuple[str, str, str], str]] = {}
"""What counters are called, for SQLite takes as long to say it as to find one."""

_MOST_KEYS: Final = 4096

_RECOUNT: Final = """
    SELECT json_array(queue, task_name, state), CAST(COUNT(*) AS TEXT), min(enqueue_at)
    FROM tasks GROUP BY queue, task_name, state
"""


def counts(connection: sqlite3.Connection) -> list[tuple[str, str, str, int]]:
    """(queue, name, state, count) of every combination that has tasks, in that order."""
    rows = connection.execute("SELECT key, CAST(value AS INTEGER) FROM state WHERE namespace = 'dura.counts'")
    return sorted((*json.loads(key), count) for key, count in rows if count > 0)


def keep(tx: Transaction) -> None:
    """Let the counters follow what the transaction has done, unless the file's triggers have."""
    if not tx.link.triggers_count:
        more: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        for (queue, name, before, after), tasks in tx.moves.items():
            if before is not None:
                more[queue, name, before] -= tasks
            if after is not None:
                more[queue, name, after] += tasks
        for counted, by in more.items():
            if by:
                key = _key(tx, counted)
                if tx.changes(_MOVE, (by, key)) == 0:
                    tx.execute(_INSERT, (key, str(by), tx.now))
    tx.moves.clear()


def _key(tx: Transaction, counted: tuple[str, str, str]) -> str:
    """What the counter is called: as SQLite writes it, also where triggers do."""
    key = _keys.get(counted)
    if key is None:
        (key,) = tx.execute("SELECT json_array(?, ?, ?)", counted).fetchone()
        if len(_keys) >= _MOST_KEYS:
            _keys.clear()
        _keys[counted] = key
    return key


def rebuild(tx: Transaction) -> None:
    """Count all tasks anew; the cost grows with the store."""
    tx.moves.clear()
    tx.execute("DELETE FROM state WHERE namespace = 'dura.counts'")
    tx.executemany(
        _INSERT,
        tx.execute(_RECOUNT).fetchall(),
    )


def wrong(connection: sqlite3.Connection) -> list[str]:
    """Keys of counters that differ from what counting finds; empty unless something else than dura wrote."""
    found = {key: value for key, value, _ in connection.execute(_RECOUNT)}
    kept = dict(
        connection.execute(
            "SELECT key, value FROM state WHERE namespace = 'dura.counts' AND value != '0'"
        ).fetchall()
    )
    return sorted(key for key in found.keys() | kept.keys() if found.get(key) != kept.get(key))


def forget_zeros(tx: Transaction, most: int, *, after: str) -> str | None:
    """Remove, among the next `most` counters by key, those of combinations that have no tasks any more.

    Args:
        tx: The transaction.
        most: How many to look at.
        after: The last key that was looked at; at first the empty text.

    Returns:
        The last key that was looked at; None: there are no more.
    """
    found = tx.execute(
        "SELECT key, value FROM state WHERE namespace = 'dura.counts' AND key > ? ORDER BY key LIMIT ?",
        (after, most),
    ).fetchall()
    tx.executemany(
        "DELETE FROM state WHERE namespace = 'dura.counts' AND key = ?",
        [(key,) for key, value in found if value == "0"],
    )
    return found[-1][0] if found else None
