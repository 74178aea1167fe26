"""Values in and out of the store as JSON text.

What goes in comes back as JSON has it: a tuple is a list, a key that is a number is a string. The engine returns the
decoded text also on the first call, so that a first run and a replay see the same value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from dura.errors import NotStorable

_encoder = json.JSONEncoder(allow_nan=False)
_decoder = json.JSONDecoder()

_SCALARS: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    str: json.encoder.encode_basestring_ascii,
}
"""How the encoder writes what most steps return; it takes longer to be set up for one than to write it."""


def encode(value: Any, what: str) -> str:
    """Encode a value as JSON text.

    Args:
        value: Anything the standard `json` module can encode, finite numbers only.
        what: What the value is, for the error, for example `the result of run 1f…`.

    Raises:
        NotStorable: The value holds a type JSON has not, NaN or Infinity, a cycle, or is nested too deeply.
    """
    scalar = _SCALARS.get(type(value))
    try:
        return _encoder.encode(value) if scalar is None else scalar(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotStorable(
            f"{what} cannot be stored: {error}. Pass JSON values: dict, list, str, finite numbers, bool, None."
        ) from error


def is_scalar(value: Any) -> bool:
    """Whether a value is one that surely comes back from JSON as it is."""
    # Two lone surrogates in a row come back as the one character that they are the halves of.
    return value.isascii() if type(value) is str else type(value) in _SCALARS


def decode(text: str | None) -> Any:
    """Decode JSON text from the store; SQL NULL is None."""
    if text is None:
        return None
    try:
        # Half the time of `json.loads`, for what the engine has written itself: no space around it.
        value, end = _decoder.raw_decode(text)
        if end == len(text):
            return value
    except (TypeError, ValueError):
        pass
    return json.loads(text)
