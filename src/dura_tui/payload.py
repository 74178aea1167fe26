"""A value as it is typed: JSON, and nothing that could not be stored or that nobody can mean. Pure."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from dura.redaction import MARK, holds_mark
from dura_tui import format as fmt


def parse_payload(text: str) -> Any:
    """The JSON value of an event's payload; empty text is null.

    Raises:
        ValueError: The text is no JSON, or holds the mark of something hidden; the message says where.
    """
    if not text.strip():
        return None

    def refuse(constant: str) -> Any:
        raise ValueError(f"{fmt.clip(constant, 20)} is no JSON value, or too large a number")

    def finite(number: str) -> float:
        value = float(number)
        return value if isfinite(value) else refuse(number)

    try:
        value = json.loads(text, parse_constant=refuse, parse_float=finite)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if holds_mark(value):
        line = text[: text.find(MARK) + 1].count("\n") + 1
        raise ValueError(
            f"{MARK} at line {line} stands for a value that is not shown: write the value, or see it by --reveal"
        )
    return value
