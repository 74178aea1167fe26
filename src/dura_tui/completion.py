"""What a filter line may go on with: fields, then the values that are known of the field. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dura.filters import FIELDS, Kind, quoted

Words = Mapping[str, Sequence[str]]
"""Known values by field."""

_MOST: Final = 50
_FIELD: Final = re.compile(r"(-?)([A-Za-z_]+)(:|>=|<=|>|<)")


@dataclass(frozen=True, slots=True)
class Completion:
    """What may stand in the place of a part of the line."""

    start: int
    """Where that part begins; it ends at the cursor."""
    candidates: tuple[str, ...]
    """The likeliest first."""


def complete(line: str, cursor: int, fields: Sequence[str], words: Words) -> Completion:
    """What the word before the cursor may become.

    Args:
        line: The line as typed so far.
        cursor: A place in it.
        fields: The fields that the list has.
        words: The values that are known.
    """
    start = _word_start(line[:cursor])
    word = line[start:cursor]
    head = _FIELD.match(word)
    if head is None or head[2].lower() not in fields:
        return Completion(start, _fields(word, fields))
    values = head.end() + _value_start(word[head.end() :])
    stem = word[values:].removeprefix('"').removesuffix('"').lower()
    known = words.get(head[2].lower(), ())
    begin = [value for value in known if value.lower().startswith(stem)]
    inside = [value for value in known if stem in value.lower() and value not in begin]
    return Completion(start + values, tuple(quoted(value) for value in (begin + inside)[:_MOST]))


def _fields(word: str, fields: Sequence[str]) -> tuple[str, ...]:
    minus = "-" if word.startswith("-") else ""
    stem = word.removeprefix("-").lower()
    return tuple(
        f"{minus}{name}{'>' if FIELDS[name].kind in (Kind.AGE, Kind.COUNT) else ':'}"
        for name in fields
        if name.startswith(stem)
    )


def _word_start(text: str) -> int:
    """Where the last word begins; spaces in quotes part no words."""
    start, quote = 0, False
    for place, character in enumerate(text):
        if character == '"' and (quote or place == start or text[place - 1] in ":<>=,"):
            quote = not quote
        elif character.isspace() and not quote:
            start = place + 1
    return start


def _value_start(text: str) -> int:
    """Where the last of several values begins."""
    start, quote = 0, False
    for place, character in enumerate(text):
        if character == '"':
            quote = not quote
        elif character == "," and not quote:
            start = place + 1
    return start
