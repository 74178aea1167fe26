"""What is not the engine's own methods: opening a store, retry strategies, pools; and values as large as a store can keep."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dura
from conftest import ManualClock, claim, dump
from counts import Count
from dura import DurableEngine, EngineError, Heartbeat, InvalidValue, RetryStrategy, StoreError
from dura.monitor import Monitor
from dura.retry import delay_seconds
from fuzz.calls import obey
from fuzz.scene import SETTINGS
from fuzz.values import NUMBERS, OTHERS, TEXTS, WILD, Values, returning


def some(**plausible: Values) -> Values:
    """Keyword arguments: each plausible, wild or left out."""
    return st.fixed_dictionaries({}, optional={name: values | WILD for name, values in plausible.items()})


OPTIONS: Final = some(
    clock=st.none() | st.just(ManualClock()),
    busy_timeout_ms=st.integers(0, 100),
    synchronous=st.sampled_from(["FULL", "NORMAL"]),
    create=st.booleans(),
    upgrade=st.booleans(),
    mode=st.none() | st.integers(0o600, 0o666),
)


def test_opening_succeeds_or_refuses_by_name_and_makes_no_file(tmp_path: Path, count: Count) -> None:
    ends: Counter[str] = Counter()
    number = 0

    @SETTINGS
    @given(OPTIONS)
    def fuzz(options: dict[str, Any]) -> None:
        nonlocal number
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()

        def opening(**given_options: Any) -> None:
            """As `DurableEngine`.

            Raises:
                ValueError: As there.
            """
            DurableEngine(folder / "store.db", **given_options).close()

        try:
            end = obey(opening, options, lambda: sorted(folder.iterdir()))
        except AssertionError:
            if options.get("create", True):
                raise
            end = StoreError
        ends["done" if end is None else end.__name__] += 1

    fuzz()
    count("engines opened with drawn arguments", ends.total())
    assert ends["done"], ends


@pytest.mark.parametrize(
    "path", [None, 3, b"store.db", "", ":memory:", "a\0b", "\ud800", Path(), object()], ids=range(9)
)
@pytest.mark.parametrize("way", [DurableEngine, Monitor])
def test_what_is_no_path_is_refused(
    path: Any, way: Callable[[Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EngineError):
        way(path).snapshot()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "clock", [3, "now", returning(None), returning("2026"), returning(1.5)], ids=range(5)
)
def test_a_clock_that_tells_no_time_is_refused(clock: Any, path: Path) -> None:
    with pytest.raises(InvalidValue, match="clock"):
        DurableEngine(path, clock=clock)
    assert not path.exists()
    DurableEngine(path).close()
    with pytest.raises(InvalidValue, match="clock"):
        Monitor(path, clock=clock)


def test_a_clock_that_takes_arguments_is_refused_by_name(path: Path) -> None:
    with pytest.raises(InvalidValue, match="clock must return a datetime, and raised TypeError"):
        DurableEngine(path, clock=len)  # type: ignore[arg-type]
    assert not path.exists()


@SETTINGS
@given(
    some(
        kind=st.sampled_from(["none", "fixed", "exponential"]),
        base_seconds=NUMBERS,
        factor=NUMBERS,
        max_seconds=st.none() | NUMBERS,
        jitter_factor=NUMBERS,
    ),
    st.integers(1, 10_000),
)
def test_a_retry_strategy_is_refused_or_gives_a_delay(fields: dict[str, Any], attempt: int) -> None:
    try:
        strategy = RetryStrategy(**fields)
    except InvalidValue as error:
        assert any(name in str(error) for name in (*fields, "base_seconds", "factor"))  # noqa: PT017
        return
    delay = delay_seconds(strategy.to_dict(), attempt)
    assert 0 <= delay < float("inf")
    if strategy.max_seconds is not None:
        assert delay <= strategy.max_seconds


def test_pools_refuse_wrong_arguments_by_name(engine: DurableEngine, path: Path, count: Count) -> None:
    stopped = threading.Event()
    stopped.set()
    before = dump(path)
    ends: Counter[str] = Counter()
    common: dict[str, Values] = {
        "handlers": st.just({"job": returning(None)}),
        "heartbeat": st.none() | st.just(Heartbeat()),
        "claim_timeout_secs": st.integers(1, 100),
        "poll_interval": st.floats(0.01, 1),
        "queues": st.none() | st.just(["default"]),
    }

    @SETTINGS
    @given(
        some(
            **common,
            worker_count=st.integers(1, 3),
            lanes=st.none() | st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=2),
            shutdown_grace_secs=st.floats(0, 1),
            processes=st.just(1),
            engine=st.just(engine),
        )
    )
    def pool(arguments: dict[str, Any]) -> None:
        wanted = {"handlers": {}, "worker_count": 1, **arguments}
        # Some thousand threads are nobody's mistake but the caller's.
        if isinstance(wanted["worker_count"], int) and wanted["worker_count"] > 100:
            return
        end = obey(
            dura.run_workers,
            {"engine": engine, "handle_signals": False, "stop_event": stopped, **wanted},
            lambda: 0,
        )
        ends["done" if end is None else end.__name__] += 1

    @SETTINGS
    @given(
        some(
            **common,
            engine=st.just(engine),
            stop_event=st.just(stopped),
            worker_id=st.text(min_size=1),
            max_priority=st.none() | st.integers(),
        )
    )
    def worker(arguments: dict[str, Any]) -> None:
        end = obey(
            dura.run_worker,
            {"engine": engine, "handlers": {}, "worker_id": "w", "stop_event": stopped, **arguments},
            lambda: 0,
        )
        ends["done" if end is None else end.__name__] += 1

    pool()
    worker()
    count("pools begun with drawn arguments", ends.total())
    assert dump(path) == before
    assert ends["done"], ends


@SETTINGS
@given(
    st.sampled_from(["at_most_secs", "lease_secs"]),
    TEXTS | OTHERS | st.sampled_from([0, -1, math.nan, math.inf, True]),
)
def test_keep_alive_refuses_what_is_no_duration(name: str, value: Any) -> None:
    arguments = {"at_most_secs": 1, "lease_secs": 1, name: value}
    with pytest.raises(InvalidValue, match=name), dura.keep_alive(None, None, **arguments):  # type: ignore[arg-type]
        pass


# --- large values -----------------------------------------------------------------------------------------------------

LARGE: Final = 20_000_000


def storing(engine: DurableEngine, value: Any) -> dict[str, Callable[[], Any]]:
    """Every call that keeps a value; each can be made once."""
    engine.spawn_many([{"name": "job", "params": None}] * 3)
    tasks = [claim(engine) for _ in range(3)]
    return {
        "params": lambda: engine.spawn_task(name="large", params=value),
        "many": lambda: engine.spawn_many(
            [{"name": "small", "params": 1}, {"name": "large", "params": value}]
        ),
        "result": lambda: engine.complete_run(run_id=tasks[0].run_id, result=value),
        "reason": lambda: engine.fail_run(run_id=tasks[1].run_id, reason={"type": "E", "message": value}),
        "step": lambda: engine.checkpoint(task_id=tasks[2].task_id, step_name="large", fn=returning(value)),
        "payload": lambda: engine.emit_event(event_name="large", payload=value),
        "state": lambda: engine.set_state(namespace="large", key="large", value=value),
        "update": lambda: engine.update_state(namespace="large", key="other", fn=returning(value)),
        "name": lambda: engine.spawn_task(name=value, params=None),
        "key": lambda: engine.set_state(namespace="large", key=value, value=None),
    }


def test_values_of_twenty_megabytes_are_kept_and_come_back(engine: DurableEngine, path: Path) -> None:
    value = "ü" * (LARGE // 6)
    for call in storing(engine, value).values():
        call()
    assert engine.get_state(namespace="large", key="other") == value
    assert len(engine.list_state("large")) == 3
    assert claim(engine, queue="default").params in (None, value)
    with Monitor(path) as monitor:
        assert monitor.snapshot().totals()["completed"] == 1


@pytest.mark.parametrize("batched", [False, True])
def test_values_beyond_what_sqlite_keeps_are_refused_and_nothing_is_written(
    engine: DurableEngine, path: Path, batched: bool
) -> None:
    calls = storing(engine, "x" * 60_000)
    for read_or_write in (engine.database.read, engine.database.write):
        read_or_write(lambda given: _connection(given).setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 50_000))
    before = dump(path)
    for name, call in calls.items():
        with pytest.raises(StoreError, match="at most 1 GB"):
            call()
        assert dump(path) == before, name
    engine.spawn_task(name="small", params=None, available_after=timedelta(days=1))


def _connection(given: Any) -> sqlite3.Connection:
    found: sqlite3.Connection = getattr(given, "connection", given)
    return found


def test_the_last_moment_of_the_calendar_is_a_time(path: Path) -> None:
    for moment in (datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)):
        engine = DurableEngine(path, clock=returning(moment))
        engine.spawn_task(name="job", params=None, available_after=timedelta.max)
        engine.spawn_task(name="job", params=None, available_after=timedelta.min)
        task = claim(engine, timeout_secs=1e300)
        engine.extend_claim(run_id=task.run_id, by_secs=1e308)
        engine.fail_run(run_id=task.run_id, reason={"type": "E"})
        engine.cleanup(timedelta.max)
        assert engine.check() == ()
        engine.close()
        with Monitor(path, clock=returning(moment)) as monitor:
            assert monitor.snapshot().ready >= 0
