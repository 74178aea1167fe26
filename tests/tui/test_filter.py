"""The monitor's filter line: what Tab offers, which fields each view has, and what the counts alone can tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dura import DurableEngine
from dura.filters import FIELDS, TASK_FIELDS, parse
from dura.monitor import Monitor
from dura.records import CountRow, Want
from dura_tui.completion import complete
from dura_tui.filter import FILTERED, known_words, total
from dura_tui.keys import VIEWS

WORDS = {
    "name": ["import_a", "import_b", "two words", "reimport"],
    "queue": ["default", "mail"],
    "state": ["failed", "completed"],
    "step": ['odd"step', "a,b"],
}


@pytest.mark.parametrize(
    ("line", "start", "candidates"),
    [
        ("n", 0, ("name:",)),
        ("x a", 2, ("age>", "attempts>")),
        ("-q", 0, ("-queue:",)),
        ("name:imp", 5, ("import_a", "import_b", "reimport")),
        ("name:IMPORT_B", 5, ("import_b",)),
        ("name:import_a,re", 14, ("reimport",)),
        ('name:"two', 5, ('"two words"',)),
        ('name:"two words",m', 17, ("import_a", "import_b", "reimport")),
        ("queue:", 6, ("default", "mail")),
        ("state:failed -state:c", 20, ("completed",)),
        ("step:o", 5, ('odd"step',)),
        ("step:a", 5, ('"a,b"',)),
        ("age>", 4, ()),
        ("nothing", 0, ()),
    ],
)
def test_tab_offers_fields_and_then_known_values(line: str, start: int, candidates: tuple[str, ...]) -> None:
    found = complete(line, len(line), TASK_FIELDS, WORDS)
    assert (found.start, found.candidates) == (start, candidates)


def test_an_empty_line_offers_every_field() -> None:
    assert [word.rstrip(":>") for word in complete("", 0, TASK_FIELDS, WORDS).candidates] == list(TASK_FIELDS)
    assert complete("", 0, (), WORDS).candidates == ()


@given(st.text(st.sampled_from('nae:,"\\ -_><mport'), max_size=30), st.integers(0, 30))
def test_what_tab_puts_in_stands_where_the_word_was(line: str, cursor: int) -> None:
    cursor = min(cursor, len(line))
    found = complete(line, cursor, TASK_FIELDS, WORDS)
    assert 0 <= found.start <= cursor


def test_each_value_that_is_offered_can_be_read_again() -> None:
    for name, values in WORDS.items():
        for value, offered in zip(
            values, complete(f"{name}:", len(name) + 1, TASK_FIELDS, WORDS).candidates, strict=True
        ):
            assert parse(f"{name}:{offered}")[0].values == (value,)


def test_every_view_that_is_filtered_has_fields_of_the_language() -> None:
    assert set(FILTERED) <= set(VIEWS)
    for filtered in FILTERED.values():
        assert set(filtered.fields) <= set(FIELDS)
        parse(filtered.example, filtered.fields)
        assert len(filtered.placeholder) <= 78, "it is cut at 80 columns"


def test_states_are_known_before_anything_was_read() -> None:
    assert "failed" in known_words(None)["state"]


COUNTS = tuple(
    CountRow(queue=queue, name=name, state=state, count=count)
    for queue, name, state, count in (
        ("mail", "import_a", "failed", 1),
        ("mail", "import_b", "pending", 2),
        ("default", "odd[1]", "failed", 4),
        ("default", "odd1", "failed", 8),
    )
)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("", 15),
        ("name:import_*", 3),
        ("-name:import_* state:failed", 12),
        ("name:odd[1]", 4),
        ("name:odd[*", 4),
        ("state:failed,pending queue:mail,other", 3),
        ("name:none", 0),
        ("age>5m", None),
        ("text", None),
    ],
)
def test_counts_alone_tell_how_many_match_by_name_queue_and_state(line: str, count: int | None) -> None:
    assert total(COUNTS, parse(line)) == count


def test_actions_are_offered_by_the_names_under_which_the_audit_keeps_them(path: Path) -> None:
    engine = DurableEngine(path)
    engine.set_state(namespace="poller", key="page", value=3, actor="ann")
    engine.delete_state(namespace="poller", key="page", actor="ann")
    engine.close()
    with Monitor(path) as monitor:
        entries = monitor.snapshot(Want(audit=2)).audit
    kept = {json.loads(entry.value)["action"] for entry in entries}
    assert kept == {"set", "delete"}
    assert kept <= set(known_words(None)["action"])
