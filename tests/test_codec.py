"""Values in and out: JSON alone, the same on the first call and on replay, and a clear error for everything else."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest

from dura import InvalidValue, NotStorable
from dura.codec import decode, encode


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**70, 1.5, -0.0, 1e308, 5e-324, "", "snowman ☃", "\x00", "😀", [], {},
        [1, [2, [3]]], {"a": {"b": [None]}}, {"": 1}, " ", '"quoted"', "[red]markup[/red]",
    ],
)  # fmt: skip
def test_json_values_come_back_as_they_went_in(value: Any) -> None:
    back = decode(encode(value, "it"))
    assert back == value
    assert type(back) is type(value)


def test_a_tuple_comes_back_as_a_list_and_number_keys_as_text() -> None:
    assert decode(encode((1, (2,)), "it")) == [1, [2]]
    assert decode(encode({2: "a", 2.5: "b", None: "c", True: "d"}, "it")) == {
        "2": "a", "2.5": "b", "null": "c", "true": "d",
    }  # fmt: skip


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


NOT_JSON = {
    "nan": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "nan inside": [1, {"x": math.nan}],
    "bytes": b"bytes",
    "set": {1, 2},
    "object": object(),
    "datetime": datetime(2026, 1, 1, tzinfo=UTC),
    "decimal": Decimal("1.5"),
    "complex": 1j,
    "tuple as key": {(1, 2): 3},
    "cycle": cycle(),
    "too deep": nested(100_000),
    "more digits than Python writes": 10**5000,
}


@pytest.mark.parametrize("value", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_json_has_not_is_refused_by_name(value: Any) -> None:
    with pytest.raises(NotStorable, match="the result of run 7 cannot be stored") as refused:
        encode(value, "the result of run 7")
    assert isinstance(refused.value, InvalidValue)
    assert isinstance(refused.value, TypeError)
    assert isinstance(refused.value, ValueError)


def test_a_lone_surrogate_is_kept_as_an_escape_that_utf8_can_hold() -> None:
    text = encode("\ud800", "it")
    text.encode()
    assert decode(text) == "\ud800"


class Level(IntEnum):
    HIGH = 2


@pytest.mark.parametrize(
    "value", [None, True, False, -7, 2**70, Level.HIGH, 'say "é"\x00\u2028\ud800', "", 1.5, {"a": [1, "é"]}]
)
def test_the_text_is_what_the_standard_module_writes(value: Any) -> None:
    assert encode(value, "it") == json.dumps(value)


def test_sql_null_and_json_null_are_both_none() -> None:
    assert decode(None) is None
    assert decode("null") is None
