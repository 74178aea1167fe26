"""Arguments checked where they are given, so that nothing unusable reaches the store or fails later, far away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from inspect import iscoroutinefunction
from typing import TypeVar

from dura.clock import Clock, system_clock
from dura.errors import InvalidValue, StoreNotFound, shown

T = TypeVar("T")

RESERVED = "dura."
"""How the engine's own event names and state namespaces begin."""

_LARGEST = 2**63 - 1
"""The largest integer that SQLite keeps."""

_LONGEST = sys.float_info.max
"""The largest number of seconds; an int may be larger than any float."""


def path(value: str | os.PathLike[str], what: str) -> str:
    """Check the path of a file, and return it as text.

    Raises:
        InvalidValue: It is no path, or one that no file can have.
    """
    if isinstance(value, str | os.PathLike):
        found = os.fspath(value)
        if isinstance(found, str) and "\0" not in found and _encodable(found):
            return found
    raise InvalidValue(f"{what} must be a path, as text that a file's name can be, not {shown(value)}")


def absolute(found: str) -> str:
    """Where a path leads now, which is to stay so when the program changes its working folder.

    Raises:
        StoreNotFound: The working folder, from which it would lead, has been deleted.
    """
    try:
        return os.path.abspath(found)
    except FileNotFoundError as error:
        raise StoreNotFound(
            f"{found}: the working folder, where this path begins, has been deleted. Change to one that exists, or give "
            "the whole path.",
            path=found,
        ) from error


def _encodable(found: str) -> bool:
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        return False
    return True


def optional_clock(value: Clock | None, what: str) -> Clock:
    """Check a clock; by default it is the machine's.

    Raises:
        InvalidValue: It is no function, or tells no time.
    """
    if value is None:
        return system_clock
    function(value, what)
    try:
        moment: object = value()
    except Exception as error:
        raise InvalidValue(f"{what} must return a datetime, and raised {shown(error)}") from error
    if not isinstance(moment, datetime):
        raise InvalidValue(f"{what} must return a datetime, not {shown(moment)}")
    return value


def text(value: str, what: str) -> str:
    """Check an id or a key to look for: text that UTF-8 can hold.

    Raises:
        InvalidValue: It is no text, or holds a lone surrogate.
    """
    if not isinstance(value, str):
        raise InvalidValue(f"{what} must be a str, not {type(value).__name__}: {shown(value)}")
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidValue(f"{what} is no valid Unicode text: {shown(value)}") from error
    return value


def name(value: str, what: str) -> str:
    """Check a name (of a task, step, queue, event, namespace or worker): non-empty text that UTF-8 can hold.

    Raises:
        InvalidValue: It is no text, empty, or holds a lone surrogate.
    """
    if not text(value, what):
        raise InvalidValue(f"{what} must not be empty")
    return value


def own_name(value: str, what: str) -> str:
    """`name`, for a name that users write to: the reserved prefix is refused.

    Raises:
        InvalidValue: It is no name, or begins with `dura.`.
    """
    if name(value, what).startswith(RESERVED):
        raise InvalidValue(
            f"{what} must not begin with {RESERVED!r}, which is reserved for the engine: {shown(value)}"
        )
    return value


def optional_text(value: str | None, what: str) -> str | None:
    """`name` or None."""
    return None if value is None else name(value, what)


def optional_moment(value: datetime | None, what: str) -> datetime | None:
    """Check a moment, or None; one without a zone is in UTC.

    Raises:
        InvalidValue: It is no datetime, or in UTC it is outside the calendar.
    """
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidValue(f"{what} must be a datetime, not {shown(value)}")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidValue(f"{what} is outside the calendar in UTC: {value.isoformat()}") from error


def seconds(value: float, what: str, *, positive: bool = False) -> float:
    """Check a duration: a finite number of seconds, above zero if `positive`.

    Raises:
        InvalidValue: It is no number, not finite, or not above zero.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LONGEST <= value <= _LONGEST:
        raise InvalidValue(f"{what} must be a finite number of seconds, not {shown(value)}")
    if positive and value <= 0:
        raise InvalidValue(f"{what} must be > 0 seconds, not {shown(value)}")
    return value


def whole(value: int, what: str, *, least: int | None = None) -> int:
    """Check a whole number that SQLite can keep, at least `least` if given.

    Raises:
        InvalidValue: It is no int, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidValue(f"{what} must be a whole number, not {shown(value)}")
    if not -_LARGEST - 1 <= value <= _LARGEST:
        raise InvalidValue(f"{what} does not fit 64 bits: {shown(value)}")
    if least is not None and value < least:
        raise InvalidValue(f"{what} must be {least} or more, not {shown(value)}")
    return value


def permissions(value: int, what: str) -> int:
    """Check the permissions of a store's file: bits of 0o666, and the owner's two among them.

    Raises:
        InvalidValue: It is no int, or no store could be used with it; the message says why.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidValue(f"{what} must be permissions such as 0o660, not {shown(value)}")
    if not 0 <= value <= 0o777:
        raise InvalidValue(
            f"{what} must be permissions between 0o600 and 0o666, not {shown(value)}: write them in octal, as in 0o660"
        )
    if value & ~0o666:
        raise InvalidValue(
            f"{what} {value:#o} lets somebody execute the file; a store needs reading and writing only"
        )
    if value & 0o600 != 0o600:
        raise InvalidValue(f"{what} {value:#o} keeps the file from its own owner; it must hold 0o600")
    if value & 0o022 & ~(value >> 1):
        raise InvalidValue(
            f"{what} {value:#o} lets somebody write who may not read; nobody can use a store like that"
        )
    return value


def optional_whole(value: int | None, what: str, *, least: int) -> int | None:
    """`whole` or None."""
    return None if value is None else whole(value, what, least=least)


def listed(value: Iterable[T], what: str) -> Iterable[T]:
    """Check that there are several of something, or none.

    Raises:
        InvalidValue: It is no list; one text is none.
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidValue(f"{what} must be a list, not {shown(value)}")
    return value


def several(value: Iterable[str], what: str) -> tuple[str, ...]:
    """Check a list of names; it may be empty.

    Raises:
        InvalidValue: It is no list (one text is none), or one of them is no name.
    """
    return tuple(name(each, what) for each in listed(value, what))


def names(value: str | Iterable[str] | None, what: str) -> tuple[str, ...] | None:
    """Check one name or several, each of which is returned once; None for no restriction.

    Raises:
        InvalidValue: One of them is no name, or there is none.
    """
    if value is None:
        return None
    found = (name(value, what),) if isinstance(value, str) else several(value, what)
    if not found:
        raise InvalidValue(f"{what} must name at least one; pass None for all")
    return tuple(dict.fromkeys(found))


def function(value: object, what: str) -> None:
    """Check a function that is to be called.

    Raises:
        InvalidValue: It cannot be called.
    """
    if not callable(value):
        raise InvalidValue(f"{what} must be a function, not {shown(value)}")


def optional_function(value: object, what: str) -> None:
    """`function` or None."""
    if value is not None:
        function(value, what)


def functions(value: Mapping[str, object], what: str) -> None:
    """Check a mapping from names to functions.

    Raises:
        InvalidValue: It is no mapping, or holds something that cannot be called, or that is asynchronous.
    """
    if not isinstance(value, Mapping):
        raise InvalidValue(f"{what} must map task names to functions, not be {shown(value)}")
    for key, each in value.items():
        name(key, f"a task's name in {what}")
        function(each, f"{what}[{shown(key)}]")
        if iscoroutinefunction(each):
            raise InvalidValue(
                f"{what}[{shown(key)}] must be a plain function, not an async one; call asyncio.run inside it"
            )
