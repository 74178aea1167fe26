"""Filter lines: of the task list `state:failed name:import_* queue:mail`, of the audit `actor:ann`; and free text. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from dura.records import AuditQuery, TaskQuery
from dura.states import State

FIELDS: Final = ("state", "name", "queue")
AUDIT_FIELDS: Final = ("actor", "action", "target")
SORTS: Final = ("newest", "oldest", "due", "priority", "attempts", "name")


def parse(text: str, query: TaskQuery) -> TaskQuery:
    """Read a filter line.

    Args:
        text: Words of the form `field:value`; the rest is free text, a part of an id, key or parameters. A value with
            spaces stands in quotes.
        query: The query whose sort and limit are kept; its page is not.

    Raises:
        ValueError: A field or state that does not exist; the message says which do.
    """
    fields, free = _read(text, FIELDS)
    if "state" in fields:
        fields["state"] = _state(fields["state"])
    return replace(
        query,
        state=fields.get("state"),
        name=fields.get("name"),
        queue=fields.get("queue"),
        text=free,
        after=None,
    )


def _read(text: str, known: Sequence[str]) -> tuple[dict[str, str], str | None]:
    """The fields of a filter line, and its free text.

    Raises:
        ValueError: A word looks like a misspelt field.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    fields: dict[str, str] = {}
    free: list[str] = []
    for word in words:
        field, colon, value = word.partition(":")
        if not colon or field not in known:
            if colon and (meant := get_close_matches(field, known, n=1, cutoff=0.7)):
                raise ValueError(f"no field {field!r}: did you mean {meant[0]}: ?")
            free.append(word)
        elif value:
            fields[field] = value
    return fields, " ".join(free) or None


def _state(prefix: str) -> str:
    matches = [state.value for state in State if state.value.startswith(prefix.lower())]
    if len(matches) != 1:
        raise ValueError(f"no state {prefix!r}: use one of {', '.join(State)}")
    return matches[0]


def to_line(query: TaskQuery) -> str:
    """The filter line that means this query."""
    return _line(query, FIELDS)


def parse_audit(text: str, limit: int) -> AuditQuery:
    """Read a filter line of the audit.

    Args:
        text: As for `parse`, with the fields `actor`, `action` and `target`; free text is a part of the reason.
        limit: Entries on a page.

    Raises:
        ValueError: A field that does not exist; the message says which is meant.
    """
    fields, free = _read(text, AUDIT_FIELDS)
    return AuditQuery(text=free, limit=limit, **fields)


def audit_line(query: AuditQuery) -> str:
    """The filter line that means this query."""
    return _line(query, AUDIT_FIELDS)


def _line(query: TaskQuery | AuditQuery, known: Sequence[str]) -> str:
    words = [f"{field}:{shlex.quote(value)}" for field in known if (value := getattr(query, field))]
    if query.text:
        words.append(query.text)
    return " ".join(words)
