"""Secrets in JSON text, whole or cut: found token by token, so that nothing else of the text changes.

A cut text may end anywhere, which no decoder takes; and decoding would change numbers, repeated keys and NaN.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from dura.redaction.names import Level

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]\s*+|\s++|[^\s"{}\[\],:]++', re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:\d[\d.eE+-]*|Infinity)|NaN")
_WORDS: Final = ("null", "true", "false")
_CUT: Final = "…"
"""How a value ends that was cut; no JSON text ends like that."""


class NoJsonError(Exception):
    """The text is no JSON, nor the beginning of one."""


class Scanner:
    """Goes through one JSON text once."""

    def __init__(
        self,
        mark: str,
        level_of: Callable[[str], Level],
        hide_in_text: Callable[[str], str],
        level: Level,
        *,
        bare: bool,
    ) -> None:
        """Prepare.

        Args:
            mark: What stands in place of what is hidden.
            level_of: How much is hidden under a key.
            hide_in_text: What is said for texts that are not hidden as a whole.
            level: How much is hidden of all of it.
            bare: Whether that goes for what stands under no key only.
        """
        self._mark = json.dumps(mark)
        self._level_of = level_of
        self._hide_in_text = hide_in_text
        self._level = level
        self._bare = bare

    def scan(self, text: str) -> str:
        """The text with marks in place of what is hidden.

        Raises:
            NoJsonError: It is no JSON.
        """
        found: list[str] = []
        inside: list[tuple[bool, Level]] = []  # whether it is an object, and how much of its values is hidden
        objects = 0
        level, key_comes = self._level, False
        for match in _TOKEN.finditer(text):
            token = match[0]
            match token[0]:
                case '"' if key_comes:
                    level = max(level, self._level_of(_decoded(token)))
                    key_comes = False
                case '"':
                    token = self._string(token, level)
                case "{" | "[":
                    is_object = token[0] == "{"
                    if is_object and self._bare and not objects:
                        level = Level.NOTHING
                    objects += is_object
                    inside.append((is_object, level))
                    key_comes = is_object
                case "}" | "]" if inside:
                    objects -= inside.pop()[0]
                    key_comes = False
                case "," if inside:
                    key_comes, level = inside[-1]
                case ":" if inside:
                    pass
                case _ if not token.isspace():
                    token = self._word(token, level, last=match.end() == len(text))
                case _:
                    pass
            found.append(token)
        return "".join(found)

    def _word(self, token: str, level: Level, *, last: bool) -> str:
        is_number = _NUMBER.fullmatch(token) is not None
        if token in _WORDS or (is_number and level is not Level.ALL):
            return token
        if is_number:
            return self._mark
        if not last:
            raise NoJsonError
        # The beginning of a word or a number, or the sign that something was cut.
        return token if level is Level.NOTHING or token == _CUT else self._mark[:-1] + _CUT

    def _string(self, token: str, level: Level) -> str:
        whole = _is_whole(token)
        if level is not Level.NOTHING:
            return self._mark if whole else self._mark[:-1] + _CUT
        if whole:
            said = _decoded(token)
            hidden = self._hide_in_text(said)
            return token if hidden == said else json.dumps(hidden)
        # Where it was cut, the end of a secret may be missing, and with it the sign that it is one.
        said = _decoded(token).removesuffix(_CUT) + _CUT
        hidden = self._hide_in_text(said)
        return token if hidden == said else json.dumps(hidden.removesuffix(_CUT))[:-1] + _CUT


def _is_whole(token: str) -> bool:
    """Whether a string ends with its quote, and not with an escaped one."""
    if len(token) < 2 or token[-1] != '"':
        return False
    return (len(token) - len(token[:-1].rstrip("\\")) - 1) % 2 == 0


def _decoded(token: str) -> str:
    """What a string says; of one that was cut or is malformed, as far as it can be read."""
    whole = _is_whole(token)
    if "\\" not in token:
        return token[1:-1] if whole else token[1:]
    body = token[:-1] if whole else token
    for end in (len(body), body.rfind("\\")):
        try:
            decoded = json.loads(f'{body[:end]}"', strict=False)
        except ValueError:
            continue
        return str(decoded)
    return token[1:]
