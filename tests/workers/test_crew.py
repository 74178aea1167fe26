"""Threads that share quick handlers: one works for all workers, and none of them waits for a handler that is slow."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import plain, rows, wait_until
from dura import ClaimedTask, DurableEngine, Heartbeat, run_workers
from dura.store.idle import IdleWorkers
from dura.store.turns import Turn
from dura.workers import crew
from dura.workers.pool import give_back
from dura.workers.worker import Worker
from workers.terms import terms_of

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

    def start(
        poll_interval: float = 0.05,
        heartbeat: Heartbeat | None = None,
        **handlers: Callable[[DurableEngine, ClaimedTask], Any],
    ) -> threading.Event:
        options = {
            "worker_count": WORKERS,
            "handle_signals": False,
            "stop_event": stop,
            "poll_interval": poll_interval,
            "heartbeat": heartbeat,
        }
        threads.append(
            threading.Thread(target=run_workers, args=(store,), kwargs={"handlers": handlers, **options})
        )
        threads[-1].start()
        return stop

    yield start
    stop.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert "running" not in store.task_counts_by_state()


def spawn(store: DurableEngine, name: str, count: int) -> None:
    store.spawn_many([{"name": name, "params": number, "max_attempts": 1} for number in range(count)])


def cancel_what_runs(store: DurableEngine, path: Path) -> None:
    [(task_id,)] = rows(path, "SELECT task_id FROM tasks WHERE state = 'running'")
    store.cancel_task(task_id)


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
def test_a_worker_that_is_the_only_one_works_for_nobody_else(
    store: DurableEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    drives: list[object] = []
    monkeypatch.setattr(crew.Crew, "_drive", lambda _, hand: drives.append(hand))
    spawn(store, "job", 50)
    stop = threading.Event()
    run_workers(
        store,
        handlers={"job": lambda _, task: stop.set() if task.params == 49 else None},
        worker_count=1,
        stop_event=stop,
        handle_signals=False,
    )
    assert completed(store) == 50
    assert not drives


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("blocked", [1, WORKERS - 1])
def test_a_quick_handler_that_turns_slow_keeps_no_other_run_from_being_begun_or_settled(
    store: DurableEngine, pool: Callable[..., threading.Event], blocked: int
) -> None:
    may_end = threading.Event()

    def job(_: DurableEngine, task: ClaimedTask) -> None:
        if 50 <= task.params < 50 + blocked:
            assert may_end.wait(60)

    # Until then, now and then a thread that rests is called up for a run of which it is not known that it is quick.
    names = ["job" if number % 10 or number > 40 else f"rare {number}" for number in range(150)]
    store.spawn_many([{"name": name, "params": number} for number, name in enumerate(names)])
    pool(**dict.fromkeys(names, job))
    try:
        wait_until(lambda: completed(store) == 150 - blocked)
    finally:
        may_end.set()
    wait_until(lambda: completed(store) == 150)


@pytest.mark.parametrize("same_name", [True, False])
def test_slow_runs_after_quick_ones_are_carried_out_by_all_threads_at_once(
    store: DurableEngine, pool: Callable[..., threading.Event], *, same_name: bool
) -> None:
    together = threading.Barrier(WORKERS, timeout=60)

    def slow(*_: object) -> None:
        together.wait()

    spawn(store, "job", 300)
    names = ["job" if same_name else "slow"] * WORKERS
    store.spawn_many([{"name": name, "params": "slow", "max_attempts": 1} for name in names])
    pool(job=lambda engine, task: slow() if task.params == "slow" else None, slow=slow)
    wait_until(lambda: completed(store) == 300 + WORKERS)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("last", range(100, 100 + WORKERS))
def test_a_pool_that_is_stopped_while_one_thread_works_for_all_leaves_no_run_in_hand(
    store: DurableEngine, pool: Callable[..., threading.Event], last: int
) -> None:
    begun: list[int] = []

    def job(_: DurableEngine, task: ClaimedTask) -> None:
        begun.append(task.params)
        if len(begun) == last:
            stop.set()

    others = set(threading.enumerate())
    stop = pool(job=job)
    spawn(store, "job", 400)
    wait_until(lambda: stop.is_set() and set(threading.enumerate()) <= others)
    assert "running" not in store.task_counts_by_state()
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
            assert locked.wait(60)

    spawn(store, "job", 300)
    pool(job=job)
    assert many.wait(60)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        locked.set()
        wait_until(lambda: "met an error and goes on" in caplog.text)
        other.execute("ROLLBACK")
    wait_until(lambda: completed(store) == 300)
    assert Counter(begun) == Counter(range(300))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("late", ["who comes to rest", "who drives", "who has driven"])
def test_no_run_is_dropped_or_begun_twice_however_late_a_thread_is(
    store: DurableEngine, pool: Callable[..., threading.Event], monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    begun: list[int] = []
    if late != "who comes to rest":
        # The driver is found to be slow before it has begun.
        monkeypatch.setattr(crew, "_PATIENCE", 0.00001)
    method = "_rest" if late == "who comes to rest" else "_carry_out"
    original = getattr(crew.Crew, method)

    def slowly(*arguments: object) -> object:
        if late != "who has driven":
            time.sleep(0.002)
        ended = original(*arguments)
        if late == "who has driven":
            time.sleep(0.002)
        return ended

    monkeypatch.setattr(crew.Crew, method, slowly)
    # Of each name the first run is not known to be quick: it is for a thread of its own.
    names = ["job" if number % 3 else f"rare {number}" for number in range(300)]
    handlers = {name: lambda _, task: begun.append(task.params) for name in names}
    store.spawn_many([{"name": name, "params": number} for number, name in enumerate(names)])
    pool(**handlers)
    wait_until(lambda: completed(store) == len(names))
    assert Counter(begun) == Counter(range(len(names)))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("refused", range(150, 150 + WORKERS))
def test_a_run_that_cannot_be_settled_keeps_no_other_from_being_carried_out(
    store: DurableEngine,
    pool: Callable[..., threading.Event],
    path: Path,
    caplog: pytest.LogCaptureFixture,
    refused: int,
) -> None:
    with plain(path) as other:
        other.execute(
            f"CREATE TRIGGER refused BEFORE UPDATE OF result ON runs WHEN NEW.result = '{refused}' "
            "BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )
    spawn(store, "job", 300)
    pool(poll_interval=3600, job=lambda _, task: task.params)
    wait_until(lambda: completed(store) == 299 and "met an error and goes on" in caplog.text)
    assert caplog.text.count("met an error and goes on") == 1
    with plain(path) as other:
        other.execute("DROP TRIGGER refused")
    cancel_what_runs(store, path)


@pytest.mark.usefixtures("eager")
def test_a_run_of_which_nobody_knows_how_it_ended_is_left_to_its_lease_and_not_begun_again(
    store: DurableEngine, pool: Callable[..., threading.Event], path: Path
) -> None:
    begun: list[int] = []

    class Nameless(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            raise OSError("no name")

    class Unnamed(Exception, metaclass=Nameless):  # noqa: N818
        pass

    def job(_: DurableEngine, task: ClaimedTask) -> None:
        begun.append(task.params)
        if task.params == 100:
            raise Unnamed

    spawn(store, "job", 300)
    pool(job=job)
    wait_until(lambda: completed(store) == 299)
    cancel_what_runs(store, path)
    assert Counter(begun) == Counter(range(300))


def test_a_heartbeat_that_fails_costs_no_thread_and_no_run(
    store: DurableEngine, pool: Callable[..., threading.Event]
) -> None:
    class Failing(Heartbeat):
        beats = 0

        def beat(self) -> None:
            self.beats += 1
            if self.beats % 20 == 0:
                raise OSError("nobody listens")

    begun: list[int] = []
    spawn(store, "job", 200)
    pool(heartbeat=Failing(), job=lambda _, task: begun.append(task.params))
    wait_until(lambda: completed(store) == 200)
    assert Counter(begun) == Counter(range(200))


@pytest.mark.usefixtures("eager")
def test_who_drives_lets_go_of_the_other_workers_once_its_handler_is_not_known_to_be_quick(
    store: DurableEngine, pool: Callable[..., threading.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    blocks, may_end = threading.Semaphore(0), threading.Event()
    goes_on = crew.Crew._goes_on

    def forgetful(self: crew.Crew, hand: Any, *, quick: bool) -> bool:
        """As if another thread had just found the handler slow."""
        has_next = goes_on(self, hand, quick=quick)
        if not has_next and len(begun) >= 100 and not forgotten:
            forgotten.append(True)
            self._quick_runs.clear()
            blocks.release()
        return has_next

    def job(_: DurableEngine, task: ClaimedTask) -> None:
        begun.append(task.params)
        if blocks.acquire(blocking=False):
            assert may_end.wait(60)

    forgotten: list[bool] = []
    monkeypatch.setattr(crew.Crew, "_goes_on", forgetful)
    spawn(store, "job", 300)
    pool(job=job)
    try:
        wait_until(lambda: completed(store) == 299)
    finally:
        may_end.set()
    wait_until(lambda: completed(store) == 300)


@pytest.mark.usefixtures("eager")
def test_runs_that_the_driver_is_just_claiming_when_the_process_ends_are_given_back(
    store: DurableEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = terms_of(store)
    claimed, never = threading.Event(), threading.Event()
    take_turns = store.take_turns

    def take_turns_slowly(turns: Sequence[Turn]) -> Any:
        taken = take_turns(turns)
        claimed.set()
        never.wait(0.5)
        return taken

    monkeypatch.setattr(store, "take_turns", take_turns_slowly)
    spawn(store, "job", 300)
    workers = [Worker(terms, worker_id=f"w{number}", max_priority=None) for number in range(2)]
    pool = crew.Crew(terms, IdleWorkers())
    threads = [threading.Thread(target=pool.work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    assert claimed.wait(60)
    terms.stop_event.set()
    give_back(workers, os.getpid())
    assert "running" not in store.task_counts_by_state()
    for thread in threads:
        thread.join(60)
    assert "running" not in store.task_counts_by_state()
