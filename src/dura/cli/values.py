"""What the values of arguments must look like: each takes what was typed, and says in a line what is wrong with it."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Final

from dura.durations import parse_duration
from dura.errors import InvalidFilter
from dura.filters import marked, parse
from dura.records import TASK_SORTS, Condition

_AGES: Final = {"age": "newest", "-age": "oldest"}

_LONGEST_LOCK_TIMEOUT: Final = 24 * 86_400
"""Seconds; of milliseconds SQLite counts as many as fit into 31 bits, hardly more."""


def text(value: str) -> str:
    """Text that UTF-8 can hold."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise argparse.ArgumentTypeError("this is no UTF-8 text") from error
    return value


def count(value: str) -> int:
    """A whole number of 1 or more."""
    try:
        number = int(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{value!r} is no whole number") from error
    if not 0 < number < 1_000_000_000:
        raise argparse.ArgumentTypeError(f"{value} is no number between 1 and 999999999")
    return number


def count_or_none(value: str) -> int:
    """A whole number of 0 or more."""
    return 0 if value == "0" else count(value)


def age(value: str) -> float:
    """A duration in seconds; a number needs its unit."""
    return _duration(value, bare_seconds=False)


def seconds(value: str) -> float:
    """A duration in seconds; a number alone is seconds."""
    return _duration(value, bare_seconds=True)


def some_seconds(value: str) -> float:
    """A duration in seconds, more than none."""
    some = seconds(value)
    if not some:
        raise argparse.ArgumentTypeError("a lease is extended by more than nothing")
    return some


def lock_timeout(value: str) -> float:
    """A duration in seconds for which SQLite can wait."""
    wait = seconds(value)
    if wait > _LONGEST_LOCK_TIMEOUT:
        raise argparse.ArgumentTypeError(f"{value!r} is longer than 24d, the longest wait for other writers")
    return wait


def moment(value: str) -> datetime:
    """ISO text; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no time as ISO text, such as 2026-01-31T09:30:00+00:00"
        ) from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def conditions(value: str) -> tuple[Condition, ...]:
    """Conditions in the filter language."""
    try:
        return parse(value)
    except InvalidFilter as error:
        raise argparse.ArgumentTypeError(marked(value, error)) from error


def sort(value: str) -> str:
    """An order of the task list, `-` before it for the other way round; `age` as the monitor calls it."""
    value = _AGES.get(value, value)
    if value.removeprefix("-") not in TASK_SORTS:
        raise argparse.ArgumentTypeError(f"there is no order {value!r}: use one of {', '.join(TASK_SORTS)}")
    return value


def _duration(value: str, *, bare_seconds: bool) -> float:
    try:
        return parse_duration(value, bare_seconds=bare_seconds)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
