"""The audit by page: what operators did, the latest first, filtered by who, what, to which target and why.

The entries are walked along their keys, which are in the order of time. A walk that runs out of time hands back what it has
found, and the next page goes on from where it stopped.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any, Final

from dura.records import AuditPage, AuditQuery, AuditRow
from dura.store.audit import NAMESPACE
from dura.store.views.look import Look, OutOfTimeError, json_of, moment_of, shown

_LARGEST_PAGE: Final = 1_000
_AFTER_ALL_KEYS: Final = chr(0x10FFFF)


def audit_page(look: Look, query: AuditQuery) -> AuditPage:
    """A page of entries."""
    limit = min(max(query.limit, 1), _LARGEST_PAGE)
    entries: list[AuditRow] = []
    last = query.after
    rows = look.stream(
        "SELECT key, value, updated_at FROM state WHERE namespace = ? AND key < ? ORDER BY key DESC",
        (NAMESPACE, query.after or _AFTER_ALL_KEYS),
    )
    with closing(rows):
        try:
            for row in rows:
                entry = _entry(row)
                if _matches(entry, query):
                    if len(entries) == limit:
                        return AuditPage(query=query, entries=tuple(entries), next_page=last)
                    entries.append(entry)
                last = entry.key
        except OutOfTimeError:
            return AuditPage(query=query, entries=tuple(entries), next_page=last)
    return AuditPage(query=query, entries=tuple(entries), next_page=None)


def _entry(row: sqlite3.Row) -> AuditRow:
    decoded = json_of(row["value"])
    entry: dict[str, Any] = decoded if isinstance(decoded, dict) else {}
    return AuditRow(
        key=row["key"],
        at=moment_of(row["updated_at"]),
        actor=str(entry.get("actor") or ""),
        action=str(entry.get("action") or ""),
        target=str(entry.get("target") or ""),
        run_id=_text(entry, "run_id"),
        before=_text(entry, "before"),
        after=_text(entry, "after"),
        reason=_text(entry, "reason"),
        value=shown(row["value"]),
    )


def _text(entry: dict[str, Any], name: str) -> str | None:
    value = entry.get(name)
    return None if value is None else str(value)


def _matches(entry: AuditRow, query: AuditQuery) -> bool:
    said = " ".join(part for part in (entry.reason, entry.before, entry.after) if part)
    return (
        _holds(entry.actor, query.actor)
        and _holds(entry.action, query.action)
        and (_holds(entry.target, query.target) or _holds(entry.run_id or "", query.target))
        and _holds(said, query.text)
    )


def _holds(text: str, part: str | None) -> bool:
    return part is None or part.lower() in text.lower()
