"""Pools of real threads on a real store: work is found, left to others, drained and given back."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import plain, wait_until
from dura import ClaimedTask, DurableEngine, Heartbeat, InvalidValue, run_worker, run_workers
from dura.monitor import Monitor
from dura.records import Want
from dura.store.claim import Claim
from dura.store.idle import IdleWorkers
from dura.workers import pool as pool_module
from dura.workers.crew import Crew
from dura.workers.signals import Signals
from dura.workers.worker import Worker
from workers.terms import terms_of


@pytest.fixture
def store(path: Path) -> Iterator[DurableEngine]:
    """A store on the machine's clock."""
    engine = DurableEngine(path)
    yield engine
    assert engine.check() == ()
    engine.close()


class Pool:
    """A pool in a thread of its own, stopped at the end of the test."""

    def __init__(self, engine: DurableEngine, handlers: dict[str, Any], **options: Any) -> None:
        self.stop = threading.Event()
        options = {"worker_count": 2, "handle_signals": False, **options}
        self.thread = threading.Thread(
            target=run_workers,
            args=(engine,),
            kwargs={"handlers": handlers, "stop_event": self.stop, **options},
        )
        self.thread.start()

    def end(self) -> None:
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.fixture
def pool(store: DurableEngine) -> Iterator[Callable[..., Pool]]:
    pools: list[Pool] = []

    def start(handlers: dict[str, Any], **options: Any) -> Pool:
        pools.append(Pool(store, handlers, **options))
        return pools[-1]

    yield start
    for each in pools:
        each.end()


def state_of(store: DurableEngine, task_id: str) -> str:
    return store.get_task(task_id).state


def test_a_pool_completes_what_is_spawned_before_and_while_it_runs(
    store: DurableEngine, pool: Callable[..., Pool]
) -> None:
    tasks = [store.spawn_task(name="job", params=n).task_id for n in range(20)]
    pool({"job": lambda _, task: task.params * 2}, worker_count=4)
    tasks += [store.spawn_task(name="job", params=n).task_id for n in range(20, 40)]
    wait_until(lambda: store.task_counts_by_state() == {"completed": 40})
    assert [store.get_task(task_id).result for task_id in tasks] == [n * 2 for n in range(40)]


def test_an_idle_worker_is_woken_by_a_spawn_long_before_its_poll(
    store: DurableEngine, pool: Callable[..., Pool]
) -> None:
    pool({"job": lambda *_: None}, poll_interval=3600.0)
    task = store.spawn_task(name="job", params=None)
    wait_until(lambda: state_of(store, task.task_id) == "completed")


def test_an_idle_worker_notices_another_engines_spawn_long_before_its_poll(
    store: DurableEngine, path: Path, pool: Callable[..., Pool]
) -> None:
    pool({"job": lambda *_: None}, poll_interval=3600.0)
    other = DurableEngine(path)
    task = other.spawn_task(name="job", params=None)
    wait_until(lambda: state_of(store, task.task_id) == "completed")
    other.close()


def test_a_sleepers_time_wakes_an_idle_worker_long_before_its_poll(
    store: DurableEngine, pool: Callable[..., Pool]
) -> None:
    def handler(engine: DurableEngine, task: ClaimedTask) -> str:
        engine.sleep(run_id=task.run_id, task_id=task.task_id, step_name="nap", seconds=0.2)
        return "rested"

    pool({"job": handler}, poll_interval=3600.0)
    task = store.spawn_task(name="job", params=None)
    wait_until(lambda: state_of(store, task.task_id) == "completed")


def test_an_emitted_event_resumes_the_handler_with_its_payload(
    store: DurableEngine, pool: Callable[..., Pool]
) -> None:
    def handler(engine: DurableEngine, task: ClaimedTask) -> Any:
        return engine.wait_for_event(
            run_id=task.run_id, task_id=task.task_id, step_name="approval", event_name="approved"
        )

    pool({"job": handler}, poll_interval=3600.0)
    task = store.spawn_task(name="job", params=None)
    wait_until(lambda: state_of(store, task.task_id) == "sleeping")
    emitted = store.emit_event(event_name="approved", payload={"by": "ann"})
    assert emitted.woken == (task.task_id,)
    wait_until(lambda: state_of(store, task.task_id) == "completed")
    assert store.get_task(task.task_id).result == {"by": "ann"}


def test_an_unknown_name_is_deferred_and_taken_by_a_pool_that_knows_it(
    store: DurableEngine, pool: Callable[..., Pool], caplog: pytest.LogCaptureFixture
) -> None:
    task = store.spawn_task(name="new_job", params=None, max_attempts=1)
    with caplog.at_level(logging.WARNING, "dura.workers"):
        ignorant = pool({"job": lambda *_: None})
        wait_until(lambda: state_of(store, task.task_id) == "sleeping")
        ignorant.end()
    assert "no handler" in caplog.text
    pool({"new_job": lambda *_: "known"})
    wait_until(lambda: state_of(store, task.task_id) == "completed")
    info = store.get_task(task.task_id)
    assert (info.attempts, info.result) == (1, "known")


def test_queues_keep_disjoint_pools_apart(store: DurableEngine, pool: Callable[..., Pool]) -> None:
    seen: list[str] = []
    mine = store.spawn_task(name="job", params="mine", queue="mine")
    theirs = store.spawn_task(name="job", params="theirs", queue="theirs")
    pool({"job": lambda _, task: seen.append(task.params)}, queues=["mine"])
    wait_until(lambda: state_of(store, mine.task_id) == "completed")
    assert seen == ["mine"]
    assert state_of(store, theirs.task_id) == "pending"


def test_workers_of_a_lane_leave_high_priorities_alone(
    store: DurableEngine, pool: Callable[..., Pool]
) -> None:
    low = store.spawn_task(name="job", params=None, priority=1)
    high = store.spawn_task(name="job", params=None, priority=9)
    pool({"job": lambda *_: None}, worker_count=1, lanes=[(5, 1)])
    wait_until(lambda: state_of(store, low.task_id) == "completed")
    assert state_of(store, high.task_id) == "pending"


def test_a_handler_that_exits_or_interrupts_leaves_the_pool_at_full_strength(
    store: DurableEngine, pool: Callable[..., Pool]
) -> None:
    def deadly(*_: object) -> None:
        raise SystemExit(1)

    for _ in range(6):
        store.spawn_task(name="deadly", params=None, max_attempts=1)
    together = threading.Barrier(2, timeout=60)
    pool({"deadly": deadly, "job": lambda *_: together.wait() and None}, worker_count=2)
    wait_until(lambda: store.task_counts_by_state() == {"failed": 6})
    for _ in range(2):
        store.spawn_task(name="job", params=None, max_attempts=1)
    wait_until(lambda: store.task_counts_by_name_and_state()["job"] == {"completed": 2})


def test_an_idle_pool_beats_its_heartbeat_and_writes_nothing(
    store: DurableEngine, path: Path, pool: Callable[..., Pool]
) -> None:
    ticks = iter(range(10**9))
    heartbeat = Heartbeat(clock=lambda: float(next(ticks)))
    pool({}, poll_interval=0.02, heartbeat=heartbeat)
    other = DurableEngine(path)
    before = other.database.version()
    start = next(ticks)
    wait_until(lambda: heartbeat._latest > start + 20)
    assert other.database.version() == before
    other.close()


def test_no_run_is_claimed_once_stop_was_asked_for(store: DurableEngine) -> None:
    stop = threading.Event()
    stop.set()
    task = store.spawn_task(name="job", params=None)
    run_worker(store, handlers={"job": lambda *_: None}, worker_id="w", stop_event=stop)
    run_workers(
        store, handlers={"job": lambda *_: None}, worker_count=2, stop_event=stop, handle_signals=False
    )
    assert state_of(store, task.task_id) == "pending"


def test_a_drain_finishes_the_run_in_hand(store: DurableEngine, pool: Callable[..., Pool]) -> None:
    began, may_end = threading.Event(), threading.Event()

    def handler(*_: object) -> str:
        began.set()
        assert may_end.wait(60)
        return "finished"

    task = store.spawn_task(name="job", params=None)
    running = pool({"job": handler})
    assert began.wait(60)
    running.stop.set()
    waiting = store.spawn_task(name="job", params=None)
    may_end.set()
    running.end()
    assert store.get_task(task.task_id).result == "finished"
    assert state_of(store, waiting.task_id) == "pending"


def test_signal_handlers_are_put_back(store: DurableEngine) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    stop = threading.Event()
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    run_workers(store, handlers={}, worker_count=1, stop_event=stop)
    timer.join()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_pool_leaves_no_thread_and_no_sidecar_file(store: DurableEngine, path: Path) -> None:
    before = set(threading.enumerate())
    store.close()
    stop = threading.Event()
    worker = threading.Thread(
        target=run_workers,
        args=(store,),
        kwargs={"handlers": {}, "worker_count": 3, "stop_event": stop, "handle_signals": False},
    )
    worker.start()
    wait_until(lambda: len(set(threading.enumerate()) - before) >= 6)
    stop.set()
    worker.join(60)
    assert set(threading.enumerate()) <= before
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]


def test_a_thread_that_cannot_start_stops_those_that_did(
    store: DurableEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(threading.enumerate())
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def start_three(thread: threading.Thread) -> None:
        if len(started) == 3:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_three)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run_workers(store, handlers={}, worker_count=5, handle_signals=False)
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_worker_ids_name_host_process_and_thread(store: DurableEngine, pool: Callable[..., Pool]) -> None:
    may_end = threading.Event()
    store.spawn_task(name="job", params=None)
    pool({"job": lambda *_: may_end.wait(60) and None}, worker_count=1)
    wait_until(lambda: store.task_counts_by_state() == {"running": 1})
    with Monitor(store.db_path) as monitor:
        lease = monitor.snapshot(Want(leases=1)).leases[0]
    may_end.set()
    host, process, thread = lease.worker_id.rsplit(":", 2)
    assert (host, process, thread) == (socket.gethostname(), str(os.getpid()), "worker_0")


@pytest.mark.parametrize(
    "options",
    [
        {"worker_count": 0},
        {"worker_count": 1, "lanes": [(1, 2)]},
        {"worker_count": 1, "claim_timeout_secs": 0},
        {"worker_count": 1, "poll_interval": float("nan")},
        {"worker_count": 1, "shutdown_grace_secs": -1},
        {"worker_count": 1, "queues": []},
    ],
)
def test_bad_options_are_refused_before_any_thread_starts(
    store: DurableEngine, options: dict[str, Any]
) -> None:
    before = set(threading.enumerate())
    with pytest.raises(InvalidValue):
        run_workers(store, handlers={}, handle_signals=False, **options)
    assert set(threading.enumerate()) <= before


async def later(engine: DurableEngine, task: ClaimedTask) -> None:
    """No handler."""


@pytest.mark.parametrize(
    ("handlers", "message"),
    [
        ([later], "handlers must map task names to functions, not be \\["),
        ({"job": "job"}, "handlers\\['job'\\] must be a function, not 'job'"),
        ({"job": later}, "handlers\\['job'\\] must be a plain function, not an async one"),
    ],
)
def test_handlers_that_could_not_be_called_are_refused_at_the_start(
    store: DurableEngine, handlers: Any, message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        run_workers(store, handlers=handlers, worker_count=1, handle_signals=False)
    with pytest.raises(InvalidValue, match=message):
        run_worker(store, handlers=handlers, worker_id="me", stop_event=threading.Event())


def test_a_pool_survives_a_store_that_is_locked_for_a_while(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = DurableEngine(path, busy_timeout_ms=50)
    task = store.spawn_task(name="job", params=None)
    blocker = DurableEngine(path)
    locked, release = threading.Event(), threading.Event()

    def hold(value: object) -> None:
        locked.set()
        assert release.wait(60)

    def block() -> None:
        blocker.update_state(namespace="ns", key="k", fn=hold)
        blocker.close()

    holder = threading.Thread(target=block)
    holder.start()
    assert locked.wait(60)
    running = Pool(store, {"job": lambda *_: None}, poll_interval=0.05)
    wait_until(lambda: "is locked" in caplog.text)
    release.set()
    holder.join(60)
    wait_until(lambda: state_of(store, task.task_id) == "completed")
    running.end()
    store.close()


def test_a_drain_waits_for_a_locked_store_to_settle_what_a_handler_has_done(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = DurableEngine(path, busy_timeout_ms=20)
    task = store.spawn_task(name="job", params=None)
    began, may_end = threading.Event(), threading.Event()

    def handler(*_: object) -> str:
        began.set()
        assert may_end.wait(60)
        return "charged"

    running = Pool(store, {"job": handler}, worker_count=1, poll_interval=0.05)
    assert began.wait(60)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        may_end.set()
        wait_until(lambda: "is locked" in caplog.text)
        running.stop.set()
        seen = caplog.text.count("is locked")
        # The worker that would not wait ends now; the one that does asks again and again.
        wait_until(lambda: caplog.text.count("is locked") > seen + 2 or not running.thread.is_alive())
        other.execute("ROLLBACK")
    running.end()
    assert store.get_task(task.task_id).result == "charged"
    store.close()


def test_a_worker_gives_up_on_a_locked_store_once_its_lease_is_over(path: Path) -> None:
    store = DurableEngine(path, busy_timeout_ms=20)
    task = store.spawn_task(name="job", params=None)
    began, may_end, stop = threading.Event(), threading.Event(), threading.Event()

    def handler(*_: object) -> None:
        began.set()
        assert may_end.wait(60)

    worker = threading.Thread(
        target=run_worker,
        args=(store,),
        kwargs={
            "handlers": {"job": handler},
            "worker_id": "w",
            "stop_event": stop,
            "claim_timeout_secs": 0.3,
            "poll_interval": 0.05,
        },
    )
    worker.start()
    assert began.wait(60)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        stop.set()
        may_end.set()
        worker.join(60)
        assert not worker.is_alive()
        other.execute("ROLLBACK")
    assert store.get_task(task.task_id).state == "running"
    store.close()


def test_a_run_that_is_just_being_claimed_when_the_process_ends_is_given_back_too(
    store: DurableEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process gives a run back, and a worker of one that ends as well has begun to look before it was told."""
    task = store.spawn_task(name="job", params=None)
    terms = terms_of(store)
    claimed, never = threading.Event(), threading.Event()
    claim = store.claim_next

    def claim_slowly(wanted: Claim) -> ClaimedTask | None:
        found = claim(wanted)
        claimed.set()
        never.wait(0.5)
        return found

    monkeypatch.setattr(store, "claim_next", claim_slowly)
    worker = Worker(terms, worker_id="w", max_priority=None)
    thread = threading.Thread(target=Crew(terms, IdleWorkers()).work, args=(worker,))
    thread.start()
    assert claimed.wait(60)
    terms.stop_event.set()
    pool_module.give_back([worker], os.getpid())
    assert state_of(store, task.task_id) == "pending"
    thread.join(60)
    assert state_of(store, task.task_id) == "pending"


def test_a_chain_of_tasks_needs_no_poll_in_between(store: DurableEngine, pool: Callable[..., Pool]) -> None:
    def handler(engine: DurableEngine, task: ClaimedTask) -> None:
        if task.params:
            engine.spawn_task(name="job", params=task.params - 1)

    pool({"job": handler}, poll_interval=3600.0, worker_count=3)
    store.spawn_task(name="job", params=50)
    wait_until(lambda: store.task_counts_by_state() == {"completed": 51})


def test_a_drain_may_see_the_last_thread_end_between_two_looks() -> None:
    """A pool whose last worker ended at that moment failed with StopIteration."""

    class Ending(threading.Thread):
        looks = 0

        def is_alive(self) -> bool:
            self.looks += 1
            return self.looks == 1

    thread = Ending(target=lambda: None)
    thread.start()
    thread.join()
    pool_module._drain([], [thread], Signals(), 5)
    assert thread.looks >= 2
