"""Records as JSON documents: field names as the records have them, times as ISO text, stored values decoded.

A stored value that was cut for its length, or is no JSON (dura 1.3.0 kept NaN), stays the text it is; its place is listed
under `as_text`, so that a script can tell it from a JSON string.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Final

from dura.cli.exits import CommandFailed
from dura.clock import to_text
from dura.records import AttemptRow, CheckpointRow, EventRow, FailureInfo, Lease, StateRow, TaskDetail

_STORED: Final[dict[type, frozenset[str]]] = {
    AttemptRow: frozenset({"failure_reason"}),
    CheckpointRow: frozenset({"value"}),
    EventRow: frozenset({"payload"}),
    StateRow: frozenset({"value"}),
    TaskDetail: frozenset({"params", "result", "retry"}),
}
"""Fields that hold JSON text from the store."""

_DECODED: Final[dict[type, frozenset[str]]] = {FailureInfo: frozenset({"failure_reason"})}
"""Fields that the monitor has decoded, perhaps to what is no JSON."""

_DERIVED: Final[dict[type, tuple[str, ...]]] = {
    CheckpointRow: ("timed_out",),
    Lease: ("fails_at_expiry",),
}
"""Properties that say something no field says by itself."""


def document(record: Any = None, **parts: Any) -> dict[str, Any]:
    """A document of named parts, and the fields of a record beside them if one is given.

    Args:
        record: A record whose fields stand at the document's top.
        **parts: Records, tuples of them, or plain values.
    """
    as_text: list[str] = []
    made = {name: _plain(part, name, as_text) for name, part in parts.items()}
    if record is not None:
        made |= _fields(record, "", as_text)
    return {**made, "as_text": as_text}


def to_json(value: Any) -> str:
    """A document as JSON text, in ASCII so that it passes every terminal and pipe unchanged."""
    # Indentation is done in Python, which nests less deeply than what the store can hold.
    for indent in (2, None):
        try:
            return json.dumps(value, indent=indent, allow_nan=False)
        except RecursionError:
            continue
    raise CommandFailed("a stored value is nested too deeply to be printed as JSON; leave out --json")


def decode_strictly(text: str) -> Any:
    """Decode JSON text, without what Python allows beyond JSON.

    Raises:
        ValueError: It is no JSON, or holds NaN, an infinity, or nesting beyond reason.
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _plain(value: Any, place: str, as_text: list[str]) -> Any:
    if isinstance(value, datetime):
        return to_text(value)
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{index}]", as_text) for index, item in enumerate(value)]
    if is_dataclass(value):
        return _fields(value, f"{place}.", as_text)
    return value


def _fields(record: Any, prefix: str, as_text: list[str]) -> dict[str, Any]:
    kind = type(record)
    made = {}
    for name in (field.name for field in fields(record)):
        place, value = f"{prefix}{name}", getattr(record, name)
        if name in _STORED.get(kind, ()):
            made[name] = _decoded(value, place, as_text)
        elif name in _DECODED.get(kind, ()):
            made[name] = _decoded(json.dumps(value), place, as_text)
        else:
            made[name] = _plain(value, place, as_text)
    for name in _DERIVED.get(kind, ()):
        made[name] = getattr(record, name)
    return made


def _decoded(text: str | None, place: str, as_text: list[str]) -> Any:
    if text is None:
        return None
    try:
        return decode_strictly(text)
    except ValueError:
        as_text.append(place)
        return text


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large for a number")
    return value
