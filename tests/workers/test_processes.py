"""A pool of several processes, in the test's own: workers are dealt out, processes are replaced, drained and killed."""

from __future__ import annotations

import dataclasses
import errno
import logging
import multiprocessing.context
import os
import pickle
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import Pipe, active_children
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, plain, rows, wait_until
from dura import DurableEngine, Heartbeat, InvalidValue, PoolFailed, StoreNotFound, run_workers
from dura.clock import system_clock
from dura.workers import place, processes
from dura.workers.child import BEAT, _obey
from dura.workers.place import Place
from dura.workers.share import Share, deal
from dura.workers.signals import Signals
from workers.spread import HANDLERS, tell
from workers.terms import terms_of


@pytest.fixture
def store(path: Path) -> Iterator[DurableEngine]:
    """A store on the machine's clock."""
    engine = DurableEngine(path)
    yield engine
    assert engine.check() == ()
    engine.close()


class Pool:
    """A pool of two processes in a thread of its own, stopped at the end of the test."""

    def __init__(self, engine: DurableEngine, **options: Any) -> None:
        self.stop = threading.Event()
        self.failure: Exception | None = None
        options = {"handlers": HANDLERS, "worker_count": 2, "processes": 2, **options}
        self.thread = threading.Thread(
            target=self._run,
            args=(engine,),
            kwargs={"handle_signals": False, "stop_event": self.stop, **options},
        )
        self.thread.start()

    def _run(self, engine: DurableEngine, **options: Any) -> None:
        try:
            run_workers(engine, **options)
        except PoolFailed as failure:
            self.failure = failure

    def end(self) -> None:
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive()
        assert active_children() == []


@pytest.fixture
def pool(store: DurableEngine) -> Iterator[Callable[..., Pool]]:
    pools: list[Pool] = []

    def start(**options: Any) -> Pool:
        pools.append(Pool(store, **options))
        return pools[-1]

    yield start
    for each in pools:
        each.end()


def ledger(folder: Path) -> list[str]:
    file = folder / "ledger"
    return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


def process_of(folder: Path, line: str) -> int:
    """The process that wrote the last such line."""
    return int(re.findall(rf"^{line} (\d+)$", (folder / "ledger").read_text(), re.MULTILINE)[-1])


@pytest.mark.parametrize(
    ("priorities", "shares"),
    [
        ([None] * 8, [(None,) * 3, (None,) * 3, (None,) * 2]),
        ([5, 5, None, None, None], [(5, None), (5, None), (None,)]),
        ([1, 1, 1, 7, 7, 7, None], [(1, 7, None), (1, 7), (1, 7)]),
    ],
)
def test_workers_are_dealt_out_evenly_and_those_of_each_lane_too(
    store: DurableEngine, priorities: list[int | None], shares: list[tuple[int | None, ...]]
) -> None:
    dealt: list[Share] = [
        pickle.loads(share) for share in deal(terms_of(store, {"tell": tell}, lease=1), priorities, 3, 1.0)
    ]
    assert [share.priorities for share in dealt] == shares


def test_a_process_opens_the_store_with_the_engines_options_and_makes_none(path: Path) -> None:
    engine = DurableEngine(path, clock=clock_of_this_module, busy_timeout_ms=77, synchronous="NORMAL")
    share: Share = pickle.loads(deal(terms_of(engine, {"tell": tell}, lease=1), [None], 1, 1.0)[0])
    engine.close()
    opened = share.open_engine()
    assert opened.db_path == engine.db_path
    assert opened.now() == clock_of_this_module()
    database = opened.database
    pragmas = [
        database.read(lambda connection, name=name: connection.execute(f"PRAGMA {name}").fetchone()[0])  # type: ignore[misc]
        for name in ("busy_timeout", "synchronous")
    ]
    assert pragmas == [77, 1]
    opened.close()
    path.unlink()
    with pytest.raises(StoreNotFound):
        share.open_engine()


def clock_of_this_module() -> Any:
    return ManualClock()()


def test_what_no_other_process_could_import_is_refused_by_name_before_any_starts(
    store: DurableEngine, path: Path
) -> None:
    spread = partial(run_workers, worker_count=2, processes=2, handle_signals=False)
    with pytest.raises(
        InvalidValue, match=r"the handler of 'odd' cannot be handed to another process .*lambda"
    ):
        spread(store, handlers={"tell": tell, "odd": lambda *_: None})
    with pytest.raises(
        InvalidValue, match=r"the handler of 'bound' cannot be .*must be a function that is defined"
    ):
        spread(store, handlers={"bound": partial(min, threading.Lock())})
    clocked = DurableEngine(path, clock=lambda: system_clock())
    with pytest.raises(InvalidValue, match="the engine's clock cannot be handed to another process"):
        spread(clocked, handlers={"tell": tell})
    clocked.close()
    assert active_children() == []


@pytest.mark.parametrize("count", [0, 3, True, 1.5])
def test_a_count_of_processes_that_makes_no_sense_is_refused(store: DurableEngine, count: Any) -> None:
    with pytest.raises(InvalidValue, match="processes"):
        run_workers(store, handlers={"tell": tell}, worker_count=2, processes=count, handle_signals=False)


def test_each_process_works_under_ids_of_its_own_until_the_stop_event(
    store: DurableEngine, path: Path, tmp_path: Path, pool: Callable[..., Pool]
) -> None:
    held = [store.spawn_task(name="hold", params={"folder": str(tmp_path)}) for _ in range(2)]
    pid = store.spawn_task(name="tell", params=None)
    threads = set(threading.enumerate())
    running = pool()
    wait_until(lambda: ledger(tmp_path).count("begins") == 2)
    workers = {row[0] for row in rows(path, "SELECT claimed_by FROM runs WHERE state = 'running'")}
    children = {child.pid for child in active_children()}
    assert workers == {f"{socket.gethostname()}:{child}:worker_0" for child in children}
    (tmp_path / "go").touch()
    wait_until(lambda: store.get_task(pid.task_id).state == "completed")
    assert store.get_task(pid.task_id).result in children
    running.end()
    assert [store.get_task(task.task_id).result for task in held] == ["attempt 1"] * 2
    assert os.getpid() not in children
    assert set(threading.enumerate()) <= threads
    store.close()
    assert not path.with_name(path.name + "-wal").exists()


@pytest.mark.parametrize("name", ["start_a_program", "end_a_child"])
def test_what_a_handler_starts_can_be_ended_by_signals(
    store: DurableEngine, pool: Callable[..., Pool], name: str
) -> None:
    task = store.spawn_task(name=name, params=None)
    pool()
    wait_until(lambda: store.get_task(task.task_id).state == "completed")
    assert store.get_task(task.task_id).result == -signal.SIGTERM


def test_a_process_that_is_killed_is_replaced_and_its_run_comes_back_as_the_same_attempt(
    store: DurableEngine,
    path: Path,
    tmp_path: Path,
    pool: Callable[..., Pool],
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = store.spawn_task(name="hold", params={"folder": str(tmp_path)}, max_attempts=1)
    pool(claim_timeout_secs=3600.0)
    wait_until(lambda: "begins" in ledger(tmp_path))
    victim = process_of(tmp_path, "begins")
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: f"(pid {victim}) was ended by SIGKILL" in caplog.text)
    assert store.get_task(task.task_id).state == "running"
    with plain(path) as other:
        other.execute("UPDATE runs SET claim_expires_at = started_at WHERE state = 'running'")
    wait_until(lambda: ledger(tmp_path).count("begins") == 2)
    (tmp_path / "go").touch()
    wait_until(lambda: store.get_task(task.task_id).state == "completed")
    assert store.get_task(task.task_id).result == "attempt 1"
    assert ledger(tmp_path) == ["first", "begins", "begins", "ends"]
    assert re.search(rf"\(pid {victim}\) was ended by SIGKILL; .* Another one starts at once", caplog.text)
    wait_until(lambda: len(active_children()) == 2)


def test_pauses_between_processes_that_do_not_last_grow_and_are_bounded() -> None:
    now = 0.0
    seat = Place(0, b"", clock=lambda: now)
    assert [seat.clear() for _ in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]
    now = 3600.0
    assert [seat.clear() for _ in range(2)] == [0, 0]


_FRAIL = """
import pathlib
from workers.spread import tell
if pathlib.Path({flag!r}).exists():
    raise ImportError("the flag is there")
def frail(engine, task):
    return tell(engine, task)
"""


@pytest.fixture
def frail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A handler whose module cannot be imported any more once tmp_path/broken exists."""
    (tmp_path / "frail_module.py").write_text(_FRAIL.format(flag=str(tmp_path / "broken")))
    monkeypatch.syspath_prepend(str(tmp_path))
    import frail_module  # type: ignore[import-not-found]

    return frail_module.frail


def test_a_process_that_cannot_import_the_handlers_fails_the_pool_at_once_and_says_why(
    store: DurableEngine, tmp_path: Path, pool: Callable[..., Pool], frail: Any
) -> None:
    (tmp_path / "broken").touch()
    running = pool(handlers={"frail": frail})
    wait_until(lambda: running.failure is not None)
    assert re.search(
        r"process 0 of the pool .* before it was ready: ImportError: the flag is there", str(running.failure)
    )


def test_a_system_without_room_for_a_process_fails_the_pool(
    store: DurableEngine, pool: Callable[..., Pool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", no_room)
    running = pool()
    wait_until(lambda: running.failure is not None)
    assert str(running.failure) == (
        "process 0 of the pool (not running) cannot be started: [Errno 11] Resource temporarily unavailable"
    )


def test_a_pool_whose_processes_cannot_be_replaced_any_more_drains_and_fails(
    store: DurableEngine,
    tmp_path: Path,
    pool: Callable[..., Pool],
    frail: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "dura.workers")
    monkeypatch.setattr(place, "_SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(processes, "_TRIES", 3)
    task = store.spawn_task(name="hold", params={"folder": str(tmp_path)})
    running = pool(handlers={**HANDLERS, "frail": frail}, worker_count=3)
    wait_until(lambda: "begins" in ledger(tmp_path) and caplog.text.count("is ready") == 2)
    (tmp_path / "broken").touch()
    [other] = {child.pid or 0 for child in active_children()} - {process_of(tmp_path, "begins")}
    os.kill(other, signal.SIGKILL)
    wait_until(lambda: "draining" in caplog.text)
    (tmp_path / "go").touch()
    wait_until(lambda: running.failure is not None)
    assert "ImportError: the flag is there" in str(running.failure)
    assert caplog.text.count("before it was ready: ImportError") == 2
    assert store.get_task(task.task_id).state == "completed"


def test_a_process_that_hangs_past_the_grace_is_killed_and_named(
    store: DurableEngine,
    tmp_path: Path,
    pool: Callable[..., Pool],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(processes, "_LAST_SECONDS", 0.5)
    task = store.spawn_task(name="keep_the_interpreter", params={"folder": str(tmp_path)})
    running = pool(shutdown_grace_secs=0.1)
    wait_until(lambda: "begins" in ledger(tmp_path))
    hung = process_of(tmp_path, "begins")
    running.end()
    assert (
        f"the grace of 0.1 s is over: process 0 of the pool (pid {hung}) has not ended and is killed"
        in caplog.text
    )
    assert store.get_task(task.task_id).state == "running"


def test_the_parent_beats_for_processes_that_show_signs_of_life(
    store: DurableEngine, pool: Callable[..., Pool]
) -> None:
    beats = iter(range(10**9))
    heartbeat = Heartbeat(clock=lambda: float(next(beats)))
    pool(heartbeat=heartbeat, poll_interval=0.02)
    wait_until(lambda: heartbeat._latest >= 3)


def test_a_process_without_signs_of_life_is_not_spoken_for(store: DurableEngine) -> None:
    ours, theirs = Pipe()
    terms = terms_of(store)
    lively = dataclasses.replace(terms, heartbeat=Heartbeat())
    child = threading.Thread(target=_obey, args=(theirs, os.getppid(), lively, Signals()))
    child.start()
    assert lively.heartbeat is not None
    assert not ours.poll(0.6)
    lively.heartbeat.beat()
    assert ours.poll(60)
    assert ours.recv() == (BEAT,)
    assert not ours.poll(0.6)
    ours.close()
    child.join(60)
    assert lively.stop_event.is_set()
    theirs.close()
