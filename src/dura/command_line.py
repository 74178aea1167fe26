"""What both programs say of a command line that argparse misreads, or explains too shortly, or says nothing of."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_NO_VALUE: Final = re.compile(r"argument (\S+): expected one argument")


class Parser(argparse.ArgumentParser):
    """A parser whose help and version raise `OSError` where they cannot be printed: argparse's end well all the same."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        if file is sys.stdout:
            print(message, end="", file=file, flush=True)
        else:
            super()._print_message(message, file)


def without_value(words: Sequence[str]) -> str | None:
    """The option that argparse would lose: it takes the `--` in `--name=--` for the end of the options."""
    return next((word for word in words if word.startswith("--") and word.endswith("=--")), None)


def advised(message: str, words: Sequence[str]) -> str:
    """An error of argparse's; where an option's value was taken for an option, with how to write it.

    Args:
        message: What argparse says.
        words: The command line.
    """
    found = _NO_VALUE.fullmatch(message)
    option = found[1] if found else ""
    for word, value in pairwise(words):
        if word == option and value.startswith("-"):
            return f"{message}; if {value!r} is its value, write {option}={shlex.quote(value)}"
    return message
