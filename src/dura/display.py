"""Text from a store made harmless, and counts and sizes as people read them: for the command and the monitor alike. Pure.

Names, payloads and errors are whatever somebody stored. `printable` writes what a terminal could obey as an escape, so that
none of them can move the cursor, recolour the screen or hide what follows.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_SHORT_ID: Final = 8
_SHORT_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Control, format (bidirectional overrides, zero width), surrogate, private and unassigned characters, line and
# paragraph separators: what a terminal may obey, drop or draw at another width than it was measured with.
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    r"""The text on one line, with every character that a terminal could obey as an escape such as `\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escape, text))


def printable_lines(text: str) -> list[str]:
    """Text of several lines, each made harmless; tabs become four spaces."""
    return [printable(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n")]


def _escape(character: str) -> str:
    if unicodedata.category(character) not in _UNPRINTABLE:
        # Variation selectors say nothing, and terminals disagree on the width of what they follow.
        return "" if "\ufe00" <= character <= "\ufe0f" else character
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def short_id(identifier: str) -> str:
    """The last eight characters of an id: the random ones, which differ also between ids made in the same minute."""
    return printable(identifier[-_SHORT_ID:])


def number(count: int) -> str:
    """A count with its thousands set apart: `1,204`."""
    return f"{count:,}"


def plural(count: int, noun: str) -> str:
    """`1 task`, `3 tasks`."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def size(count: int) -> str:
    """Bytes as `345 B`, `1.2 kB`, `64 MB`: powers of 1000, two digits at least."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5:
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return f"{value / 1000:.1f} TB"


def of_limit(value: int, limit: int | None) -> str:
    """A number against its limit: `2/5`, or `2` without one."""
    return str(value) if limit is None else f"{value}/{limit}"
