"""Tasks by queue, name and state, from counters that triggers keep (indexes.sql) in the state namespace `dura.counts`.

A counter costs a transition one small write and makes every count independent of the store's size.
"""

from __future__ import annotations

import json
import sqlite3

from dura.store.connections import Transaction

_RECOUNT = """
    SELECT json_array(queue, task_name, state), CAST(COUNT(*) AS TEXT), min(enqueue_at)
    FROM tasks GROUP BY queue, task_name, state
"""


def counts(connection: sqlite3.Connection) -> list[tuple[str, str, str, int]]:
    """(queue, name, state, count) of every combination that has tasks, in that order."""
    rows = connection.execute("SELECT key, CAST(value AS INTEGER) FROM state WHERE namespace = 'dura.counts'")
    return sorted((*json.loads(key), count) for key, count in rows if count > 0)


def rebuild(tx: Transaction) -> None:
    """Count all tasks anew; the cost grows with the store."""
    tx.execute("DELETE FROM state WHERE namespace = 'dura.counts'")
    tx.connection.executemany(
        "INSERT INTO state (namespace, key, value, updated_at) VALUES ('dura.counts', ?, ?, ?)",
        tx.execute(_RECOUNT).fetchall(),
    )


def wrong(connection: sqlite3.Connection) -> list[str]:
    """Keys of counters that differ from what counting finds; empty unless something wrote around the triggers."""
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
