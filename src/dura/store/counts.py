"""Tasks by queue, name and state, from counters in the state namespace `dura.counts`, so that no count grows with the store.

Operations say which tasks went from which state to which (`Transaction.moved`), and the counters follow before the commit: once
for all that a transaction does, so that of many workers' turns each state costs one small write. In an upgraded file triggers
keep them (triggers.sql), since programs of 1.3.0 may still write there.
"""

from __future__ import annotations

import json
import sqlite3

from dura.store.transaction import Transaction

_RECOUNT = """
    SELECT json_array(queue, task_name, state), CAST(COUNT(*) AS TEXT), min(enqueue_at)
    FROM tasks GROUP BY queue, task_name, state
"""


def counts(connection: sqlite3.Connection) -> list[tuple[str, str, str, int]]:
    """(queue, name, state, count) of every combination that has tasks, in that order."""
    rows = connection.execute("SELECT key, CAST(value AS INTEGER) FROM state WHERE namespace = 'dura.counts'")
    return sorted((*json.loads(key), count) for key, count in rows if count > 0)


def keep(tx: Transaction) -> None:
    """Let the counters follow what the transaction has done, unless the file's triggers have."""
    if tx.moves and not tx.link.triggers_count:
        tx.connection.executemany(
            """
            INSERT INTO state (namespace, key, value, updated_at) VALUES ('dura.counts', json_array(?, ?, ?), ?, ?)
            ON CONFLICT (namespace, key) DO UPDATE SET value = CAST(value + excluded.value AS TEXT)
            """,
            [(*counted, str(more), tx.now) for counted, more in tx.moves.items() if more],
        )
    tx.moves.clear()


def rebuild(tx: Transaction) -> None:
    """Count all tasks anew; the cost grows with the store."""
    tx.moves.clear()
    tx.execute("DELETE FROM state WHERE namespace = 'dura.counts'")
    tx.connection.executemany(
        "INSERT INTO state (namespace, key, value, updated_at) VALUES ('dura.counts', ?, ?, ?)",
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
    tx.connection.executemany(
        "DELETE FROM state WHERE namespace = 'dura.counts' AND key = ?",
        [(key,) for key, value in found if value == "0"],
    )
    return found[-1][0] if found else None
