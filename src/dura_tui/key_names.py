"""Names of keys: as people write them (`/`, `^d`, `esc`), as Textual calls them (`slash`, `ctrl+d`, `escape`), as shown."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_PEOPLE: Final = {"esc": "escape", "return": "enter", "del": "delete", "pgup": "pageup", "pgdn": "pagedown"}
_NAMED: Final = frozenset(
    (
        "escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown",
        "up", "down", "left", "right",
    )
)  # fmt: skip
_CHARACTERS: Final = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
    "space": "space",
}
"""Where Textual calls a character otherwise than Unicode does."""


def as_textual(written: str) -> str:
    """A key as Textual names it.

    Args:
        written: `p`, `P`, `/`, `esc`, `space`, `f5`, `^d` or `ctrl+d`, `alt+x`, `shift+tab`.

    Raises:
        ValueError: No key is called that.
    """
    if len(written) == 1 and written.isprintable():
        return _of_character(written)
    *modifiers, last = written.lower().replace("^", "ctrl+", 1).split("+")
    last = _PEOPLE.get(last, last)
    named = last in _NAMED or re.fullmatch(r"f([1-9]|1\d|2[0-4])", last)
    single = len(last) == 1 and last.isalnum() and last.isascii() and modifiers
    if not (named or single) or not set(modifiers) <= {"ctrl", "alt", "shift"}:
        raise ValueError(f"{written!r} is no key")
    return "+".join([*modifiers, last])


def _of_character(character: str) -> str:
    if character.isalnum():
        return character
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return _CHARACTERS.get(name, name)


def displayed(key: str) -> str:
    """A key as it is shown: `/`, `^d`, `esc`. Takes Textual's name."""
    if key in _CHARACTER_OF:
        return _CHARACTER_OF[key]
    if key.startswith("ctrl+"):
        return "^" + key.removeprefix("ctrl+")
    return "esc" if key == "escape" else key


_CHARACTER_OF: Final = {_of_character(chr(code)): chr(code) for code in range(0x21, 0x7F)}
"""Names of the printable ASCII characters, each with its character."""
