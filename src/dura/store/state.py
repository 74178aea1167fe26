"""The key-value memory: namespaced JSON values that outlive every task and that no cleanup touches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from dura.clock import moment_or_never
from dura.errors import ActionRefused
from dura.store.transaction import Transaction

_SHOWN = 200
"""Characters of a value that a refusal carries."""


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
    tx.executemany(
        "INSERT INTO state (namespace, key, value, updated_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        ((namespace, key, value, tx.now) for key, value in pairs),
    )


def seen(tx: Transaction, namespace: str, key: str, seen_at: datetime | None, action: str) -> str | None:
    """The present value (JSON), None if there is none, for an operator who wants to change it.

    Args:
        tx: The change's transaction.
        namespace: The key's namespace.
        key: The key.
        seen_at: When the value that the operator saw was written; None: not compared.
        action: `set` or `delete`, for the message.

    Raises:
        ActionRefused: The key was written or deleted since.
    """
    row = tx.execute(
        "SELECT value, updated_at FROM state WHERE namespace = ? AND key = ?", (namespace, key)
    ).fetchone()
    if seen_at is not None and row is None:
        raise ActionRefused(
            f"cannot {action} {namespace}/{key}: the key has been deleted since. Look again.",
            present="deleted",
        )
    if seen_at is not None and moment_or_never(row[1]) != seen_at:
        # The message may be logged and shown: the value, which may be a secret, is for who asks for it.
        present = row[0] if len(row[0]) <= _SHOWN else row[0][:_SHOWN] + "…"
        raise ActionRefused(
            f"cannot {action} {namespace}/{key}: it was written again since, at {row[1]}. Look again.",
            present=present,
        )
    return None if row is None else row[0]


def delete(tx: Transaction, namespace: str, key: str) -> bool:
    """Delete a key. Returns whether it existed."""
    return tx.changes("DELETE FROM state WHERE namespace = ? AND key = ?", (namespace, key)) > 0
