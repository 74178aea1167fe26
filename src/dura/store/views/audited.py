"""The audit by page: what operators did, the latest first, filtered by who, what, to which target and why.

The entries are walked along their keys, which are in the order of time. A walk that runs out of time hands back what it has
found, and the next page goes on from where it stopped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from typing import Any, Final

from dura.errors import InvalidValue
from dura.records import AuditPage, AuditQuery, AuditRow, Condition
from dura.store.audit import NAMESPACE
from dura.store.views.conditions import glob
from dura.store.views.look import Look, OutOfTimeError, json_of, moment_of, shown

_FIELDS: Final = ("actor", "action", "target", "text")
_LARGEST_PAGE: Final = 1_000
_AFTER_ALL_KEYS: Final = chr(0x10FFFF)


def audit_page(look: Look, query: AuditQuery) -> AuditPage:
    """A page of entries.

    Raises:
        InvalidValue: The query asks for a field that entries do not have.
    """
    limit = min(max(query.limit, 1), _LARGEST_PAGE)
    entries: list[AuditRow] = []
    last = query.after
    conditions = _conditions(query)
    rows = look.stream(
        "SELECT key, value, updated_at FROM state WHERE namespace = ? AND key < ? ORDER BY key DESC",
        (NAMESPACE, query.after or _AFTER_ALL_KEYS),
    )
    with closing(rows):
        try:
            for row in rows:
                entry = _entry(row)
                if _matches(entry, conditions):
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


def _matches(entry: AuditRow, conditions: Sequence[Condition]) -> bool:
    return all(_holds(entry, condition) != condition.negated for condition in conditions)


def _holds(entry: AuditRow, condition: Condition) -> bool:
    texts: dict[str, tuple[str | None, ...]] = {
        "actor": (entry.actor,),
        "action": (entry.action,),
        "target": (entry.target, entry.run_id),
        "text": (" ".join(part for part in (entry.reason, entry.before, entry.after) if part),),
    }
    return any(_alike(text or "", value) for text in texts[condition.field] for value in condition.values)


def _alike(text: str, value: str) -> bool:
    """Whether a text holds the value, in any case, or is all of it as a pattern."""
    text, value = text.lower(), value.lower()
    return fnmatchcase(text, glob(value)) if "*" in value else value in text


def _conditions(query: AuditQuery) -> tuple[Condition, ...]:
    asked = [
        Condition(field=field, values=(value,))
        for field in _FIELDS
        if (value := getattr(query, field)) is not None
    ]
    for condition in query.where:
        if condition.field not in _FIELDS:
            raise InvalidValue(f"the audit has no field {condition.field!r} to filter by")
    return (*asked, *query.where)
