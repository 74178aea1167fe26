"""The filter line: what it means, and what it says when it means nothing."""

from __future__ import annotations

import pytest

from dura.records import TaskQuery
from dura_tui.filter import parse, to_line

PAGE = TaskQuery(sort="due", limit=50, after="somewhere")


@pytest.mark.parametrize(
    ("line", "query"),
    [
        ("", TaskQuery(sort="due", limit=50)),
        (
            "state:failed name:import_* queue:mail",
            TaskQuery(state="failed", name="import_*", queue="mail", sort="due", limit=50),
        ),
        ("state:fail ord 7", TaskQuery(state="failed", text="ord 7", sort="due", limit=50)),
        ("charge:ord_1", TaskQuery(text="charge:ord_1", sort="due", limit=50)),
        ('name:"two words"', TaskQuery(name="two words", sort="due", limit=50)),
        ("it's", TaskQuery(text="it's", sort="due", limit=50)),
        ("state:", TaskQuery(sort="due", limit=50)),
    ],
)
def test_a_line_is_fields_and_free_text(line: str, query: TaskQuery) -> None:
    assert parse(line, PAGE) == query
    assert parse(to_line(query), PAGE) == query


@pytest.mark.parametrize(
    ("line", "words"), [("state:nope", "use one of pending"), ("stat:failed", "did you mean state:")]
)
def test_a_line_that_means_nothing_says_what_would(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(line, PAGE)
