"""The key-value memory: namespaced JSON values that outlive every task and that no cleanup touches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from dura.store.connections import Transaction


def get(connection: sqlite3.Connection, namespace: str, key: str) -> str | None:
    """The value (JSON), or None if there is none."""
    row = connection.execute(
        "SELECT value FROM state WHERE namespace = ? AND key = ?", (namespace, key)
    ).fetchone()
    return None if row is None else row[0]


def has(connection: sqlite3.Connection, namespace: str) -> bool:
    """Whether the namespace has any key."""
    return (
        connection.execute("SELECT 1 FROM state WHERE namespace = ? LIMIT 1", (namespace,)).fetchone()
        is not None
    )


def items(connection: sqlite3.Connection, namespace: str) -> list[tuple[str, str]]:
    """All keys and values (JSON) of the namespace, by key."""
    return connection.execute(
        "SELECT key, value FROM state WHERE namespace = ? ORDER BY key", (namespace,)
    ).fetchall()


def put(tx: Transaction, namespace: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Set keys to values (JSON), replacing what they had."""
    tx.connection.executemany(
        "INSERT INTO state (namespace, key, value, updated_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        ((namespace, key, value, tx.now) for key, value in pairs),
    )


def delete(tx: Transaction, namespace: str, key: str) -> bool:
    """Delete a key. Returns whether it existed."""
    return tx.changes("DELETE FROM state WHERE namespace = ? AND key = ?", (namespace, key)) > 0
