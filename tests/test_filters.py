"""The filter language: what a line means, its canonical form, and what it says of a line that means nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dura.errors import InvalidFilter
from dura.filters import FIELDS, TASK_FIELDS, parse, to_line
from dura.records import Condition

READ: tuple[tuple[str, tuple[Condition, ...]], ...] = (
    ("", ()),
    ("   ", ()),
    ("name:import_*", (Condition(field="name", values=("import_*",)),)),
    ("Name:a,b", (Condition(field="name", values=("a", "b")),)),
    ('name:"two words",b', (Condition(field="name", values=("two words", "b")),)),
    (r'key:"a \"b\" \\ c,d"', (Condition(field="key", values=('a "b" \\ c,d',)),)),
    ("state:fa", (Condition(field="state", values=("failed",)),)),
    ("-state:p,r", (Condition(field="state", values=("pending", "running"), negated=True),)),
    ("age>5m", (Condition(field="age", relation=">", amount=300.0),)),
    ("age<=1h30m", (Condition(field="age", relation="<=", amount=5400.0),)),
    ("attempts>=2", (Condition(field="attempts", relation=">=", amount=2.0),)),
    ("attempts:3", (Condition(field="attempts", amount=3.0),)),
    (
        "ord 7  state:failed",
        (Condition(field="state", values=("failed",)), Condition(field="text", values=("ord 7",))),
    ),
    ("charge:ord_1", (Condition(field="text", values=("charge:ord_1",)),)),
    ("it's", (Condition(field="text", values=("it's",)),)),
    ('{"to": "ann"}', (Condition(field="text", values=('{"to": "ann"}',)),)),
    ('"state:failed  now"', (Condition(field="text", values=("state:failed  now",)),)),
    ("a>b -5 -x:1", (Condition(field="text", values=("a>b -5 -x:1",)),)),
    ('""', ()),
)


@pytest.mark.parametrize(("line", "conditions"), READ)
def test_a_line_is_terms_and_free_text(line: str, conditions: tuple[Condition, ...]) -> None:
    assert parse(line) == conditions
    assert parse(to_line(conditions)) == conditions


REFUSED = (
    ("state:nope", "nope", "use one of pending"),
    ("state:failed,nope x", "nope", "no state 'nope'"),
    ("state:c", "c", "short for completed and for cancelled"),
    ("x stat:failed", "stat", "did you mean state"),
    ("-attempt>2", "attempt", "did you mean attempts"),
    ("actor:ann", "actor", "this list has no field actor: there are name"),
    ("state: x", ":", "state needs a value"),
    ("name:a,", ",", "name needs a value"),
    ('name:""', ':""', "name needs a value"),
    ("name>5", ">", "name is not measured"),
    ("age:5m", ":", "compared with > or <"),
    ("age>5", "5", "has no unit"),
    ("age>soon", "soon", "is no duration"),
    ("age>1m,2m", "1m,2m", "one value"),
    ("attempts>2.5", "2.5", "no whole number"),
    ("attempts>" + "9" * 900, "9" * 900, "too long"),
    ("age > 5m", ">", "no spaces around >"),
    ('name:"open', '"open', "not closed"),
    ('name:"a"b', "b", "after a closing quote"),
    ("name:" + "x" * 1001, "x" * 1001, "at most 1,000"),
    ("x" * 1001, "x" * 1001, "at most 1,000"),
    ("a \udcff", "\udcff", "no UTF-8"),
)


@pytest.mark.parametrize(("line", "token", "words"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_a_line_that_means_nothing_is_refused_at_the_very_token(line: str, token: str, words: str) -> None:
    with pytest.raises(InvalidFilter, match=words) as refused:
        parse(line)
    assert line[refused.value.start : refused.value.end] == token


def test_a_list_without_fields_has_free_text_alone() -> None:
    assert parse("a:b c", ()) == (Condition(field="text", values=("a:b c",)),)
    with pytest.raises(InvalidFilter, match="only free text"):
        parse("name:x", ())


PIECES = st.sampled_from(
    [
        *FIELDS,
        *':<>=,"\\ \t-*',
        ">=",
        "<=",
        "failed",
        "5m",
        "1.5h",
        "0",
        "7",
        "x",
        "ä",
        "\u2003",
        "\x00",
        "stat:",
    ]
)
LINES = st.lists(PIECES | st.characters(), max_size=30).map("".join)


def read(line: str) -> tuple[tuple[Condition, ...], InvalidFilter | None]:
    try:
        return parse(line), None
    except InvalidFilter as refused:
        return (), refused


@given(LINES)
@example('name:"')
@example("age>0.0001ms")
@example('"" a')
def test_any_line_is_read_or_refused_at_a_place_in_it_and_its_canonical_form_means_the_same(
    line: str,
) -> None:
    conditions, refused = read(line)
    if refused is not None:
        assert 0 <= refused.start < refused.end <= len(line)
    canonical = to_line(conditions)
    assert parse(canonical) == conditions
    assert to_line(parse(canonical)) == canonical


VALUES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
CONDITIONS = st.one_of(
    st.builds(
        lambda field, values, negated: Condition(field=field, values=tuple(values), negated=negated),
        st.sampled_from([name for name in TASK_FIELDS if name not in ("state", "age", "attempts")]),
        st.lists(VALUES, min_size=1, max_size=3),
        st.booleans(),
    ),
    st.builds(
        lambda relation, amount, negated: Condition(
            field="age", relation=relation, amount=amount, negated=negated
        ),
        st.sampled_from([">", ">=", "<", "<="]),
        st.floats(0, 1e10).map(lambda seconds: round(seconds, 6)),
        st.booleans(),
    ),
    st.builds(
        lambda relation, amount: Condition(field="attempts", relation=relation, amount=float(amount)),
        st.sampled_from([":", ">", ">=", "<", "<="]),
        st.integers(0, 1_000_000_000),
    ),
)


@given(st.lists(CONDITIONS, max_size=5), st.none() | VALUES)
def test_conditions_survive_being_written_as_a_line(conditions: list[Condition], text: str | None) -> None:
    asked = (*conditions, *([Condition(field="text", values=(text,))] if text else []))
    assert parse(to_line(asked)) == asked
