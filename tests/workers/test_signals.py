"""Every signal that asks a pool for its end is counted, and ends the wait for one, whatever the thread was doing as it came."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from conftest import wait_until
from dura import ClaimedTask, DurableEngine, run_workers
from dura.workers.bell import Bell
from dura.workers.signals import Signals

HANG = 30.0


@pytest.fixture
def signals() -> Iterator[Signals]:
    """Signals that are caught."""
    with Signals() as signals, signals.caught():
        yield signals


@contextmanager
def rescued(signals: Signals) -> Iterator[threading.Event]:
    """End by a ring of our own, and say so, what would wait for ever."""
    over, rescue = threading.Event(), threading.Event()

    def watch() -> None:
        if not over.wait(HANG):
            rescue.set()
            signals.ring()

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield rescue
    over.set()
    watcher.join()


def rests(thread: int) -> bool:
    """Whether the thread with this native id sleeps, as often as one looks: it waits for more than for the interpreter."""
    stat = Path(f"/proc/self/task/{thread}/stat")
    return all(stat.read_text().rpartition(")")[2].split()[0] == "S" for _ in range(50))


def test_a_signal_that_another_thread_is_given_ends_the_wait(signals: Signals) -> None:
    """As one does that comes between the last look of the main thread and its wait: no handler runs at the moment."""
    main = threading.get_native_id()

    def interrupt() -> None:
        wait_until(lambda: rests(main))
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    with signals.told(), rescued(signals) as rescue:
        thread = threading.Thread(target=interrupt)
        thread.start()
        signals.wait()
        thread.join()
    assert not rescue.is_set()
    assert (signals.count, signals.latest) == (1, signal.SIGTERM)


def test_an_application_that_catches_signals_itself_can_stop_a_pool_that_waits(path: Path) -> None:
    stop, main = threading.Event(), threading.get_native_id()

    def stopped(number: int, frame: FrameType | None) -> None:
        stop.set()

    def interrupt() -> None:
        wait_until(worked.is_set)
        wait_until(lambda: rests(main))
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        if not stop.wait(HANG):
            hung.set()
            stop.set()

    engine = DurableEngine(path)
    engine.spawn_task(name="work", params=None)
    hung, worked = threading.Event(), threading.Event()
    before = signal.signal(signal.SIGUSR1, stopped)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        run_workers(
            engine,
            handlers={"work": lambda engine, task: worked.set()},
            worker_count=1,
            handle_signals=False,
            stop_event=stop,
        )
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    assert not hung.is_set()


@pytest.mark.parametrize("ends", ["run_workers", "rung_by"])
def test_a_stop_event_that_is_set_is_not_set_again_where_signals_are_handled(path: Path, ends: str) -> None:
    """An application's second SIGTERM would find the event's lock held by the thread that its handler interrupts."""

    class Watched(threading.Event):
        def set(self) -> None:
            assert not self.is_set()
            super().set()

    stop = Watched()
    stop.set()
    if ends == "run_workers":
        run_workers(DurableEngine(path), handlers={}, worker_count=1, handle_signals=False, stop_event=stop)
    else:
        with Bell() as bell, bell.rung_by(stop):
            bell.wait()


def test_a_signal_that_comes_while_the_bell_is_rung_is_not_lost(signals: Signals) -> None:
    """A handler may run between any two steps of a ring on its own thread."""
    for rung in range(200):
        signal.raise_signal(signal.SIGTERM)
        signals.ring()
        signals.wait()
        assert signals.count == rung + 1


def test_what_was_told_of_signals_before_is_told_of_them_again() -> None:
    with Bell() as other:
        before = signal.set_wakeup_fd(other._clapper, warn_on_full_buffer=False)
        try:
            with Signals() as signals, signals.caught(), signals.told():
                pass
            assert signal.set_wakeup_fd(before) == other._clapper
        finally:
            signal.set_wakeup_fd(before)


def test_an_event_loop_calls_its_handlers_for_signals_that_came_while_a_pool_kept_it_waiting(
    path: Path,
) -> None:
    called: list[str] = []

    def work(engine: DurableEngine, task: ClaimedTask) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        os.kill(os.getpid(), signal.SIGTERM)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, called.append, "its own")
        loop.add_signal_handler(signal.SIGTERM, called.append, "the pool's")
        run_workers(engine, handlers={"work": work}, worker_count=1)
        await asyncio.sleep(0)
        await asyncio.to_thread(wait_until, lambda: called)

    engine = DurableEngine(path)
    engine.spawn_task(name="work", params=None)
    asyncio.run(main())
    assert called == ["its own"]


def test_who_was_told_of_signals_before_may_be_gone() -> None:
    with Bell() as other:
        before = signal.set_wakeup_fd(other._clapper, warn_on_full_buffer=False)
        try:
            with Signals() as signals, signals.told():
                other.__exit__()
                signal.raise_signal(signal.SIGWINCH)
            assert signal.set_wakeup_fd(-1) == -1
        finally:
            signal.set_wakeup_fd(before)
            other.__enter__()


def test_a_ring_after_its_block_writes_to_no_other_file(tmp_path: Path) -> None:
    """The number of a closed descriptor is given to the next file that is opened: a store, say."""
    with Bell() as bell:
        closed = bell._clapper
    taken = [os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)]
    while taken[-1] < closed:
        taken.append(os.dup(taken[0]))
    bell.ring()
    assert os.fstat(taken[0]).st_size == 0
    for descriptor in taken:
        os.close(descriptor)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_a_forked_child_does_there_what_it_did_before_the_pool(number: signal.Signals) -> None:
    earlier = signal.signal(number, lambda *_: os._exit(7))
    try:
        with Signals() as signals, signals.caught(), signals.told():
            child = os.fork()
            if child == 0:
                os.kill(os.getpid(), number)
                os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            assert signals.count == 0
    finally:
        signal.signal(number, earlier)


def test_a_forked_child_can_be_ended_from_its_first_moment_on() -> None:
    """Python forgets, in the child, the signals of before it has tidied up there: one in six that follows the fork at once."""
    with Signals() as signals, signals.caught(), signals.told():
        for _ in range(40):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                signal.pause()
                os._exit(1)
            os.kill(child, signal.SIGTERM)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    assert signals.count == 0


def test_a_process_that_forks_while_a_pool_runs_catches_signals_as_before() -> None:
    with Signals() as signals, signals.caught():
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
        signal.raise_signal(signal.SIGTERM)
        assert signals.count == 1
