"""The command lines of the two programs, drawn from what their parsers say they take; and the law that each call obeys."""

from __future__ import annotations

import argparse
import json
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from fuzz.calls import LawBrokenError

Lines = st.SearchStrategy[list[str]]

_ODD: Final = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.sampled_from(
        [
            "", "-", "--", "-1", "0", "1e999", "nan", "١٢", "99999999999999999999", "0x10", "1_0", "5m", "-5m", "1e3s", "10000000000d",
            "\udcff\udc80", "\x1b[31m", "%s%n", "*", "[a-", "' OR 1=1", "dura.sleep", "null", '{"a": 1}', "NaN", "[" * 3_000, "x" * 70_000,
            "/dev/null", "/", ".", "name:", "age>5m state:failed", "oldest-due>5m", "wal-size>", "WyJuZXdlc3QiLCAxXQ==", "\u202e",
        ]
    ),
)  # fmt: skip
"""Words that no program should trip over. A NUL cannot be in one."""


def words(action: argparse.Action, known: list[str]) -> st.SearchStrategy[str]:
    """Values for an option or an argument, mostly some that it can take."""
    if action.choices:
        return st.sampled_from([*map(str, action.choices)]) | _ODD
    usual = [
        "1",
        "5",
        "30s",
        "1h30m",
        "name",
        "approved:ord_1",
        "poller",
        "cursor",
        "import_report",
        "failed",
        "42",
        '"text"',
    ]
    return st.sampled_from([*usual, *known, *(each[-8:] for each in known)]) | _ODD


def command_lines(parser: argparse.ArgumentParser, path: str, known: list[str], without: set[str]) -> Lines:
    """Command lines for a parser: its arguments, then some of its options, now and then one too many or too few.

    Args:
        parser: The program's.
        path: The store, for the first positional argument.
        known: Ids of tasks.
        without: Names of options that are left out.
    """
    actions = [action for action in parser._actions if not {*action.option_strings, action.dest} & without]
    positional = [action for action in actions if not action.option_strings and action.dest != "path"]
    options = [action for action in actions if action.option_strings]

    @st.composite
    def draw_all(draw: st.DrawFn) -> list[str]:
        line = [path]
        for action in positional:
            many = action.nargs in ("+", "*")
            least = 0 if action.nargs in ("?", "*") else 1
            line += draw(st.lists(words(action, known), min_size=least, max_size=3 if many else 1))
        chosen = draw(st.lists(st.sampled_from(options), max_size=4)) if options else []
        chosen += [action for action in options if action.required and draw(st.integers(0, 9))]
        for group in parser._mutually_exclusive_groups:
            if group.required and draw(st.integers(0, 9)):
                chosen.append(draw(st.sampled_from(group._group_actions)))
        for action in chosen:
            option = draw(st.sampled_from(action.option_strings))
            if action.nargs == 0:
                line.append(option)
            elif draw(st.booleans()):
                line += [option, draw(words(action, known))]
            else:
                line.append(f"{option}={draw(words(action, known))}")
        if draw(st.integers(0, 9)) == 0:
            line.insert(draw(st.integers(0, len(line))), draw(_ODD))
        if draw(st.integers(0, 19)) == 0:
            line.pop()
        return line

    return draw_all()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended."""

    code: int
    out: str
    err: str


def judge(line: list[str], ended: Ended, *, codes: dict[int, str], path: Path, no_store: int) -> None:
    """Hold the end of a program to the law.

    Args:
        line: What it was called with.
        ended: How it ended.
        codes: The documented codes.
        path: The store.
        no_store: The code for a store that cannot be used.
    """

    def demand(holds: Any, what: str) -> None:
        if not holds:
            raise LawBrokenError(
                f"{what}\n{line}\ncode {ended.code}\n{ended.err[-2000:]}\n{ended.out[-500:]}"
            )

    demand(ended.code in codes, "the code is not documented")
    demand("Traceback (most" not in ended.err, "a traceback")
    demand(ended.code == 0 or (ended.err + ended.out).strip(), "no word of what was wrong")
    demand(
        ended.code != no_store or str(path) in ended.err or line[:1] != [str(path)], "the file is not named"
    )
    for name, text in (("output", ended.out), ("complaint", ended.err)):
        # A wide or unbreakable space is no printable character, but nothing to obey either.
        odd = {
            character
            for character in text
            if not character.isprintable() and character != "\n" and unicodedata.category(character) != "Zs"
        }
        demand(not odd, f"the {name} holds what a terminal would obey: {odd!r}")
    if "--json" in line and not {"--help", "-h", "--version", "--print-config"} & {*line} and ended.out:
        json.loads(ended.out)
