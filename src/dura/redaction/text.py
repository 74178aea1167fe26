"""Secrets in running text: `name=value` and `name: value`, passwords in URLs, `Bearer …`, private keys.

Nobody can know all the ways in which a message may tell a secret: what stands there without its name is not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from dura.redaction.names import Level

# A name as in headers, queries, assignments and dicts, written out or as text inside text; with the word before it. Or an
# option, in a command line or in a list of its words.
_PAIR: Final = re.compile(
    r"""
    (?<![\w.-])(?:(?P<before>[\w-]++)\ )?(?P<name>(?P<option>--)?[\w.-]++)
    (?:
      \\*+["']?(?:\[\d*+\]|\])?\s*+(?P<sign>=>|:=(?!=)|[=:](?![=:]))\s*+
    | (?(option)(?:["'],\s*+(?=["'])|\s++(?=[^\s=:-]))|(?!))
    )
    """,
    re.VERBOSE,
)
_VALUE: Final = re.compile(
    r"""
    (?:[bBfFrRuU]{1,2}(?=["']))?
    (?:
      (?:(?:\\++["']){3}|\\++["'])(?P<inner>[^"'\\]*+)
    | (?P<quote>"{3}|'{3}|["'])(?P<quoted>(?:\\.|(?!(?P=quote)).)*+)
    | (?P<bare>[^\s,;&"'<>()\[\]{}]*+(?:[(\[{][^)\]}]*+[)\]}]?)?)
    )
    """,
    re.VERBOSE,
)
_HEADER: Final = re.compile(r"(?:cookie|authorization)$", re.IGNORECASE)
_HEADER_VALUE: Final = re.compile(r"""[^"'\s](?:(?<==)\\*+"[^"\r]*+"|[^"'\r])*""")

_URL_PASSWORD: Final = re.compile(
    r"""(://[^\s/:@"']*+:)(?:(?!\d{1,5}…\Z)[^\s/"'…]*+(?=…\Z)|[^\s/"']+(?=@))"""
)
_SCHEME: Final = re.compile(r"""(\b(?i:bearer|basic)\s+)(?=[^\s:=][^\s"',;]*[\dA-Z=])[^\s"',;]{6,}""")

_PRIVATE_KEY: Final = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----).*?(?=-----END|\Z)", re.DOTALL
)

_FRAME: Final = re.compile(r'\s*File ".*", line \d+')
_NO_SECRET: Final = re.compile(r"(?:none|null|nil|undefined|true|false)[.!?]?", re.IGNORECASE)
_NOTHING_MORE: Final = re.compile(r"\W*+(?:bearer|basic)?\W*+", re.IGNORECASE)
"""What may stand beside a mark in a value that is hidden already."""
_NUMBER: Final = re.compile(r"\d[\d.,_]*")


def hide_in_text(text: str, mark: str, level_of: Callable[[str], Level]) -> str:
    """The text with marks in place of what is hidden.

    Args:
        text: Any text. In the lines of code of a traceback only what stands in quotes is hidden.
        mark: What stands in place of it.
        level_of: How much is hidden under a name.
    """
    lines, code = [], False
    for line in _PRIVATE_KEY.sub(rf"\1{mark}", text).split("\n"):
        hidden = _SCHEME.sub(rf"\1{mark}", _URL_PASSWORD.sub(rf"\1{mark}", line))
        lines.append(_hide_pairs(hidden, mark, level_of, code=code))
        code = _FRAME.match(line) is not None
    return "\n".join(lines)


def _hide_pairs(line: str, mark: str, level_of: Callable[[str], Level], *, code: bool) -> str:
    pieces: list[str] = []
    done = place = 0
    while (pair := _PAIR.search(line, place)) is not None:
        level = _level(pair, level_of)
        if level is Level.NOTHING:
            place = pair.end()
            continue
        start, end, quoted = _value(line, pair)
        said = line[start:end]
        bare_number = level is Level.ALL_BUT_NUMBERS and _NUMBER.fullmatch(said)
        done_already = mark in said and _NOTHING_MORE.fullmatch(said.replace(mark, ""))
        if not said or done_already or bare_number or (not quoted and (code or _NO_SECRET.fullmatch(said))):
            place = pair.end()
            continue
        pieces += [line[done:start], mark]
        done = place = end
    return "".join([*pieces, line[done:]]) if pieces else line


def _level(pair: re.Match[str], level_of: Callable[[str], Level]) -> Level:
    before, name = pair["before"], pair["name"]
    level = level_of(name)
    if level is Level.NOTHING and before and level_of(before) is Level.NOTHING:
        # `api key: …` in words. A word that hides by itself is no part of the name after it.
        level = level_of(f"{before} {name}")
    return level


def _value(line: str, pair: re.Match[str]) -> tuple[int, int, bool]:
    """Where the pair's value begins and ends, and whether it stands in quotes."""
    if pair["sign"] == ":" and _HEADER.search(pair["name"]):
        header = _HEADER_VALUE.match(line, pair.end())
        if header is not None:
            return *header.span(), False
    value = _VALUE.match(line, pair.end())
    if value is None:
        return pair.end(), pair.end(), False
    group = next((name for name in ("inner", "quoted") if value[name] is not None), "bare")
    return *value.span(group), group != "bare"
