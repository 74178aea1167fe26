"""Every public call of the monitor with arguments of every kind: it answers or refuses by name, and never writes."""

from __future__ import annotations

import inspect
import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ManualClock
from counts import Count
from dura import DurableEngine, InvalidValue
from dura.monitor import Monitor
from dura.records import FailureKey, TaskQuery, Want
from fuzz.calls import Facts, obey
from fuzz.scene import SETTINGS, fill
from fuzz.values import WILD, Values

PUBLIC: Final = [
    name for name, _ in inspect.getmembers(Monitor, inspect.isfunction) if not name.startswith("_")
]

_FEW: Final = settings(SETTINGS, max_examples=SETTINGS.max_examples * 10)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Facts]:
    path = tmp_path_factory.mktemp("fuzz") / "store.db"
    engine = DurableEngine(path, clock=ManualClock())
    facts = fill(engine)
    engine.close()
    return path, facts


def record(kind: type, facts: Facts) -> Values:
    """A record of this kind, mostly as it should be; now and then with a wild field."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]

    @st.composite
    def draw_all(draw: st.DrawFn) -> Any:
        wild = draw(st.sampled_from(names)) if draw(st.integers(0, 2)) == 0 else None
        given = {}
        for name in names:
            if name == wild:
                given[name] = draw(WILD)
            elif draw(st.integers(0, 3)) == 0:
                given[name] = draw(_of(hints[name], name, facts))
        try:
            return kind(**given)
        except TypeError:
            return None

    return draw_all()


_MEANT: Final = {
    "sort": [
        "newest",
        "-newest",
        "oldest",
        "due",
        "-due",
        "priority",
        "name",
        "-attempts",
        "error",
        "progress",
    ],
    "state": ["pending", "running", "sleeping", "completed", "failed", "cancelled"],
    "failure_groups": ["error", "step"],
    "by": ["error", "step"],
    "field": [
        "name",
        "queue",
        "state",
        "step",
        "worker",
        "id",
        "key",
        "error",
        "event",
        "text",
        "age",
        "attempts",
    ],
    "relation": [":", ">", ">=", "<", "<="],
}
"""What texts of these names are meant to be."""


def _of(hint: Any, name: str, facts: Facts) -> Values:
    alternatives = get_args(hint)
    if get_origin(hint) is tuple:
        if alternatives[-1] is not ...:
            return st.tuples(*(_of(each, name, facts) for each in alternatives))
        return st.lists(_of(alternatives[0], name, facts), max_size=3).map(tuple)
    if NoneType in alternatives:
        return st.none() | _of(alternatives[0], name, facts)
    if is_dataclass(hint):
        return record(hint, facts)  # type: ignore[arg-type]
    if hint is int:
        return st.integers(0, 30)
    if hint is bool:
        return st.booleans()
    if hint is datetime:
        return st.datetimes()
    if hint is float:
        return st.floats(-10, 1e6)
    if name in _MEANT:
        return st.sampled_from(_MEANT[name])
    words = [
        "",
        "job",
        "mail",
        "jo*",
        "[*",
        "%",
        "newest",
        "-due",
        "priority",
        "error",
        "step",
        "failed",
        "sleeping",
    ]
    words += [
        "name",
        "age",
        "text",
        "id",
        "attempts",
        "worker",
        ">",
        ":",
        "feeds",
        "cursor",
        "dura.audit",
        "x" * 2_000,
    ]
    words += [*facts.runs, "WyJuZXdlc3QiLCAxXQ==", "WyJvbGRlc3QiLCAie30iXQ==", "bnVsbA==", "W10=", "!"]
    return st.sampled_from(words)


def test_look_answers_or_refuses_by_name_and_changes_nothing(store: tuple[Path, Facts], count: Count) -> None:
    path, facts = store
    before = untouched(path)

    def content() -> object:
        return untouched(path)

    ends: Counter[str] = Counter()
    with Monitor(path, clock=ManualClock()) as monitor:

        @_FEW
        @given(record(Want, facts) | WILD)
        def fuzz(want: Any) -> None:
            end = obey(monitor.snapshot, {"want": want}, content)
            ends["done" if end is None else end.__name__] += 1

        fuzz()

        @SETTINGS
        @given(st.sampled_from([*facts.runs, "a"]) | WILD, st.integers(0, 5) | WILD)
        def find(part: Any, limit: Any) -> None:
            end = obey(monitor.find_tasks, {"part": part, "limit": limit}, content)
            ends["found" if end is None else end.__name__] += 1

        find()
    assert set(PUBLIC) == {"snapshot", "changed", "find_tasks", "close"}, "a new call: fuzz it here"
    assert untouched(path) == before
    count("looks with drawn arguments", ends.total())
    assert ends["done"] > ends.total() / 10, ends


def untouched(path: Path) -> dict[str, tuple[bytes, int]]:
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.parent.iterdir()}


@pytest.mark.parametrize(
    ("want", "named"),
    [
        (Want(leases=-1), "want.leases"),
        (Want(tasks=TaskQuery(limit=2**64)), "want.tasks.limit"),
        (Want(failed_tasks=FailureKey(by="error", key="\ud800")), "want.failed_tasks.key"),
        (Want(waiting="yes"), "want.waiting"),  # type: ignore[arg-type]
        (Want(tasks=Want()), "want.tasks"),  # type: ignore[arg-type]
        (None, "want"),
    ],
)
def test_what_cannot_be_asked_is_named(store: tuple[Path, Facts], want: Any, named: str) -> None:
    with (
        Monitor(store[0]) as monitor,
        pytest.raises(InvalidValue, match=f"^{named} must|^{named} is|^{named} does"),
    ):
        monitor.snapshot(want)


@pytest.fixture(autouse=True)
def at_rest(store: tuple[Path, Facts]) -> Iterator[None]:
    """Nothing is left beside the store."""
    yield
    assert [file.name for file in store[0].parent.iterdir()] == ["store.db"]


@SETTINGS
@given(
    st.sampled_from(_MEANT["sort"]),
    st.none() | st.sampled_from(_MEANT["state"]),
    st.lists(
        st.one_of(
            st.integers(),
            st.floats(),
            st.text(max_size=3),
            st.none(),
            st.just({}),
            st.just([1]),
            st.booleans(),
        ),
        max_size=4,
    ),
    st.sampled_from(
        ["newest", "oldest", "due", "pending", "running", "sleeping", "last_ended", "first_ended"]
    )
    | st.none(),
)
def test_a_forged_page_is_refused_or_answered(
    store: tuple[Path, Facts], sort: str, state: str | None, key: list[Any], order: str | None
) -> None:
    page = urlsafe_b64encode(json.dumps([order or sort, *key]).encode()).decode()
    with Monitor(store[0], clock=ManualClock()) as monitor:
        try:
            monitor.snapshot(Want(tasks=TaskQuery(sort=sort, state=state, after=page)))
        except InvalidValue as error:
            assert "page" in str(error) or "sort" in str(error)  # noqa: PT017
