"""Whatever a look at a store may hold, in any combination of states and times, every view shows it."""

from __future__ import annotations

import json
import re
import types
import warnings
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning
from rich.style import Style

from conftest import ManualClock, plain
from dura import DurableEngine
from dura.records import (
    AuditQuery,
    AuditRow,
    AwaitedEvent,
    CheckpointRow,
    EventRow,
    FailureGroup,
    FailureKey,
    NamespaceRow,
    QueueRow,
    SeenTask,
    Snapshot,
    StateRow,
    TaskDetail,
    TaskQuery,
    TaskRow,
    WorkerRow,
)
from dura.states import SleepCause, State
from dura_tui import timeline
from dura_tui.keys import VIEW_KEYS
from dura_tui.screens.all_views import KINDS
from dura_tui.screens.facts import doing_line, fact_rows, since_line, what_line
from dura_tui.widgets import cells
from dura_tui.widgets.live_table import LiveTable, Row
from tui.harness import go_to, monitor, running, table, text, until

FEW: Final[Any] = {
    "deadline": None,
    "database": None,
    "derandomize": True,
    "suppress_health_check": list(HealthCheck),
    # To make such large examples small takes minutes.
    "phases": (Phase.generate,),
}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"

MOMENTS = st.one_of(
    st.none(),
    st.sampled_from((datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), NOW)),
    st.floats(-1e9, 1e9).map(lambda seconds: NOW + timedelta(seconds=seconds)),
    st.floats(-5, 5).map(lambda seconds: NOW + timedelta(seconds=seconds)),
)
"""Never, at the ends of time, about now, and years before and after it."""

NUMBERS = st.one_of(st.integers(0, 5), st.sampled_from((10**6, 2**63 - 1)))
TEXTS = st.one_of(
    st.sampled_from(
        ("", "job", "dura.", "a.b.c", "界" * 60, "🧑‍🚀é\u202e", "[b]x[/]\x1b[2J\n\t\0", "-1s", "x" * 3000)
    ),
    st.text(st.characters(codec="utf-8"), max_size=12),
)
JSONS = st.one_of(
    st.sampled_from(("null", '"…', "{", '{"type": 3, "message": [], "traceback": {"a": 1}}', "NaN", '{"a": ' * 99, "[1, 2…")),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=6).map(json.dumps),
    TEXTS,
)  # fmt: skip

KNOWN: Final[dict[str, st.SearchStrategy[Any]]] = {
    "state": st.sampled_from((*State, "lost")),
    "sleep_cause": st.sampled_from((None, *SleepCause, "boredom")),
    "cause": st.sampled_from((*SleepCause, "boredom")),
    "presence": st.sampled_from(("alive", "gone", "unknown", "")),
    "by": st.sampled_from(("error", "step")),
    "origin": st.sampled_from(("dura", "1.3.0")),
    "reading": st.sampled_from(("live", "still", "copy")),
    "action": st.sampled_from(("emit", "set", "requeue", "")),
    "failed_at": st.one_of(st.sampled_from(("", "yesterday", "2026-01-01 00:00:00")), MOMENTS.map(str)),
    **dict.fromkeys(("params", "result", "payload", "value", "retry", "failure_reason"), JSONS),
}
"""Fields whose values are of a kind."""

IDS: Final[dict[type, tuple[str, ...]]] = {
    AwaitedEvent: ("event_name",),
    EventRow: ("event_name",),
    NamespaceRow: ("namespace",),
    StateRow: ("key",),
    AuditRow: ("key",),
    FailureGroup: ("key",),
    WorkerRow: ("worker_id",),
    QueueRow: ("queue",),
    CheckpointRow: ("name",),
    TaskRow: ("task_id", "run_id"),
    SeenTask: ("task_id",),
}
"""By what records are told apart, where that is not their run: no two in a list have the same."""

WAYS: Final[dict[type, Any]] = {
    TaskQuery: TaskQuery(),
    AuditQuery: AuditQuery(),
    FailureKey: FailureKey(by="error", key="E"),
}
"""Records that are questions."""


def told_apart(records: list[Any]) -> tuple[Any, ...]:
    found = []
    for place, record in enumerate(records):
        names = IDS.get(type(record), ("run_id",))
        known = {field.name for field in fields(record)}
        changes = {name: f"{getattr(record, name)}{place}" for name in names if name in known}
        found.append(replace(record, **changes))
    return tuple(found)


def of_hint(name: str, hint: Any) -> st.SearchStrategy[Any]:
    """What a field of this name and type may hold."""
    optional = types.NoneType in get_args(hint)
    if name in KNOWN and str in (hint, *get_args(hint)):
        return st.none() | KNOWN[name] if optional else KNOWN[name]
    if get_origin(hint) in (types.UnionType, Union):
        [inner] = [each for each in get_args(hint) if each is not types.NoneType]
        return st.none() | of_hint(name, inner)
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        if name == "where":
            return st.just(())
        held = st.lists(of_hint("", item), max_size=3)
        return held.map(told_apart) if is_dataclass(item) else held.map(tuple)
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return st.just(WAYS[hint]) if hint in WAYS else any_of(hint)
    return {
        Any: JSONS, str: TEXTS, int: NUMBERS, bool: st.booleans(), float: st.floats(0, 1e12), datetime: MOMENTS,
    }[hint]  # fmt: skip


@cache
def any_of(kind: type) -> st.SearchStrategy[Any]:
    """Any record of a kind, by the types of its fields."""
    hints = get_type_hints(kind)
    fixed = {"bucket_seconds": st.just(60.0), "hour_bucket_seconds": st.just(300.0), "day_bucket_seconds": st.just(3600.0)}  # fmt: skip
    strategies = {
        field.name: fixed.get(field.name, of_hint(field.name, hints[field.name])) for field in fields(kind)
    }
    for name in ("taken_at", "ends_at", "before"):
        if name in strategies and hints[name] is datetime:
            strategies[name] = st.just(NOW)
    return st.builds(kind, **strategies)


HARMFUL: Final = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, or what breaks or reorders a line."""

TIMES: Final = re.compile(
    r"EXPIRES|DUE IN|TIMEOUT IN|NEXT|AGE|HELD|SEEN|SINCE|OLDEST|DRAINS|TOOK|LATEST|FAILED$"
)
"""Columns that tell a time."""


def look_at(rows: list[Row[Any]], shown: LiveTable[Any]) -> None:
    """Each row has a cell for each column, of one line that a terminal can take, and no time is below zero."""
    for row in rows:
        assert len(row.cells) == len(shown.all_columns)
        for column, cell in zip(shown.all_columns, row.cells, strict=True):
            said = cells.plain(cell)
            assert not HARMFUL.search(said), (column.label, said)
            for _, style in cell:
                Style.parse(style or "none")
            if TIMES.search(column.label):
                assert not re.search(r"-\s*\d", said), (column.label, said)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_every_view_shows_any_look_at_a_store(
    size: tuple[int, int], path: Path, engine: DurableEngine, clock: ManualClock
) -> None:
    async with running(path, clock, size=size) as pilot:
        await until(pilot, lambda: set(KINDS) <= set(monitor(pilot).main._views))
        views = monitor(pilot).main._views
        assert set(views) == {*KINDS, "detail"} == {*(view.name for view in VIEW_KEYS), "detail"}

        @settings(max_examples=25, **FEW)
        @given(any_of(Snapshot), MOMENTS.filter(bool))
        def shown(snapshot: Snapshot, now: datetime) -> None:
            for view in views.values():
                view.show(snapshot, now)
                for each in view.query(LiveTable):
                    look_at(list(each._shown.values()), each)
                view.describe(), view.hints(), view.target(), view.copied()

        with monitor(pilot)._context(), warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            shown()
        await pilot.pause()
        for view in VIEW_KEYS:
            await pilot.press(view.key)
            assert all(len(line) <= size[0] for line in text(pilot).splitlines())


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
@settings(max_examples=100, **FEW)
@given(any_of(TaskDetail), MOMENTS.filter(bool), st.booleans(), st.integers(0, 90))
def test_any_task_is_drawn_to_scale_and_told_in_lines(
    detail: TaskDetail, now: datetime, latest: bool, width: int
) -> None:
    for line in (what_line(detail), doing_line(detail, now), since_line(detail, now)):
        assert not HARMFUL.search(line.plain), line.plain
        assert not re.search(r"(?<![\w-])-\d+(\.\d+)?(ms|[smhd])\b", line.plain.replace("-1s", "")), (
            line.plain
        )
    for row in fact_rows(detail, now):
        assert row.record.lines() is not None
    of = timeline.scale(detail, now, latest=latest)
    assert of.start <= of.end
    for track in timeline.tracks(detail, now):
        assert not HARMFUL.search(cells.plain(track.label))
        assert "-" not in cells.plain(track.note)
        assert len(cells.plain(timeline.draw(track, of, width))) == width
    assert len(cells.plain(timeline.axis(of, width))) == width


NO_JSON = ("{", '{"a": ', "NaN", "nul", '"\x00', "[1,]", "", "😀", '{"type": 3}', "[" * 2000)
NO_TIME = (
    "",
    "yesterday",
    "2026-13-45T99:99:99",
    "9999-12-31T23:59:59.999999+00:00",
    "0000-00-00",
    "9" * 400,
)


@pytest.mark.parametrize("start", [0, 5])
async def test_a_file_of_1_3_0_with_values_that_are_none_is_shown(
    start: int, tmp_path: Path, clock: ManualClock
) -> None:
    store = tmp_path / "old.db"
    store.write_bytes(FIXTURE.read_bytes())
    with plain(store) as connection:
        for name, column, wrong in (
            ("tasks", "params", NO_JSON), ("tasks", "retry_strategy", NO_JSON), ("tasks", "completed_payload", NO_JSON),
            ("runs", "failure_reason", NO_JSON), ("runs", "result", NO_JSON), ("checkpoints", "state", NO_JSON),
            ("events", "payload", NO_JSON), ("state", "value", NO_JSON), ("tasks", "enqueue_at", NO_TIME),
            ("tasks", "first_started_at", NO_TIME), ("runs", "started_at", NO_TIME), ("runs", "claim_expires_at", NO_TIME),
            ("runs", "failed_at", NO_TIME), ("runs", "completed_at", NO_TIME), ("waits", "timeout_at", NO_TIME),
            ("events", "emitted_at", NO_TIME), ("checkpoints", "updated_at", NO_TIME), ("state", "updated_at", NO_TIME),
        ):  # fmt: skip
            known = {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
            if column in known:
                for place, (rowid,) in enumerate(connection.execute(f"SELECT rowid FROM {name}").fetchall()):
                    connection.execute(
                        f"UPDATE {name} SET {column} = ? WHERE rowid = ? AND {column} IS NOT NULL",
                        (wrong[(start + place) % len(wrong)], rowid),
                    )
    async with running(store, clock) as pilot:
        for view in VIEW_KEYS:
            await pilot.press(view.key)
            await until(pilot, lambda: monitor(pilot).main.view.snapshot is not None)
            assert monitor(pilot).trouble is None, view.name
        await pilot.press("4")
        for key in table(pilot).keys[:4]:
            await go_to(pilot, "4", key)
            await pilot.press("enter")
            await until(pilot, lambda: monitor(pilot).main.view.id == "detail" and table(pilot).row_count > 1)
            assert monitor(pilot).trouble is None
            await pilot.press("escape")
