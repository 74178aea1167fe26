"""The monitor shows no secret unless it is told to, says so, and never writes back the mark of a hidden one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dura.redaction import MARK
from dura_tui.payload import parse_payload
from dura_tui.widgets.editor import fillable


@pytest.mark.parametrize(
    ("text", "line"),
    [(f'"{MARK}"', 1), (f'{{\n "a": [\n  "db://ann:{MARK}@db"\n ]\n}}', 3), (f'{{"{MARK}": 1}}', 1)],
)
def test_a_value_with_the_mark_of_something_hidden_is_refused_while_it_is_typed(text: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"^\[hidden\] at line {line} stands for a value that is not shown"):
        parse_payload(text)


def test_a_mark_written_with_escapes_is_one_too() -> None:
    with pytest.raises(ValueError, match="is not shown"):
        parse_payload('"\\u005bhidden]"')


def test_what_is_hidden_is_null_in_a_payload_to_begin_with() -> None:
    payload = json.dumps({"by": "ann", "token": MARK, "url": f"db://ann:{MARK}@db", "list": [1, MARK]})
    assert json.loads(fillable(payload)) == {"by": "ann", "token": None, "url": None, "list": [1, None]}
    assert fillable(f"no JSON, {MARK}") == "null"
    assert fillable('{"by": "ann"}') == '{\n  "by": "ann"\n}'
