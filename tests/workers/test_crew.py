"""Threads that share quick handlers: one works for all workers, and none of them waits for a handler that is slow."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import plain, wait_until
from dura import ClaimedTask, DurableEngine, run_workers
from dura.workers import crew

WORKERS = 4


@pytest.fixture
def store(path: Path) -> Iterator[DurableEngine]:
    """A store on the machine's clock, where the lock is not waited for long."""
    engine = DurableEngine(path, busy_timeout_ms=50)
    yield engine
    assert engine.check() == ()
    engine.close()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every handler that ends without parking its run counts as quick, at once."""
    monkeypatch.setattr(crew, "_QUICK", 3600.0)
    monkeypatch.setattr(crew, "_PROOF", 1)


@pytest.fixture
def pool(store: DurableEngine) -> Iterator[Callable[..., threading.Event]]:
    """Starts a pool; returns what stops it."""
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def start(**handlers: Callable[[DurableEngine, ClaimedTask], Any]) -> threading.Event:
        options = {
            "worker_count": WORKERS,
            "handle_signals": False,
            "stop_event": stop,
            "poll_interval": 0.05,
        }
        threads.append(
            threading.Thread(target=run_workers, args=(store,), kwargs={"handlers": handlers, **options})
        )
        threads[-1].start()
        return stop

    yield start
    stop.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert "running" not in store.task_counts_by_state()


def spawn(store: DurableEngine, name: str, count: int) -> None:
    store.spawn_many([{"name": name, "params": number, "max_attempts": 1} for number in range(count)])


def completed(store: DurableEngine) -> int:
    return store.task_counts_by_state().get("completed", 0)


@pytest.mark.usefixtures("eager")
def test_one_thread_carries_out_the_runs_of_all_workers_while_they_are_quick(
    store: DurableEngine, pool: Callable[..., threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "_PATIENCE", 3600.0)
    spawn(store, "job", 400)
    threads: list[int] = []
    pool(job=lambda *_: threads.append(threading.get_ident()))
    wait_until(lambda: completed(store) == 400)
    # The others may each have been slow to begin a run of their own.
    assert Counter(threads[200:]).most_common(1)[0][1] >= 200 - 2 * WORKERS


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("blocked", [1, WORKERS - 1])
def test_a_quick_handler_that_turns_slow_keeps_no_other_run_from_being_begun_or_settled(
    store: DurableEngine, pool: Callable[..., threading.Event], blocked: int
) -> None:
    may_end = threading.Event()

    def job(_: DurableEngine, task: ClaimedTask) -> None:
        if 50 <= task.params < 50 + blocked:
            assert may_end.wait(30)

    spawn(store, "job", 150)
    pool(job=job)
    try:
        wait_until(lambda: completed(store) == 150 - blocked)
    finally:
        may_end.set()
    wait_until(lambda: completed(store) == 150)


@pytest.mark.parametrize("same_name", [True, False])
def test_slow_runs_after_quick_ones_are_carried_out_by_all_threads_at_once(
    store: DurableEngine, pool: Callable[..., threading.Event], *, same_name: bool
) -> None:
    together = threading.Barrier(WORKERS, timeout=20)

    def slow(*_: object) -> None:
        together.wait()

    spawn(store, "job", 300)
    names = ["job" if same_name else "slow"] * WORKERS
    store.spawn_many([{"name": name, "params": "slow", "max_attempts": 1} for name in names])
    pool(job=lambda engine, task: slow() if task.params == "slow" else None, slow=slow)
    wait_until(lambda: completed(store) == 300 + WORKERS)


@pytest.mark.usefixtures("eager")
def test_a_pool_that_is_stopped_while_one_thread_works_for_all_leaves_no_run_in_hand(
    store: DurableEngine, pool: Callable[..., threading.Event]
) -> None:
    begun: list[int] = []

    def job(_: DurableEngine, task: ClaimedTask) -> None:
        begun.append(task.params)
        if len(begun) == 100:
            stop.set()

    spawn(store, "job", 400)
    stop = pool(job=job)
    wait_until(lambda: "running" not in store.task_counts_by_state() and stop.is_set())
    assert completed(store) == len(begun) == len(set(begun))


@pytest.mark.usefixtures("eager")
def test_what_failed_or_was_cancelled_costs_the_other_workers_nothing(
    store: DurableEngine, pool: Callable[..., threading.Event]
) -> None:
    def job(engine: DurableEngine, task: ClaimedTask) -> None:
        if task.params % 7 == 3:
            raise ValueError("seven")
        if task.params % 11 == 4:
            engine.cancel_task(task.task_id)

    spawn(store, "job", 200)
    pool(job=job)
    failed = sum(n % 7 == 3 for n in range(200))
    cancelled = sum(n % 7 != 3 and n % 11 == 4 for n in range(200))
    wait_until(
        lambda: (
            store.task_counts_by_state()
            == {"failed": failed, "cancelled": cancelled, "completed": 200 - failed - cancelled}
        )
    )


@pytest.mark.usefixtures("eager")
def test_runs_that_cannot_be_settled_for_a_lock_are_settled_later_and_not_carried_out_again(
    store: DurableEngine, pool: Callable[..., threading.Event], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun: list[int] = []
    many, locked = threading.Event(), threading.Event()

    def job(_: DurableEngine, task: ClaimedTask) -> None:
        begun.append(task.params)
        if len(begun) == 100:
            many.set()
            assert locked.wait(30)

    spawn(store, "job", 300)
    pool(job=job)
    assert many.wait(30)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        locked.set()
        wait_until(lambda: "met an error and goes on" in caplog.text)
        other.execute("ROLLBACK")
    wait_until(lambda: completed(store) == 300)
    assert Counter(begun) == Counter(range(300))
