"""A process in which a handler computes leaves the claiming to others, and takes it up again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from conftest import wait_until
from dura.workers.courtesy import Courtesy, interpreter_is_crowded


class Clock:
    """Seconds that only the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock_of_seconds() -> Clock:
    return Clock()


def test_workers_of_a_crowded_process_claim_one_at_a_time_with_pauses(clock_of_seconds: Clock) -> None:
    courtesy = Courtesy(clock=clock_of_seconds, is_crowded=lambda interval: True)
    assert [courtesy.may_claim() for _ in range(3)] == [True] * 3
    courtesy.heed(0.1)
    assert not courtesy.may_claim()
    pause = courtesy.pause()
    assert pause >= 0.1
    clock_of_seconds.now += pause
    assert [courtesy.may_claim() for _ in range(3)] == [True, False, False]


def test_a_slow_claim_makes_no_pause_longer_than_the_longest(clock_of_seconds: Clock) -> None:
    courtesy = Courtesy(clock=clock_of_seconds, is_crowded=lambda interval: True)
    courtesy.heed(3600.0)
    clock_of_seconds.now += 2.0
    assert courtesy.may_claim()


def test_a_claimer_that_never_comes_back_does_not_keep_the_others_for_long(clock_of_seconds: Clock) -> None:
    courtesy = Courtesy(clock=clock_of_seconds, is_crowded=lambda interval: True)
    courtesy.heed(0.1)
    clock_of_seconds.now += 3600.0
    assert [courtesy.may_claim() for _ in range(2)] == [True, False]
    clock_of_seconds.now += 2.0
    assert courtesy.may_claim()


def test_a_quick_claim_ends_the_standing_back(clock_of_seconds: Clock) -> None:
    courtesy = Courtesy(clock=clock_of_seconds, is_crowded=lambda interval: True)
    courtesy.heed(0.1)
    clock_of_seconds.now += 2.0
    assert courtesy.may_claim()
    courtesy.heed(sys.getswitchinterval())
    assert [courtesy.may_claim() for _ in range(3)] == [True] * 3
    assert courtesy.pause() <= 0


def test_a_claim_that_a_slow_disk_kept_makes_nobody_stand_back(clock_of_seconds: Clock) -> None:
    courtesy = Courtesy(clock=clock_of_seconds, is_crowded=lambda interval: False)
    courtesy.heed(10.0)
    assert [courtesy.may_claim() for _ in range(3)] == [True] * 3


@pytest.fixture
def computing() -> Iterator[None]:
    """Another thread that computes in Python without a pause."""
    ends = threading.Event()

    def compute() -> None:
        while not ends.is_set():
            pass

    thread = threading.Thread(target=compute)
    thread.start()
    yield
    ends.set()
    thread.join(60)


@pytest.mark.usefixtures("computing")
def test_an_interpreter_is_crowded_beside_a_thread_that_computes() -> None:
    wait_until(lambda: interpreter_is_crowded(sys.getswitchinterval()))


def test_an_interpreter_is_not_crowded_by_threads_that_wait() -> None:
    ends = threading.Event()
    thread = threading.Thread(target=ends.wait)
    thread.start()
    wait_until(lambda: not interpreter_is_crowded(sys.getswitchinterval()))
    ends.set()
    thread.join(60)
