"""Who waits for work sleeps, and wakes when there may be some: by another process, by the stop event, by nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import plain, wait_until
from dura import DurableEngine, run_worker, run_workers
from dura.store.claim import Claim
from dura.store.database import Database
from dura.workers import logwatch, wakeup
from dura.workers.wakeup import Wakeup

NEVER = 3600.0


class Idler(threading.Thread):
    """A thread that waits again and again, as an idle worker does, and counts how often it was woken."""

    def __init__(self, waking: Wakeup, stop: threading.Event) -> None:
        super().__init__()
        self.woken = 0
        self._waking = waking
        self._stop_event = stop

    def run(self) -> None:
        wanted = Claim(worker_id="idle", lease_seconds=60, queues=None, max_priority=None)
        stirs = 0
        while not self._stop_event.is_set():
            self._waking.idle.wait(wanted, NEVER, stirs)
            stirs = self._waking.idle.stirs
            self.woken += 1


@pytest.fixture
def store(path: Path) -> Iterator[DurableEngine]:
    engine = DurableEngine(path)
    yield engine
    engine.close()


@pytest.fixture
def idler(store: DurableEngine) -> Iterator[Idler]:
    """Has been woken once: by the watcher's first look."""
    stop = threading.Event()
    with Wakeup(store, stop) as waking:
        idler = Idler(waking, stop)
        idler.start()
        wait_until(lambda: idler.woken == 1)
        yield idler
        stop.set()
        idler.join(60)
        assert not idler.is_alive()


@pytest.fixture(params=["told", "looks"])
def blind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kernel's word that the log is written, and without."""
    if request.param == "looks":
        monkeypatch.setattr(logwatch, "_library", lambda: None)


@pytest.mark.usefixtures("blind")
def test_each_commit_of_another_process_wakes_a_worker(path: Path, idler: Idler) -> None:
    with plain(path) as other:
        for number in range(2, 6):
            other.execute("INSERT INTO state VALUES ('ns', ?, '1', '')", (str(number),))
            wait_until(lambda number=number: idler.woken >= number)  # type: ignore[misc]


@pytest.mark.usefixtures("blind")
def test_a_commit_wakes_a_worker_though_it_was_written_long_before(path: Path, idler: Idler) -> None:
    with plain(path) as other:
        # A cache of one page: the log is written as the transaction goes on.
        other.execute("PRAGMA cache_size=1")
        other.execute("BEGIN IMMEDIATE")
        other.executemany(
            "INSERT INTO state VALUES ('ns', ?, hex(randomblob(2000)), '')", [(str(n),) for n in range(50)]
        )
        written = Path(f"{path}-wal").stat().st_size
        assert written > 0
        assert idler.woken == 1
        other.execute("COMMIT")
        wait_until(lambda: idler.woken >= 2)


@pytest.mark.usefixtures("blind")
def test_commits_are_noticed_after_the_log_was_removed_and_made_anew(
    path: Path, store: DurableEngine, idler: Idler
) -> None:
    for _ in range(3):
        # What a fork does: all connections are closed, and the last one removes the log.
        store.database.before_fork()()
        woken = idler.woken
        with plain(path) as other:
            other.execute("INSERT OR REPLACE INTO state VALUES ('ns', 'k', '1', '')")
        wait_until(lambda woken=woken: idler.woken > woken)  # type: ignore[misc]


@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
def test_a_quiet_log_is_looked_at_ever_more_seldom(
    store: DurableEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    version = Database.version

    def look(database: Database) -> int:
        looks.append(time.monotonic())
        return version(database)

    monkeypatch.setattr(Database, "version", look)
    with Wakeup(store, threading.Event()):
        wait_until(lambda: len(looks) >= 9)
    pauses = [after - before for before, after in pairwise(looks[:9])]
    assert all(pause >= 0.001 * 2**number for number, pause in enumerate(pauses, start=1)), pauses


def test_a_store_that_cannot_be_read_for_a_while_is_watched_again(
    path: Path,
    store: DurableEngine,
    idler: Idler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(wakeup, "_TROUBLED", 0.01)
    moved = path.with_suffix(".moved")
    os.rename(path, moved)
    store.database.before_fork()()
    wait_until(lambda: "cannot look for other processes' work" in caplog.text)
    woken = idler.woken
    os.rename(moved, path)
    wait_until(lambda: idler.woken > woken)
    with plain(path) as other:
        woken = idler.woken
        other.execute("INSERT OR REPLACE INTO state VALUES ('ns', 'k', '1', '')")
        wait_until(lambda: idler.woken > woken)


def test_the_stop_event_wakes_all(store: DurableEngine) -> None:
    stop, told = threading.Event(), threading.Event()
    with Wakeup(store, stop, told.set) as waking:
        idlers = [Idler(waking, stop) for _ in range(5)]
        for idler in idlers:
            idler.start()
        assert not told.is_set()
        stop.set()
        assert told.wait(60)
        for idler in idlers:
            idler.join(60)
            assert not idler.is_alive()


def test_a_pool_whose_stop_event_was_set_before_it_started_ends(store: DurableEngine) -> None:
    stop = threading.Event()
    stop.set()
    run_workers(store, handlers={}, worker_count=3, stop_event=stop)
    run_worker(store, handlers={}, worker_id="w", stop_event=stop)


def test_a_pool_leaves_neither_thread_nor_descriptor(store: DurableEngine) -> None:
    store.close()
    threads, descriptors = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    stop = threading.Event()
    pool = threading.Thread(
        target=run_workers,
        args=(store,),
        kwargs={"handlers": {}, "worker_count": 2, "handle_signals": False, "stop_event": stop},
    )
    pool.start()
    wait_until(lambda: len(set(threading.enumerate()) - threads) >= 5)
    stop.set()
    pool.join(60)
    assert set(threading.enumerate()) <= threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_a_waker_that_cannot_start_a_thread_leaves_nothing(
    store: DurableEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeup, "_OUTLIVED", 0.01)
    start = threading.Thread.start
    descriptors, threads = len(os.listdir("/proc/self/fd")), set(threading.enumerate())

    def start_one(thread: threading.Thread) -> None:
        if thread.name == "dura-watcher":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    with pytest.raises(RuntimeError, match="can't start new thread"), Wakeup(store, threading.Event()):
        pass
    assert store.database.idle == []
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    wait_until(lambda: set(threading.enumerate()) <= threads)


@pytest.mark.parametrize("begun", [True, False])
def test_ctrl_c_while_a_waker_starts_its_threads_leaves_nothing(
    store: DurableEngine, monkeypatch: pytest.MonkeyPatch, *, begun: bool
) -> None:
    monkeypatch.setattr(wakeup, "_OUTLIVED", 0.01)
    start, died = threading.Thread.start, list[object]()
    threads, late = set(threading.enumerate()), threading.Event()

    def interrupted(thread: threading.Thread) -> None:
        if thread.name != "dura-watcher":
            start(thread)
            return
        if not begun:
            run = thread.run
            monkeypatch.setattr(thread, "run", lambda: late.wait(60) and run())
            monkeypatch.setattr(thread, "is_alive", lambda: False)
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    monkeypatch.setattr(threading, "excepthook", died.append)
    with pytest.raises(KeyboardInterrupt), Wakeup(store, threading.Event()):
        pass
    late.set()
    assert store.database.idle == []
    wait_until(lambda: set(threading.enumerate()) <= threads)
    assert not died


_IDLE = """
import sys, threading
from dura import DurableEngine, run_worker, run_workers

engine = DurableEngine(sys.argv[1])
told = engine.spawn_task(name="say", params=None)
handlers = {"say": lambda *_: print("idle", flush=True)}
try:
    WAIT
except KeyboardInterrupt:
    print("interrupted")
engine.close()
"""


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        ("run_workers(engine, handlers=handlers, worker_count=2, poll_interval=3600.0)", "ended"),
        (
            "run_workers(engine, handlers=handlers, worker_count=2, poll_interval=3600.0, handle_signals=False)",
            "interrupted",
        ),
        (
            "run_worker(engine, handlers=handlers, worker_id='w', poll_interval=3600.0, stop_event=threading.Event())",
            "interrupted",
        ),
    ],
    ids=["the pool's signals", "the application's", "a single worker"],
)
def test_ctrl_c_ends_an_idle_wait_at_once(path: Path, wait: str, said: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _IDLE.replace("WAIT", wait + '\n    print("ended")'), str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "idle\n"
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=60)[0].split() == [said]
        assert program.returncode == 0
    finally:
        program.kill()
        program.wait()
