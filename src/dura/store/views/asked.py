"""What is asked of a look, checked where it is given: SQLite would take a wrong value for another question, or trip over it."""

from __future__ import annotations

import math
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from dura.checks import optional_moment, text, whole
from dura.errors import InvalidValue, shown


def check(asked: Any, kind: type, what: str) -> None:
    """Check that a record is of its kind, and each of its fields, and of theirs, of its own.

    Args:
        asked: The record.
        kind: A dataclass of fields that are text, whole numbers of zero or more, numbers, truth values, moments, such records,
            tuples of any of these, or optional.
        what: What it is called, for the error.

    Raises:
        InvalidValue: A value is of another kind or out of range. The message names the field.
    """
    if not isinstance(asked, kind):
        raise InvalidValue(f"{what} must be a {kind.__name__}, not {shown(asked)}")
    for field, hint in _fields(kind).items():
        _check(getattr(asked, field), hint, f"{what}.{field}")


@cache
def _fields(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _check(value: Any, hint: Any, what: str) -> None:
    alternatives = get_args(hint)
    if get_origin(hint) is tuple:
        any_number = alternatives[-1] is ...
        if not isinstance(value, tuple) or (not any_number and len(value) != len(alternatives)):
            raise InvalidValue(
                f"{what} must be a tuple{'' if any_number else f' of {len(alternatives)}'}, not {shown(value)}"
            )
        for number, each in enumerate(value):
            _check(each, alternatives[0 if any_number else number], f"{what}[{number}]")
    elif NoneType in alternatives:
        if value is not None:
            _check(value, alternatives[0], what)
    elif is_dataclass(hint):
        check(value, hint, what)  # type: ignore[arg-type]  # a hint is a class, not an instance
    elif hint is str:
        text(value, what)
    elif hint is int:
        whole(value, what, least=0)
    elif hint is bool:
        if not isinstance(value, bool):
            raise InvalidValue(f"{what} must be True or False, not {shown(value)}")
    elif hint is datetime:
        optional_moment(value, what)
    elif isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise InvalidValue(f"{what} must be a finite number, not {shown(value)}")


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
