"""Values that nobody sane would pass, and values that somebody might: what the fuzzers draw arguments from."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, Final

from hypothesis import strategies as st

Values = st.SearchStrategy[Any]


class Awkward:
    """Raises at everything that a check or a message may do with it."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise RuntimeError("no str")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


class Number(IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


def cycle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def nest(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def generator() -> Any:
    yield from ("a", 1, "\ud800")


NUMBERS: Final[Values] = st.one_of(
    st.integers(-3, 3),
    st.sampled_from(
        [
            2**31,
            2**63 - 1,
            2**63,
            -(2**63),
            -(2**63) - 1,
            10**400,
            -(10**400),
            10**5000,
            True,
            False,
            Number.ONE,
        ]
    ),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 1e17, 1e18]),
)

TEXTS: Final[Values] = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(categories=["Cs", "Cc", "Cf", "Lo"]), max_size=6),
    st.sampled_from(
        [
            "",
            " ",
            "\0",
            "a\0b",
            "\ud800",
            "x\udfff",
            "dura.",
            "dura.schema",
            "DURA.x",
            "%",
            "*",
            "a'b\"c;--",
            "x" * 70_000,
        ]
    ),
    st.just(Text("subclass")),
)

OTHERS: Final[Values] = st.one_of(
    st.none(),
    st.binary(max_size=4),
    st.sampled_from(
        [timedelta(0), timedelta.max, timedelta.min, timedelta(seconds=-1), timedelta(microseconds=1)]
    ),
    st.just(datetime(2026, 1, 1, tzinfo=UTC)),
    st.builds(Awkward),
    st.builds(object),
    st.builds(generator),
    st.sampled_from([int, len, Exception("told"), {1, 2}, frozenset(), range(3), memoryview(b"x"), 1j, ...]),
    st.lists(st.one_of(st.text(max_size=3), st.integers(), st.none(), st.builds(Awkward)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)

WILD: Final[Values] = st.one_of(NUMBERS, TEXTS, OTHERS)
"""Anything, mostly wrong."""

_LEAVES: Final[Values] = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)

JSON: Final[Values] = st.one_of(
    st.recursive(
        _LEAVES,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.tuples(inner, inner),
            st.dictionaries(
                st.one_of(st.text(max_size=3), st.integers(), st.none(), st.floats()), inner, max_size=3
            ),
        ),
        max_leaves=5,
    ),
    st.builds(cycle),
    st.sampled_from(
        [nest(500), nest(50_000), {(1, 2): 3}, {"a": {1, 2}}, {"key": object()}, {"deep": nest(3)}]
    ),
    WILD,
)
"""Values to store, some of which cannot be."""


class BoomError(Exception):
    """What a user's own function raises."""


def returning(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def raising(*_: Any) -> Any:
    raise BoomError("by the user's own function")


def functions(result: Values) -> Values:
    """Functions that return such a value, or raise."""
    return st.one_of(st.builds(returning, result), st.just(raising))
