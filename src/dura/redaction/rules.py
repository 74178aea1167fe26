"""The rules by which values are hidden, built-in and one's own, and what they make of a value."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Self

from dura.errors import InvalidValue, shown
from dura.redaction.names import HIDDEN, SHOWN, Level, checked, matcher, signs, words
from dura.redaction.values import NoJsonError, Scanner

MARK: Final = "[hidden]"
"""What stands in place of a value that is not shown."""

HIDE_VARIABLE: Final = "DURA_HIDE"
SHOW_VARIABLE: Final = "DURA_SHOW"

_SIGNS: Final = ("://", "bearer ", "basic ", "\\u00")
"""Texts besides names of which one stands where there is something to hide; the last may be a letter of a name."""

_ENDS_OF_NAMES: Final = (":", "=", " ", ",")
"""One of them stands between the name, or the scheme, and what is hidden."""

_PART_ENDS: Final = re.compile(r"[.:/]")
_MOST_KNOWN: Final = 2_000
"""Names about which it is remembered what the rules say."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Which values are not shown.

    A pattern of names is one word or several: it matches a name in which these words stand next to each other, the last one in
    the plural too (`api_key` matches `oldApiKeys`). With a `*`, which stands for anything, it is compared with the name as a
    whole (`*_pin`). One's own patterns count more than the built-in ones, and `show` more than `hide`.

    Under such a name every text and every number becomes `MARK`, and the shape of the value stays. So do `null`, `true` and
    `false`: they hold no secret, and often say what is wrong. A number under a plural stays too, since it is a count.

    Args:
        hide: Further patterns of names whose values are hidden.
        show: Patterns of names whose values are shown.

    Raises:
        InvalidValue: A pattern is no text, or matches no name.
    """

    hide: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    _known: dict[str, Level] = field(default_factory=dict, init=False, repr=False, compare=False)
    _signs: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Of these, in small letters, one at least stands in every text that has something to hide."""

    def __post_init__(self) -> None:
        hide, show = checked(self.hide, "hide"), checked(self.show, "show")
        facts = {"hide": hide, "show": show, "_signs": signs((*HIDDEN, *hide), _SIGNS)}
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """As the variables `DURA_HIDE` and `DURA_SHOW` say, each a list of patterns with commas between them.

        Args:
            environment: The variables; by default those of the process.

        Raises:
            InvalidValue: A pattern matches no name; the message says which, in which variable.
        """
        said = os.environ if environment is None else environment
        hide, show = (
            checked([part for part in said.get(variable, "").split(",") if part.strip()], variable)
            for variable in (HIDE_VARIABLE, SHOW_VARIABLE)
        )
        return cls(hide=hide, show=show)

    def hides(self, name: str) -> bool:
        """Whether what stands under a name is hidden, at least if it is a text.

        Raises:
            InvalidValue: It is no name but something else.
        """
        _check(name, "name")
        return self._level(name) is not Level.NOTHING

    def json(self, text: str, names: Iterable[str] = (), *, bare: bool = False) -> str:
        """JSON text, whole or cut, without what is hidden; the text itself if that is nothing.

        Args:
            text: The value. What is no JSON is read as running text.
            names: What it is kept under, of which the last part counts: the end of `shop.api_key`. Parts end at `.`, `:` and
                `/`. One with a digit in it is taken for an id, and the part before it counts too: `otp:user_7`.
            bare: Whether the names hide only what stands under no key. So it is with results of steps, whose names are verbs:
                of `fetch_token`, text is hidden, and of an object what its own keys hide.

        Raises:
            InvalidValue: It is no text.
        """
        _check(text, "text")
        level = max((self._level_of_last_part(name) for name in names), default=Level.NOTHING)
        if level is Level.NOTHING and not self._may_hide(text):
            return text
        scanner = Scanner(MARK, self._level, self._string, level, bare=bare)
        try:
            found = scanner.scan(text)
        except NoJsonError:
            found = self.text(text) if level is Level.NOTHING else MARK
        return text if found == text else found

    def text(self, text: str) -> str:
        """Running text without what is hidden; the text itself if that is nothing.

        Raises:
            InvalidValue: It is no text.
        """
        _check(text, "text")
        if not any(map(text.__contains__, _ENDS_OF_NAMES)) or not self._may_hide(text):
            return text
        # Loaded with the first text that may hide something: its patterns take long to be compiled.
        from dura.redaction.text import hide_in_text

        found = hide_in_text(text, MARK, self._level)
        return text if found == text else found

    def _string(self, text: str) -> str:
        """A text inside a value: JSON again, or running text."""
        return self.json(text) if text.startswith(("{", "[")) else self.text(text)

    def _may_hide(self, text: str) -> bool:
        lowered = text.lower()
        return any(sign in lowered for sign in self._signs)

    def _level_of_last_part(self, name: str) -> Level:
        for part in reversed(_PART_ENDS.split(name)):
            level = self._level(part)
            if level is not Level.NOTHING or not any(map(str.isdigit, part)):
                return level
        return Level.NOTHING

    def _level(self, name: str) -> Level:
        level = self._known.get(name)
        if level is None:
            said = words(name).strip("_")
            rules = _rules(self.hide, self.show)
            level = next((level for level, rule in rules if rule.fullmatch(said)), Level.NOTHING)
            if len(self._known) < _MOST_KNOWN:
                self._known[name] = level
        return level


@lru_cache(16)
def _rules(hide: tuple[str, ...], show: tuple[str, ...]) -> tuple[tuple[Level, re.Pattern[str]], ...]:
    """The rules that these patterns and the built-in ones make: the first that matches all of a name's words decides.

    Made when the first name is asked about, since most values show without any rule that they hide nothing.
    """
    rules = (
        (Level.NOTHING, matcher(show)),
        (Level.ALL, matcher(hide)),
        (Level.ALL_BUT_NUMBERS, matcher(hide, plural=True)),
        (Level.NOTHING, matcher(SHOWN)),
        (Level.ALL, matcher(HIDDEN)),
        (Level.ALL_BUT_NUMBERS, matcher(HIDDEN, plural=True)),
    )
    return tuple((level, rule) for level, rule in rules if rule is not None)


def _check(value: object, what: str) -> None:
    if not isinstance(value, str):
        raise InvalidValue(f"{what} must be a str, not {shown(value)}")


BUILT_IN: Final = Redaction()
"""The built-in rules alone."""


def holds_mark(value: Any) -> bool:
    """Whether a JSON value holds the mark of something hidden, so that nobody can have meant to keep it."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str):
            if MARK in part:
                return True
        elif isinstance(part, Mapping):
            left += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple):
            left += part
    return False
