r"""The filter language: from a line that somebody types to conditions on tasks, and back.

    state:failed name:import_*,export_* -queue:mail age>5m attempts>=2 error:timeout "free text"

Terms are separated by spaces and must all hold. A term is a field, a relation and a value; of several values, separated by
commas, any will do, and a `-` before the field turns the term round. Every other word is free text; the words are put
together again with one space between them. A value or word in double quotes is taken as it stands; in them `\"` and `\\`
stand for `"` and `\`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from typing import Final, NoReturn, TypeVar

from dura.durations import parse_duration
from dura.errors import InvalidFilter
from dura.records import Condition
from dura.states import State

Result = TypeVar("Result")

_LONGEST_LINE: Final = 4_000
_LONGEST_VALUE: Final = 1_000
_LONGEST_WORD: Final = 60
"""Characters of a state, an age or a number."""

_MOST_TERMS: Final = 40
_MOST_VALUES: Final = 100
_LARGEST_COUNT: Final = 1_000_000_000


class Kind(Enum):
    """How a field is compared."""

    WHOLE = "whole"
    """As a whole, or with a pattern."""
    PART = "part"
    """By a part of it, or as a whole with a pattern."""
    STATE = "state"
    """One of the states, which may be shortened."""
    AGE = "age"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the language."""

    kind: Kind
    about: str
    """What it is, in a few words."""


FIELDS: Final[Mapping[str, Field]] = {
    "name": Field(Kind.WHOLE, "the task's name; * matches anything"),
    "queue": Field(Kind.WHOLE, "its queue; * matches anything"),
    "state": Field(Kind.STATE, "its state, or how that begins"),
    "id": Field(Kind.PART, "part of its id, or the whole id of its latest run"),
    "key": Field(Kind.PART, "part of its idempotency key"),
    "error": Field(Kind.PART, "part of the type or message of its latest failure"),
    "step": Field(Kind.WHOLE, "the step that it is at"),
    "age": Field(Kind.AGE, "since it was spawned: age>5m, age<1h30m"),
    "attempts": Field(Kind.COUNT, "how many it has had: attempts>2, attempts:1"),
    "worker": Field(Kind.WHOLE, "who holds it, or held it last; * matches anything"),
    "event": Field(Kind.PART, "part of the event's name that it sleeps on"),
    "actor": Field(Kind.PART, "part of who acted"),
    "action": Field(Kind.PART, "part of what they did"),
    "target": Field(Kind.PART, "part of the task's or run's id, or of the event's name"),
}
"""All fields; what a list has of them is its own affair."""

TASK_FIELDS: Final = (
    "name", "queue", "state", "id", "key", "error", "step", "age", "attempts", "worker", "event",
)  # fmt: skip
"""The fields of tasks."""

_TERM: Final = re.compile(r"(-?)([A-Za-z_]+)(:|>=|<=|>|<)")
_RELATIONS: Final = frozenset({":", ">", ">=", "<", "<="})
_CLOSE: Final = 0.7


def parse(line: str, fields: Sequence[str] = TASK_FIELDS) -> tuple[Condition, ...]:
    """Read a filter line.

    Args:
        line: As somebody typed it; empty for no condition.
        fields: The fields that there are; by default those of tasks.

    Returns:
        The conditions in the order of their terms, that on free text last.

    Raises:
        InvalidFilter: It means nothing. The error says where, and what would.
    """
    return _Reading(line, fields).conditions()


def to_line(conditions: Iterable[Condition], fields: Sequence[str] = TASK_FIELDS) -> str:
    """The canonical line that means these conditions, of which one at most is on free text.

    `parse` with the same fields reads it as the same conditions.
    """
    found = tuple(conditions)
    terms = [_written(condition) for condition in found if condition.field != "text"]
    terms += [_written_text(text, fields) for text in texts(found)]
    return " ".join(terms)


def marked(line: str, error: InvalidFilter) -> str:
    """The error in three lines: what it says, the filter, and below it a mark under what is wrong."""
    shown = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line
    )
    return f"{error}\n  {shown}\n  {' ' * error.start}{'^' * max(error.end - error.start, 1)}"


def texts(conditions: Iterable[Condition]) -> list[str]:
    """The free texts among conditions."""
    return [value for condition in conditions if condition.field == "text" for value in condition.values]


def quoted(value: str) -> str:
    """A value as a term holds it: in quotes where it would otherwise be read as something else."""
    plain = value and not value.startswith('"') and not re.search(r"[\s,]", value)
    return value if plain else _in_quotes(value)


# --- reading ----------------------------------------------------------------------------------------------------------


class _Reading:
    """A line, and how far it is read."""

    def __init__(self, line: str, fields: Sequence[str]) -> None:
        self.line = line
        self.fields = fields
        self.at = 0

    def conditions(self) -> tuple[Condition, ...]:
        if len(self.line) > _LONGEST_LINE:
            self._refuse(f"a filter has at most {_LONGEST_LINE:,} characters", _LONGEST_LINE)
        if broken := re.search(r"[\ud800-\udfff]", self.line):
            self._refuse("this is no UTF-8 text", broken.start())
        found: list[Condition] = []
        words: list[str] = []
        first_word = 0
        while self._skip_spaces():
            start = self.at
            if len(found) == _MOST_TERMS:
                self._refuse(f"a filter has at most {_MOST_TERMS} terms", start)
            term = self._field()
            if term is not None:
                found.append(self._condition(term, start))
            else:
                first_word = first_word if words else start
                words.append(self._word())
        if any(words):
            text = " ".join(words)
            if len(text) > _LONGEST_VALUE:
                self._refuse(f"a search text has at most {_LONGEST_VALUE:,} characters", first_word)
            found.append(Condition(field="text", values=(text,)))
        return tuple(found)

    def _refuse(self, message: str, start: int, end: int | None = None) -> NoReturn:
        raise InvalidFilter(message, start=start, end=len(self.line) if end is None else end)

    def _skip_spaces(self) -> bool:
        """Whether anything comes after them."""
        while self.at < len(self.line) and self.line[self.at].isspace():
            self.at += 1
        return self.at < len(self.line)

    def _field(self) -> re.Match[str] | None:
        """The beginning of a term at this place; None if a word stands here."""
        term = _TERM.match(self.line, self.at)
        if term is None:
            return None
        name, named = term[2].lower(), term.start(2)
        if name in self.fields:
            return term
        has = f"there are {', '.join(self.fields)}" if self.fields else "this list has only free text"
        if name in FIELDS:
            self._refuse(f"this list has no field {name}: {has}", named, term.end(2))
        if meant := get_close_matches(name, self.fields, n=1, cutoff=_CLOSE):
            self._refuse(
                f"no field {name}: did you mean {meant[0]}? In double quotes it is free text",
                named,
                term.end(2),
            )
        return None

    def _condition(self, term: re.Match[str], start: int) -> Condition:
        name, relation = term[2].lower(), term[3]
        kind = FIELDS[name].kind
        self.at = term.end()
        if kind not in (Kind.AGE, Kind.COUNT) and relation != ":":
            self._refuse(f"{name} is not measured: write {name}: and a value", term.start(3), term.end(3))
        if kind is Kind.AGE and relation == ":":
            self._refuse(
                "an age is compared with > or <: write for example age>5m", term.start(3), term.end(3)
            )
        values = [self._value(name)]
        while self.at < len(self.line) and self.line[self.at] == ",":
            self.at += 1
            values.append(self._value(name))
        if self.at < len(self.line) and not self.line[self.at].isspace():
            self._refuse(
                'after a closing quote comes a space or a comma; write \\" for a quote inside', self.at
            )
        if len(values) > _MOST_VALUES:
            self._refuse(f"a term has at most {_MOST_VALUES} values", start, self.at)
        if kind in (Kind.AGE, Kind.COUNT):
            if len(values) > 1:
                self._refuse(f"{name} is compared with one value", term.end(), self.at)
            read = _seconds if kind is Kind.AGE else _count
            return Condition(
                field=name, relation=relation, amount=self._read(read, values[0]), negated=bool(term[1])
            )
        if kind is Kind.STATE:
            return Condition(
                field=name, values=tuple(self._read(_state, value) for value in values), negated=bool(term[1])
            )
        return Condition(field=name, values=tuple(value.text for value in values), negated=bool(term[1]))

    def _read(self, read: Callable[[str], Result], value: _Value) -> Result:
        if len(value.text) > _LONGEST_WORD:
            self._refuse("this is too long for a value here", value.start, value.end)
        try:
            return read(value.text)
        except ValueError as error:
            raise InvalidFilter(str(error), start=value.start, end=value.end) from None

    def _value(self, name: str) -> _Value:
        start = self.at
        if self.line[start : start + 1] == '"':
            text = self._quoted()
        else:
            while self.at < len(self.line) and not self.line[self.at].isspace() and self.line[self.at] != ",":
                self.at += 1
            text = self.line[start : self.at]
        if not text:
            self._refuse(
                f"{name} needs a value: {FIELDS[name].about}", max(start - 1, 0), max(self.at, start)
            )
        if len(text) > _LONGEST_VALUE:
            self._refuse(f"a value has at most {_LONGEST_VALUE:,} characters", start, self.at)
        return _Value(text, start, self.at)

    def _word(self) -> str:
        start = self.at
        if self.line[start] == '"':
            text = self._quoted()
            if self.at == len(self.line) or self.line[self.at].isspace():
                return text
            # Quotes that belong to the text, as JSON has them.
            self.at = start
        while self.at < len(self.line) and not self.line[self.at].isspace():
            self.at += 1
        word = self.line[start : self.at]
        if word in _RELATIONS:
            self._refuse(f"no spaces around {word}: write for example age>5m", start, self.at)
        return word

    def _quoted(self) -> str:
        """What stands in the quotes that open here."""
        opened = self.at
        text: list[str] = []
        self.at += 1
        while (character := self.line[self.at : self.at + 1]) != '"':
            if not character:
                self._refuse("this quote is not closed", opened)
            self.at += 1
            if character == "\\" and self.line[self.at : self.at + 1] in ('"', "\\"):
                character = self.line[self.at]
                self.at += 1
            text.append(character)
        self.at += 1
        return "".join(text)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value, and where it stands."""

    text: str
    start: int
    end: int


def _state(text: str) -> str:
    meant = [state.value for state in State if state.value.startswith(text.lower())]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise ValueError(f"{text!r} is short for {' and for '.join(meant)}")
    raise ValueError(f"no state {text!r}: use one of {', '.join(State)}")


def _seconds(text: str) -> float:
    # As fine as the store's times are.
    return round(parse_duration(text), 6)


def _count(text: str) -> float:
    if not (text.isascii() and text.isdigit()) or int(text) > _LARGEST_COUNT:
        raise ValueError(f"{text!r} is no whole number up to {_LARGEST_COUNT:,}")
    return float(text)


# --- writing ----------------------------------------------------------------------------------------------------------


def _written(condition: Condition) -> str:
    head = f"{'-' if condition.negated else ''}{condition.field}{condition.relation}"
    match FIELDS[condition.field].kind:
        case Kind.AGE:
            return head + _duration(condition.amount)
        case Kind.COUNT:
            return head + str(int(condition.amount))
        case _:
            return head + ",".join(quoted(value) for value in condition.values)


def _duration(seconds: float) -> str:
    """A duration that `parse_duration` reads as exactly this."""
    if seconds != int(seconds):
        return f"{Decimal(repr(seconds)):f}s"
    rest, parts = int(seconds), ""
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, length)
        parts += f"{count}{unit}" if count else ""
    return parts or "0"


def _written_text(text: str, fields: Sequence[str]) -> str:
    try:
        same = parse(text, fields) == (Condition(field="text", values=(text,)),)
    except InvalidFilter:
        same = False
    return text if same else _in_quotes(text)


def _in_quotes(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
