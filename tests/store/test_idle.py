"""Claims of idle workers: made once, in the transaction that makes the work due, for who may have it; nobody sleeps on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import ManualClock, claim, rows, wait_until
from dura import DurableEngine
from dura.store.claim import Claim, Granted
from dura.store.idle import IdleWorkers

NEVER = 3600.0
GRANTED = Granted("run", "task", 1, "job", "null", 1, "default", 0, 0, fresh=True)


class Worker(threading.Thread):
    """A worker that has looked in vain, and waits."""

    def __init__(
        self,
        idle: IdleWorkers,
        name: str,
        seconds: float,
        max_priority: int | None,
        queues: tuple[str, ...] | None,
    ) -> None:
        super().__init__(daemon=True)
        self.granted: Granted | None = None
        self._idle = idle
        self._wanted = Claim(worker_id=name, lease_seconds=60, queues=queues, max_priority=max_priority)
        self._seconds = seconds
        self._stirs = idle.stirs

    def run(self) -> None:
        self.granted = self._idle.wait(self._wanted, self._seconds, self._stirs)

    def ended(self) -> Granted | None:
        self.join(60)
        assert not self.is_alive(), f"{self._wanted.worker_id} sleeps on"
        return self.granted

    def waits(self) -> bool:
        return self.is_alive()


@pytest.fixture
def idle(engine: DurableEngine) -> Iterator[IdleWorkers]:
    idle = IdleWorkers()
    engine.database.idle.append(idle)
    yield idle
    engine.database.idle.remove(idle)
    idle.close()


@pytest.fixture
def worker(idle: IdleWorkers) -> Callable[..., Worker]:
    def start(
        name: str,
        *,
        seconds: float = NEVER,
        max_priority: int | None = None,
        queues: tuple[str, ...] | None = None,
    ) -> Worker:
        count = len(idle._waiting)
        worker = Worker(idle, name, seconds, max_priority, queues)
        worker.start()
        wait_until(lambda: len(idle._waiting) > count)
        return worker

    return start


def claimed(path: Path) -> list[tuple[str, str | None]]:
    return rows(path, "SELECT state, claimed_by FROM runs ORDER BY rowid")


def test_a_spawn_claims_for_an_idle_worker_before_it_returns(
    engine: DurableEngine, path: Path, worker: Callable[..., Worker]
) -> None:
    waiting = worker("w1")
    ref = engine.spawn_task(name="job", params={"n": 1})
    assert claimed(path) == [("running", "w1")]
    granted = waiting.ended()
    assert granted is not None
    assert (granted.run_id, granted.claim_token, granted.params) == (ref.run_id, 1, '{"n": 1}')
    engine.complete_run(run_id=ref.run_id, claim_token=granted.claim_token)


def test_a_spawn_of_many_claims_for_all_who_are_idle(
    engine: DurableEngine, path: Path, worker: Callable[..., Worker]
) -> None:
    waiting = [worker(name) for name in ("w1", "w2", "w3")]
    engine.spawn_many([{"name": "job", "params": n} for n in range(10)])
    assert sorted(name for state, name in claimed(path) if state == "running" and name) == ["w1", "w2", "w3"]
    got = [each.ended() for each in waiting]
    assert sorted(granted.params for granted in got if granted) == ["0", "1", "2"]


def test_an_event_is_followed_by_the_claim_of_the_run_that_it_wakes(
    engine: DurableEngine, path: Path, worker: Callable[..., Worker]
) -> None:
    engine.spawn_task(name="job", params=None)
    task = claim(engine)
    engine.await_event(run_id=task.run_id, task_id=task.task_id, step_name="s", event_name="e")
    waiting = worker("w2")
    engine.emit_event(event_name="e")
    assert claimed(path) == [("running", "w2")]
    assert waiting.ended() is not None


def test_a_run_goes_to_a_worker_that_may_have_it_and_the_others_sleep_on(
    engine: DurableEngine, worker: Callable[..., Worker]
) -> None:
    worker("who keeps an eye on the time", queues=("none",))
    low = worker("low", max_priority=3)
    other = worker("other", queues=("other",))
    fit = worker("fit")
    lower = worker("lower", max_priority=1)
    engine.spawn_task(name="job", params=None, priority=5)
    assert fit.ended() is not None
    assert low.waits()
    assert other.waits()
    assert lower.waits()
    engine.spawn_task(name="job", params=None, queue="other", priority=9)
    assert other.ended() is not None
    engine.spawn_task(name="job", params=None, priority=2)
    assert low.ended() is not None
    assert lower.waits()


def test_what_nobody_idle_may_have_stirs_one_of_each_lane(
    engine: DurableEngine, path: Path, worker: Callable[..., Worker]
) -> None:
    lane = [worker("l1", max_priority=3), worker("l2", max_priority=3)]
    queue = [worker("q1", queues=("q",)), worker("q2", queues=("q",))]
    engine.spawn_task(name="job", params=None, priority=5)
    assert claimed(path) == [("pending", None)]
    wait_until(lambda: sum(each.waits() for each in lane) == 1)
    wait_until(lambda: sum(each.waits() for each in queue) == 1)


def test_a_time_that_is_set_lets_a_worker_look_for_it(
    engine: DurableEngine, path: Path, worker: Callable[..., Worker]
) -> None:
    waiting = worker("w1")
    engine.spawn_task(name="job", params=None, available_after=timedelta(seconds=5))
    assert waiting.ended() is None
    assert claimed(path) == [("sleeping", None)]


def test_work_that_is_undone_is_claimed_for_nobody(
    engine: DurableEngine, path: Path, idle: IdleWorkers, worker: Callable[..., Worker]
) -> None:
    def spawn_and_fail(_: object) -> None:
        engine.spawn_task(name="job", params="undone")
        raise ValueError("no")

    waiting = worker("w1")
    with suppress(ValueError):
        engine.update_state(namespace="ns", key="k", fn=spawn_and_fail)
    assert waiting.waits()
    assert claimed(path) == []

    def spawn(_: object) -> None:
        engine.spawn_task(name="job", params="done")

    engine.update_state(namespace="ns", key="k", fn=spawn)
    granted = waiting.ended()
    assert granted is not None
    assert granted.params == '"done"'


def test_a_claim_that_breaks_harms_neither_the_spawn_nor_the_worker(
    engine: DurableEngine, path: Path, worker: Callable[..., Worker]
) -> None:
    engine.database.write(
        lambda tx: tx.execute(
            "CREATE TRIGGER broken BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'broken'); END"
        )
    )
    waiting = worker("w1")
    engine.spawn_task(name="job", params=None)
    assert claimed(path) == [("pending", None)]
    assert waiting.ended() is None
    engine.database.write(lambda tx: tx.execute("DROP TRIGGER broken"))
    assert claim(engine).attempt == 1


def test_a_claim_is_made_once_though_its_worker_has_not_woken_yet(
    idle: IdleWorkers, worker: Callable[..., Worker]
) -> None:
    waiting = worker("w1")
    with idle.serve() as [ticket]:
        ticket.result = GRANTED
        ticket.settle(None)
    with idle.serve() as tickets:
        assert tickets == []
    assert waiting.ended() is GRANTED


def test_who_looked_before_the_commit_and_waits_after_it_looks_again(
    engine: DurableEngine, idle: IdleWorkers
) -> None:
    late = Worker(idle, "late", NEVER, None, None)
    engine.spawn_task(name="job", params=None)
    late.start()
    assert late.ended() is None


def test_who_begins_to_wait_during_the_commit_looks_again(
    idle: IdleWorkers, worker: Callable[..., Worker]
) -> None:
    early = worker("early")
    with idle.serve() as tickets:
        late = worker("late")
        assert len(tickets) == 1
        assert late.waits()
    assert late.ended() is None
    assert early.waits()


def test_who_would_leave_while_its_claim_is_made_waits_for_the_commit(idle: IdleWorkers) -> None:
    served = False
    for seconds in (0.05, 0.5, 5.0, 50.0):
        leaving = Worker(idle, "w1", seconds, None, None)
        leaving.start()
        wait_until(lambda: idle._waiting or not leaving.is_alive())  # noqa: B023
        with idle.serve() as tickets:
            # On a slow machine it has left before, and the next one is more patient.
            for ticket in tickets:
                leaving.join(seconds + 0.2)
                assert leaving.waits()
                ticket.result = GRANTED
                ticket.settle(None)
                served = True
        assert leaving.ended() is (GRANTED if served else None)
        if served:
            break
    assert served


def test_one_keeps_an_eye_on_the_time_and_another_after_it(
    engine: DurableEngine, worker: Callable[..., Worker]
) -> None:
    # Longer than it takes the others to come.
    watching = worker("watching", seconds=2.0)
    sleeping = worker("sleeping", seconds=NEVER)
    also = worker("also", seconds=NEVER)
    assert watching.ended() is None
    assert sleeping.waits()
    assert also.waits()
    watching = worker("watching", seconds=NEVER)
    # The one that watches is granted a run last, and hands on what it watched for.
    engine.spawn_many([{"name": "job", "params": n} for n in range(2)])
    assert [bool(each.ended()) for each in (sleeping, also)] == [True, True]
    assert watching.waits()
    another = worker("another", seconds=NEVER)
    engine.spawn_many([{"name": "job", "params": n} for n in range(2)])
    assert [bool(each.ended()) for each in (watching, another)] == [True, True]


def test_who_watched_and_got_a_run_lets_another_watch(
    engine: DurableEngine, worker: Callable[..., Worker]
) -> None:
    watching = worker("watching", max_priority=9)
    sleeping = worker("sleeping", max_priority=1)
    engine.spawn_task(name="job", params=None, priority=5)
    assert watching.ended() is not None
    assert sleeping.ended() is None


def test_all_leave_when_the_pool_ends_and_nobody_comes(
    idle: IdleWorkers, worker: Callable[..., Worker]
) -> None:
    waiting = [worker(f"w{number}") for number in range(4)]
    idle.close()
    assert [each.ended() for each in waiting] == [None] * 4
    late = Worker(idle, "late", NEVER, None, None)
    late.start()
    assert late.ended() is None


def test_two_pools_of_a_process_share_what_is_spawned(
    engine: DurableEngine, path: Path, worker: Callable[..., Worker]
) -> None:
    second = IdleWorkers()
    engine.database.idle.append(second)
    first_worker = worker("first", queues=("a",))
    second_worker = Worker(second, "second", NEVER, None, ("b",))
    second_worker.start()
    wait_until(lambda: len(second._waiting) == 1)
    engine.spawn_many([{"name": "job", "params": None, "queue": queue} for queue in "ab"])
    assert (first_worker.ended() is not None, second_worker.ended() is not None) == (True, True)
    assert sorted(claimed(path)) == [("running", "first"), ("running", "second")]


def test_a_lease_begins_at_the_time_of_the_commit(
    engine: DurableEngine, path: Path, clock: ManualClock, worker: Callable[..., Worker]
) -> None:
    waiting = worker("w1")
    clock.advance(500)
    engine.spawn_task(name="job", params=None)
    assert waiting.ended() is not None
    clock.advance(59)
    assert engine.claim_task(worker_id="w2") is None
    clock.advance(2)
    assert claim(engine, worker_id="w2").reclaims == 1
