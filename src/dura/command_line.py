"""What both programs say of a command line that argparse misreads, or explains too shortly."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_NO_VALUE: Final = re.compile(r"argument (\S+): expected one argument")


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
