"""A pool that waits: as many wake as there is work for, those who may have it, whoever made it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import at_once, wait_until
from dura import ClaimedTask, DurableEngine, run_workers

NEVER = 3600.0
"""Seconds between two polls: whoever is not woken does not come."""


class Idle:
    """An idle pool, and an engine of its own to reach its store as another process does."""

    def __init__(self, path: Path, workers: int, handlers: dict[str, Any], **options: Any) -> None:
        self.engine, self.other = DurableEngine(path), DurableEngine(path)
        self._stop = threading.Event()
        options = {"worker_count": workers, "handle_signals": False, "poll_interval": NEVER, **options}
        self._thread = threading.Thread(
            target=run_workers,
            args=(self.engine,),
            kwargs={"handlers": handlers, "stop_event": self._stop, **options},
        )
        self._thread.start()
        wait_until(lambda: self.idle() == workers)

    def idle(self) -> int:
        """How many workers wait."""
        return sum(len(pool._waiting) for pool in self.engine.database.idle)

    def end(self) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        assert self.engine.check() == ()
        self.engine.close()
        self.other.close()


@pytest.fixture
def pool(path: Path) -> Iterator[Callable[..., Idle]]:
    pools: list[Idle] = []

    def start(workers: int, handlers: dict[str, Any], **options: Any) -> Idle:
        pools.append(Idle(path, workers, handlers, **options))
        return pools[-1]

    yield start
    for each in pools:
        each.end()


@pytest.fixture(params=["same process", "another"])
def maker(request: pytest.FixtureRequest) -> Callable[[Idle], DurableEngine]:
    """The engine by which work is made."""
    return lambda pool: pool.engine if request.param == "same process" else pool.other


def counted(engine: DurableEngine, state: str) -> int:
    return engine.task_counts_by_state().get(state, 0)


def test_a_burst_gives_all_who_are_idle_work_before_the_first_is_done(
    pool: Callable[..., Idle], maker: Callable[[Idle], DurableEngine]
) -> None:
    together = threading.Barrier(6, timeout=60)
    idle = pool(6, {"job": lambda *_: together.wait() and None})
    maker(idle).spawn_many([{"name": "job", "params": n, "max_attempts": 1} for n in range(12)])
    wait_until(lambda: counted(idle.other, "completed") == 12)


def test_work_made_one_by_one_wakes_one_by_one(
    pool: Callable[..., Idle], maker: Callable[[Idle], DurableEngine]
) -> None:
    together = threading.Barrier(5, timeout=60)
    idle = pool(5, {"job": lambda *_: together.wait() and None})
    for number in range(5):
        maker(idle).spawn_task(name="job", params=number, max_attempts=1)
    wait_until(lambda: counted(idle.other, "completed") == 5)


def test_work_for_one_lane_is_not_lost_on_another(
    pool: Callable[..., Idle], maker: Callable[[Idle], DurableEngine]
) -> None:
    idle = pool(6, {"job": lambda *_: None}, lanes=[(3, 4), (5, 1)])
    for number in range(4):
        maker(idle).spawn_task(name="job", params=None, priority=9)
        wait_until(lambda number=number: counted(idle.other, "completed") == number + 1)  # type: ignore[misc]


def test_all_workers_of_a_lane_take_its_work(
    pool: Callable[..., Idle], maker: Callable[[Idle], DurableEngine]
) -> None:
    together = threading.Barrier(3, timeout=60)
    idle = pool(5, {"job": lambda *_: together.wait() and None}, lanes=[(3, 2)])
    maker(idle).spawn_many([{"name": "job", "params": n, "priority": 9, "max_attempts": 1} for n in range(3)])
    wait_until(lambda: counted(idle.other, "completed") == 3)


def test_a_sleeper_comes_in_time_though_whoever_watched_for_it_works(
    pool: Callable[..., Idle], maker: Callable[[Idle], DurableEngine]
) -> None:
    began, may_end = threading.Semaphore(0), threading.Event()

    def block(*_: object) -> None:
        began.release()
        assert may_end.wait(60)

    idle = pool(3, {"block": block, "job": lambda *_: None})
    engine = maker(idle)
    engine.spawn_task(name="job", params=None, available_after=timedelta(seconds=1))
    engine.spawn_many([{"name": "block", "params": n} for n in range(2)])
    for _ in range(2):
        assert began.acquire(timeout=60)
    wait_until(lambda: counted(idle.other, "completed") == 1)
    may_end.set()


def test_many_sleepers_that_come_due_at_once_wake_all(pool: Callable[..., Idle]) -> None:
    together = threading.Barrier(4, timeout=60)
    idle = pool(4, {"job": lambda *_: together.wait() and None})
    soon = timedelta(seconds=0.3)
    spawns = [{"name": "job", "params": n, "available_after": soon, "max_attempts": 1} for n in range(4)]
    idle.other.spawn_many(spawns)
    wait_until(lambda: counted(idle.other, "completed") == 4)


def test_a_handlers_own_children_are_taken_by_those_who_are_idle(pool: Callable[..., Idle]) -> None:
    def parent(engine: DurableEngine, task: ClaimedTask) -> None:
        children = [engine.spawn_task(name="child", params=n) for n in range(3)]
        wait_until(lambda: all(engine.get_task(child.task_id).state == "completed" for child in children))

    idle = pool(2, {"parent": parent, "child": lambda *_: None})
    idle.engine.spawn_task(name="parent", params=None, max_attempts=1)
    wait_until(lambda: counted(idle.other, "completed") == 4)


def test_work_made_in_one_transaction_with_state_is_taken_once_it_is_committed(
    pool: Callable[..., Idle],
) -> None:
    seen: list[object] = []
    idle = pool(
        3, {"job": lambda engine, task: seen.append(engine.get_state(namespace="test", key="at once"))}
    )
    at_once(idle.engine, lambda: [idle.engine.spawn_task(name="job", params=n) for n in range(3)])
    wait_until(lambda: counted(idle.other, "completed") == 3)
    assert len(seen) == 3


def test_a_pool_that_becomes_idle_while_others_spawn_misses_nothing(
    pool: Callable[..., Idle], maker: Callable[[Idle], DurableEngine]
) -> None:
    idle = pool(3, {"job": lambda *_: None})
    engine = maker(idle)

    def spawn() -> None:
        for number in range(60):
            engine.spawn_task(name="job", params=number)
        engine.close()

    spawners = [threading.Thread(target=spawn) for _ in range(3)]
    for spawner in spawners:
        spawner.start()
    for spawner in spawners:
        spawner.join(60)
    wait_until(lambda: counted(idle.other, "completed") == 180)
