"""What was said and what is remembered: emitted events, the key-value memory, and the audit that lies in it."""

from __future__ import annotations

import sqlite3
from typing import Final

from dura.records import EventRow, NamespaceRow, StateRow
from dura.store.audit import NAMESPACE as AUDIT
from dura.store.views.look import VALUE_LIMIT, Look, like, moment_of, shown, shown_or_none

_MOST_NAMESPACES: Final = 1_000
_MOST_COUNTED: Final = 10_000
"""Keys of one namespace that are counted."""


def events(look: Look, limit: int, part: str | None) -> tuple[EventRow, ...]:
    """Emitted events, the latest first.

    Args:
        look: The look.
        limit: How many at most.
        part: A part of the name, in any case of ASCII letters; None for all.
    """
    pattern = None if part is None else like(part)
    rows = look.rows(
        r"""
        SELECT event_name, substr(payload, 1, ?) AS payload, emitted_at, emitted_by FROM events
        WHERE rowid < ? AND (? IS NULL OR event_name LIKE ? ESCAPE '\') ORDER BY rowid DESC LIMIT ?
        """,
        (VALUE_LIMIT + 1, 2**63 - 1, pattern, pattern, limit),
    )
    return tuple(map(_event, rows))


def event(look: Look, name: str) -> EventRow | None:
    """The emitted event of exactly this name; None if there is none."""
    row = look.first(
        "SELECT event_name, substr(payload, 1, ?) AS payload, emitted_at, emitted_by FROM events WHERE event_name = ?",
        (VALUE_LIMIT + 1, name),
    )
    return _event(row) if row else None


def _event(row: sqlite3.Row) -> EventRow:
    return EventRow(
        event_name=row["event_name"],
        payload=shown_or_none(row["payload"]),
        emitted_at=moment_of(row["emitted_at"]),
        emitted_by=row["emitted_by"],
    )


def namespaces(look: Look) -> tuple[NamespaceRow, ...]:
    """Namespaces of the memory by name, the engine's own (`dura.…`) among them, with how many keys each has."""
    found: list[NamespaceRow] = []
    name: str | None = ""
    while name is not None and len(found) < _MOST_NAMESPACES:
        row = look.first(
            "SELECT namespace FROM state WHERE namespace > ? ORDER BY namespace LIMIT 1", (name,)
        )
        name = row[0] if row else None
        if row:
            counted = look.first(
                "SELECT COUNT(*) FROM (SELECT 1 FROM state WHERE namespace = ? LIMIT ?)",
                (name, _MOST_COUNTED),
            )
            keys = counted[0] if counted else 0
            found.append(
                NamespaceRow(namespace=row[0], keys=keys, capped=keys == _MOST_COUNTED or not counted)
            )
    return tuple(found)


def keys(look: Look, namespace: str, limit: int, part: str | None = None) -> tuple[StateRow, ...]:
    """A namespace's keys and values, by key; only keys that hold the part, in any case of ASCII letters."""
    pattern = None if part is None else like(part)
    return _state(
        look.rows(
            r"""
            SELECT namespace, key, substr(value, 1, ?) AS value, updated_at FROM state
            WHERE namespace = ? AND (? IS NULL OR key LIKE ? ESCAPE '\') ORDER BY key LIMIT ?
            """,
            (VALUE_LIMIT + 1, namespace, pattern, pattern, limit),
        )
    )


def one_key(look: Look, namespace: str, key: str) -> tuple[StateRow, ...]:
    """One key with its value in full; empty if there is none."""
    rows = look.rows(
        "SELECT namespace, key, value, updated_at FROM state WHERE namespace = ? AND key = ?",
        (namespace, key),
    )
    return _state(rows, value_limit=None)


def audit(look: Look, limit: int) -> tuple[StateRow, ...]:
    """What operators did, the latest first; values as `dura.store.audit` writes them."""
    return _state(
        look.rows(
            "SELECT namespace, key, substr(value, 1, ?) AS value, updated_at FROM state WHERE namespace = ? "
            "ORDER BY key DESC LIMIT ?",
            (VALUE_LIMIT + 1, AUDIT, limit),
        )
    )


def _state(rows: list[sqlite3.Row], value_limit: int | None = VALUE_LIMIT) -> tuple[StateRow, ...]:
    return tuple(
        StateRow(
            namespace=row["namespace"],
            key=row["key"],
            value=row["value"] if value_limit is None else shown(row["value"], value_limit),
            updated_at=moment_of(row["updated_at"]),
        )
        for row in rows
    )
