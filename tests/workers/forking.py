"""Programs that fork, or end, around an open engine: `python forking.py WHAT STORE`. They say what they found."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

if __name__ in ("__main__", "__mp_main__"):
    sys.path.insert(0, str(Path(__file__).parents[1]))

from dura import DurableEngine, StoreError, run_workers
from dura.monitor import Monitor
from dura.store import connections
from threads import together
from workers.storm import spawn_some

R = TypeVar("R")

CHILDREN: Final = 15
TASKS: Final = 4
"""What each child spawns."""


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def forked(child: Callable[[], object]) -> int:
    """Let a forked child make the call and end as programs do. Returns its process id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return pid


def ended(pid: int) -> None:
    """Wait for a child, which must have ended well."""
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def used(engine: DurableEngine, ready: threading.Barrier) -> None:
    """Use the engine on this thread, and wait until all others have."""
    engine.has_state("n")
    ready.wait(60)


def writers(path: str) -> None:
    """Fork one child after the other while threads write all the time; each child works on the engine, and so do all after."""
    engine = DurableEngine(path, synchronous="NORMAL")
    stop, ready = threading.Event(), threading.Barrier(3)
    spawned: list[str] = []

    def write() -> None:
        used(engine, ready)
        while not stop.is_set():
            spawned.append(engine.spawn_task(name="thread", params=None).task_id)
        engine.close()

    def fork_all() -> None:
        used(engine, ready)
        try:
            for _ in range(CHILDREN):
                ended(forked(partial(child_and_grandchild, engine)))
                spawn_some(engine, "parent", 1)
        finally:
            stop.set()

    together(write, write, fork_all)
    assert len(set(spawned)) == len(spawned)
    assert engine.task_counts_by_name_and_state() == {
        "child": {"pending": CHILDREN * TASKS},
        "grandchild": {"pending": CHILDREN},
        "parent": {"pending": CHILDREN},
        "thread": {"pending": len(spawned)},
    }
    assert engine.check() == ()
    engine.close()
    say(f"{CHILDREN} forks beside {len(spawned)} writes")


def child_and_grandchild(engine: DurableEngine) -> None:
    spawn_some(engine, "child", TASKS // 2)
    ended(forked(partial(spawn_some, engine, "grandchild", 1)))
    spawn_some(engine, "child", TASKS // 2)
    engine.close()


def opening(path: str) -> None:
    """Fork while a thread opens its first connection, which it began while the fork waited for another thread's."""
    engine = DurableEngine(path, synchronous="NORMAL")
    reads, reads_on, opens, opens_on, has_opened = (threading.Event() for _ in range(5))
    connect = connections.connect

    def slowly(*about: Any, **options: Any) -> Any:
        opens.set()
        opens_on.wait(60)
        connection = connect(*about, **options)
        has_opened.set()
        return connection

    def read() -> None:
        def slow(_: object) -> bool:
            reads.set()
            return reads_on.wait(60)

        engine.database.read(slow)
        engine.close()

    def open_meanwhile() -> None:
        while not engine.database._door._line:
            reads.wait(0.01)
        connections.connect = slowly
        opener.start()
        opens.wait(60)
        connections.connect = connect
        reads_on.set()
        # Long enough for a fork that does not wait.
        has_opened.wait(0.3)
        opens_on.set()

    def look() -> None:
        engine.has_state("n")
        engine.close()

    reader, opener, other = (threading.Thread(target=target) for target in (read, look, open_meanwhile))
    reader.start()
    reads.wait(60)
    other.start()
    child = os.fork()
    if child == 0:
        os._exit(0 if has_opened.is_set() else 7)
    for thread in (reader, opener, other):
        thread.join(60)
    engine.close()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == 0, "a thread was inside SQLite, whose locks the child would find held for ever"


class Slow:
    """SQLite, in which a thread is for a while when it opens or closes a connection."""

    def __init__(self) -> None:
        self.armed = False
        self.inside, self.left = threading.Event(), threading.Event()
        connect, slow = sqlite3.connect, self

        class Connection(sqlite3.Connection):
            def close(self) -> None:
                slow.work(super().close)

        def opened(*about: Any, **options: Any) -> Any:
            return slow.work(partial(connect, *about, factory=Connection, **options))

        sqlite3.connect = opened

    def work(self, call: Callable[[], R]) -> R:
        if not self.armed or self.inside.is_set():
            return call()
        self.inside.set()
        # Long enough for a fork that does not wait.
        self.left.wait(0.3)
        result = call()
        self.left.set()
        return result

    def fork_while(self, target: Callable[[], object]) -> None:
        """Fork while a thread, which makes the call, is inside."""
        self.armed = True
        thread = threading.Thread(target=target)
        thread.start()
        assert self.inside.wait(60)
        child = os.fork()
        if child == 0:
            os._exit(0 if self.left.is_set() else 7)
        thread.join(60)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code == 0, "a thread was inside SQLite, whose locks the child would find held for ever"


def closing(path: str) -> None:
    """Fork while a thread closes the connection of another, which has ended without closing it."""
    slow = Slow()
    engine = DurableEngine(path, synchronous="NORMAL")
    together(partial(engine.has_state, "n"))
    slow.fork_while(partial(engine.has_state, "n"))
    engine.close()


def another(path: str) -> None:
    """Fork while a thread opens another engine."""
    slow = Slow()
    engine = DurableEngine(path, synchronous="NORMAL")
    slow.fork_while(lambda: DurableEngine(path).close())
    engine.close()


def looking(path: str) -> None:
    """Fork while a thread looks at the store, and once it has: a copy of its connection would lend the child the log's index."""
    engine = DurableEngine(path)
    slow = Slow()
    monitor = Monitor(path)
    slow.fork_while(monitor.snapshot)
    monitor.snapshot()
    ended(forked(partial(nothing_is_open, path)))
    monitor.snapshot()
    monitor.close()
    engine.close()


def at_once(path: str) -> None:
    """Fork from several threads at once, while another holds an update open."""
    engine = DurableEngine(path, synchronous="NORMAL")

    ready = threading.Barrier(4)

    def fork_some() -> None:
        used(engine, ready)
        for _ in range(5):
            ended(forked(partial(spawn_some, engine, "child", TASKS)))
        engine.close()

    def update() -> None:
        used(engine, ready)
        for _ in range(30):
            engine.update_state(namespace="n", key="k", fn=lambda value: (value or 0) + 1)
        engine.close()

    together(fork_some, fork_some, fork_some, update)
    assert engine.get_state(namespace="n", key="k") == 30
    assert engine.task_counts_by_state() == {"pending": 15 * TASKS}
    assert engine.check() == ()
    engine.close()
    say("15 forks at once")


def inside(path: str) -> None:
    """Fork inside the function of update_state, and return from it in the child too."""
    engine = DurableEngine(path, synchronous="NORMAL")
    parent = os.getpid()

    def change(_: object) -> str:
        child = os.fork()
        if child == 0:
            return "the child's"
        ended(child)
        return "the parent's"

    try:
        engine.update_state(namespace="n", key="k", fn=change)
    except StoreError as error:
        os._exit(0 if os.getpid() != parent and "forked inside" in str(error) else 7)
    if os.getpid() != parent:
        os._exit(8)
    assert engine.get_state(namespace="n", key="k") == "the parent's"
    assert engine.check() == ()
    engine.close()


def pool(path: str) -> None:
    """Fork children that work and end while a pool of this process runs; the pool is the parent's alone."""
    engine = DurableEngine(path, synchronous="NORMAL")
    stop = threading.Event()
    options = {"handlers": {"job": lambda engine, task: os.getpid()}, "worker_count": 3, "stop_event": stop}
    pool = threading.Thread(target=run_workers, args=(engine,), kwargs={**options, "handle_signals": False})
    pool.start()
    links = engine.database._connections.all
    while sum(link.connection is not None for link in links()) < 5:
        # Each of the pool's threads has a connection, the workers and the watcher, and one is for writing.
        stop.wait(0.01)
    for _ in range(CHILDREN):
        ended(forked(partial(spawn_some, engine, "job", TASKS)))
    tasks = [engine.spawn_task(name="job", params=None) for _ in range(CHILDREN)]
    while engine.task_counts_by_state() != {"completed": CHILDREN * (TASKS + 1)}:
        stop.wait(0.01)
    stop.set()
    pool.join(60)
    assert not pool.is_alive()
    assert {engine.get_task(task.task_id).result for task in tasks} == {os.getpid()}
    assert engine.check() == ()
    engine.close()
    say(f"{CHILDREN} forks beside a pool")


THREADS: Final = 4
MOST: Final = 2 * (THREADS + 2) + 1
"""Descriptors of the store: two for each thread's connection, the main thread's and the writer's, and one of the index. SQLite
keeps those of closed connections for the next ones."""


def descriptors(path: str) -> None:
    """Open and close, start threads, fork, and run pools, many times: no more descriptors are open than are in use."""
    engine = DurableEngine(path, synchronous="NORMAL")

    def open_and_close() -> None:
        other = DurableEngine(path)
        other.has_state("n")
        other.close()

    def open_and_drop() -> None:
        DurableEngine(path).has_state("n")
        gc.collect()

    def threads() -> None:
        together(*[partial(engine.has_state, "n")] * THREADS)

    def fork() -> None:
        ended(forked(partial(in_child, engine, path, others(path))))

    def pools() -> None:
        stop = threading.Event()
        threading.Timer(0.02, stop.set).start()
        run_workers(
            engine,
            handlers={"none": lambda engine, task: None},
            worker_count=2,
            stop_event=stop,
            handle_signals=False,
            queues=["none"],
        )

    for what, times in ((open_and_close, 30), (open_and_drop, 15), (threads, 15), (fork, 15), (pools, 10)):
        before = others(path)
        for _ in range(times):
            what()
            assert len(fds()) - len(others(path)) <= MOST, fds()
        assert others(path) == before, what.__name__
        say(f"{what.__name__}: {times} times, {len(fds())} descriptors")
    engine.close()
    nothing_is_open(path)


def nothing_is_open(path: str) -> None:
    """No file of the store."""
    assert len(fds()) == len(others(path)), fds()


def in_child(engine: DurableEngine, path: str, before: list[str]) -> None:
    """A child has connections of its own, and of its parent's none."""
    nothing_is_open(path)
    spawn_some(engine, "child", 1)
    assert others(path) == before


def others(path: str) -> list[str]:
    """The descriptors of this process that are not of the store."""
    return sorted(found for found in fds() if not found.startswith(path))


def fds() -> list[str]:
    """What the descriptors of this process are of."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            continue  # that by which the folder was listed
    return found


def methods(path: str) -> None:
    """Processes that multiprocessing starts in each of its ways, while this one has the engine open and threads that use it."""
    engine = DurableEngine(path, synchronous="NORMAL")
    stop, ready = threading.Event(), threading.Barrier(2)

    def look() -> None:
        used(engine, ready)
        while not stop.wait(0.001):
            engine.ready_run_count()
        engine.close()

    thread = threading.Thread(target=look)
    thread.start()
    used(engine, ready)
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        target = spawn_some if method == "fork" else _open_and_spawn
        argument: DurableEngine | str = engine if method == "fork" else path
        processes = [context.Process(target=target, args=(argument, method, TASKS)) for _ in range(3)]  # type: ignore[attr-defined]
        for process in processes:
            process.start()
        spawn_some(engine, "parent", TASKS)
        for process in processes:
            process.join(60)
            assert process.exitcode == 0
    stop.set()
    thread.join(60)
    assert engine.task_counts_by_name_and_state() == {
        **{method: {"pending": 3 * TASKS} for method in ("fork", "spawn", "forkserver")},
        "parent": {"pending": 3 * TASKS},
    }
    assert engine.check() == ()
    engine.close()
    say("fork, spawn, forkserver")


def _open_and_spawn(path: str, name: str, count: int) -> None:
    engine = DurableEngine(path)
    spawn_some(engine, name, count)
    engine.close()


def end(path: str) -> None:
    """End while threads wait for the write lock, which somebody else keeps: one at SQLite's lock, others in line behind it."""
    engine = DurableEngine(path, busy_timeout_ms=600_000)
    for _ in range(3):
        threading.Thread(
            target=engine.set_state, kwargs={"namespace": "n", "key": "k", "value": 1}, daemon=True
        ).start()
    while len(engine.database._door._line) < 3:
        threading.Event().wait(0.01)
    say("waiting")
    sys.stdin.readline()


PROGRAMS: Final = (
    writers,
    opening,
    closing,
    another,
    looking,
    at_once,
    inside,
    pool,
    descriptors,
    methods,
    end,
)

if __name__ == "__main__":
    {program.__name__: program for program in PROGRAMS}[sys.argv[1]](sys.argv[2])
