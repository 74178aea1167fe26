"""The line at the write lock: each operation counts once or not at all, whatever happens to those it is committed with."""

from __future__ import annotations

import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from conftest import ManualClock, plain, rows, trace, wait_until
from dura import CommitUnknown, DurableEngine, InvalidRunState, StoreBusy, StoreError
from dura.store import commits as commits_module
from dura.store import database as database_module
from dura.store import door as door_module
from dura.store.transaction import Transaction


class Caller:
    """A call on a thread of its own, and how it ended."""

    def __init__(self, engine: DurableEngine, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None

        def run() -> None:
            try:
                self.result = call()
            except BaseException as error:  # noqa: BLE001 - looked at by the test
                self.error = error
            engine.close()

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def ended(self) -> Caller:
        self.thread.join(60)
        assert not self.thread.is_alive(), "the caller hangs"
        return self


def waiting(engine: DurableEngine) -> int:
    return len(engine.database._door._line)


class Held:
    """The door held by an operation that waits; whoever comes meanwhile stands in line."""

    def __init__(self, engine: DurableEngine) -> None:
        self.engine = engine
        self.callers: list[Caller] = []
        self._release = threading.Event()
        held = threading.Event()

        def hold(_: object) -> int:
            held.set()
            assert self._release.wait(60)
            return 1

        self.holder = Caller(engine, lambda: engine.update_state(namespace="held", key="k", fn=hold))
        assert held.wait(60)

    def call(self, call: Callable[[], Any]) -> Caller:
        """Let another thread stand in line, behind those who came before. Some of them may leave meanwhile."""
        line = self.engine.database._door._line
        before = list(line)
        caller = Caller(self.engine, call)
        wait_until(lambda: set(line) - set(before))
        self.callers.append(caller)
        return caller

    def release(self) -> list[Caller]:
        self._release.set()
        assert self.holder.ended().error is None
        return [caller.ended() for caller in self.callers]


@pytest.fixture
def engine(path: Path, clock: ManualClock) -> Iterator[DurableEngine]:
    engine = DurableEngine(path, clock=clock, synchronous="NORMAL")
    yield engine
    assert engine.check() == ()
    engine.close()


def names(path: Path) -> list[str]:
    return [name for (name,) in rows(path, "SELECT task_name FROM tasks ORDER BY rowid")]


def spawner(engine: DurableEngine, name: str) -> Callable[[], Any]:
    return lambda: engine.spawn_task(name=name, params=None)


def test_those_who_wait_are_served_in_order_and_each_gets_its_own_result(
    engine: DurableEngine, path: Path
) -> None:
    held = Held(engine)
    for number in range(12):
        held.call(spawner(engine, f"n{number}"))
    callers = held.release()
    assert names(path) == [f"n{number}" for number in range(12)]
    for number, caller in enumerate(callers):
        assert engine.get_task(caller.result.task_id).state == "pending"
        assert rows(path, "SELECT task_name FROM tasks WHERE task_id = ?", caller.result.task_id) == [
            (f"n{number}",)
        ]


@pytest.mark.batching
def test_one_commit_serves_all_who_wait(engine: DurableEngine) -> None:
    statements: list[str] = []
    trace(engine, statements.append)
    held = Held(engine)
    for number in range(10):
        held.call(spawner(engine, f"n{number}"))
    held.release()
    trace(engine, None)
    # The last of the three ends the tracing.
    assert statements.count("COMMIT") <= 3


def test_what_one_of_them_does_wrong_undoes_itself_alone(engine: DurableEngine, path: Path) -> None:
    ref = engine.spawn_task(name="pending", params=None)
    held = Held(engine)
    for call in (
        spawner(engine, "before"),
        lambda: engine.complete_run(run_id=ref.run_id),
        lambda: engine.database.write(breaks_a_constraint),
        spawner(engine, "after"),
    ):
        held.call(call)
    before, refused, broken, after = held.release()
    assert isinstance(refused.error, InvalidRunState)
    assert isinstance(broken.error, StoreError)
    assert (before.error, after.error) == (None, None)
    assert names(path) == ["pending", "before", "after"]


def breaks_a_constraint(tx: Transaction) -> None:
    tx.execute("INSERT INTO events (event_name, emitted_at) VALUES ('half', '2026')")
    tx.execute("UPDATE tasks SET state = 'no state'")


@pytest.mark.parametrize(
    "error", [TimeoutError("the socket's"), OSError("no"), ValueError("no"), StopIteration()]
)
def test_what_a_users_function_raises_comes_out_as_it_is(engine: DurableEngine, error: Exception) -> None:
    def fails(_: object) -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        engine.update_state(namespace="n", key="k", fn=fails)
    assert raised.value is error


def test_the_clock_is_read_for_each_operation(engine: DurableEngine, clock: ManualClock, path: Path) -> None:
    held = Held(engine)
    moments = iter(range(1, 100))

    def moving() -> Any:
        clock.advance(next(moments))
        return clock.moment

    engine.database._clock = moving
    for number in range(4):
        held.call(partial(engine.set_state, namespace="n", key=f"k{number}", value=number))
    held.release()
    stamps = [s for (s,) in rows(path, "SELECT updated_at FROM state WHERE namespace = 'n' ORDER BY key")]
    assert stamps == sorted(set(stamps))
    assert len(stamps) == 4


# --- waiting too long ------------------------------------------------------------------------------------------------


def test_who_waits_too_long_withdraws_and_nothing_is_written(path: Path) -> None:
    engine = DurableEngine(path, busy_timeout_ms=50)
    held = Held(engine)
    late = Caller(engine, spawner(engine, "late")).ended()
    assert isinstance(late.error, StoreBusy)
    held.release()
    assert names(path) == []
    engine.close()


@pytest.mark.batching
def test_who_waits_while_its_operation_is_being_run_learns_how_it_ended(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DurableEngine(path)
    inside, go_on = threading.Event(), threading.Event()
    wait = engine.database._door.wait

    def slow(tx: Transaction) -> None:
        inside.set()
        assert go_on.wait(60)

    def wait_impatiently(ticket: door_module.Ticket[Any], timeout: float) -> bool:
        """The follower's time is over once it is in the transaction of the leader."""
        if ticket.alone or ticket.operation is slow:
            return wait(ticket, timeout)
        assert inside.wait(60)
        return wait(ticket, 0.0)

    monkeypatch.setattr(engine.database._door, "wait", wait_impatiently)
    # However long the leader's own operation takes, it serves the follower too.
    monkeypatch.setattr(commits_module, "_LONGEST_BATCH", 3600.0)
    held = Held(engine)
    leader = held.call(lambda: engine.database.write(slow))
    follower = held.call(spawner(engine, "follower"))
    held._release.set()
    assert inside.wait(60)
    follower.thread.join(0.3)
    assert follower.thread.is_alive(), "it is in the transaction of the leader, and must not give up"
    go_on.set()
    assert leader.ended().error is None
    assert follower.ended().error is None
    assert names(path) == ["follower"]
    held.holder.ended()
    engine.close()


def test_a_lock_that_another_program_keeps_is_named_and_nothing_is_written(path: Path) -> None:
    engine = DurableEngine(path, busy_timeout_ms=30)
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match=r"store\.db"):
            engine.spawn_task(name="job", params=None)
        other.execute("ROLLBACK")
    engine.spawn_task(name="after", params=None)
    assert names(path) == ["after"]
    engine.close()


# --- a full disk -----------------------------------------------------------------------------------------------------


def limit(engine: DurableEngine, path: Path) -> None:
    """Let SQLite believe that the disk has room for a few more pages, on every connection of the engine."""
    connect = engine.database._connections.open

    def with_limit(link: Any) -> Any:
        connection = connect(link)
        connection.execute(f"PRAGMA max_page_count={path.stat().st_size // 4096 + 12}")
        return connection

    engine.database._connections.open = with_limit  # type: ignore[method-assign]


def test_a_full_disk_is_named_and_only_what_does_not_fit_is_lost(path: Path) -> None:
    engine = DurableEngine(path)
    engine.spawn_task(name="there", params=None)
    engine.close()
    limit(engine, path)
    with pytest.raises(StoreError, match="full"):
        engine.spawn_task(name="big", params="x" * 200_000)
    engine.spawn_task(name="small", params=None)
    held = Held(engine)
    held.call(spawner(engine, "first"))
    held.call(lambda: engine.spawn_task(name="big", params="x" * 200_000))
    held.call(spawner(engine, "last"))
    first, big, last = held.release()
    assert isinstance(big.error, StoreError)
    assert "full" in str(big.error)
    assert (first.error, last.error) == (None, None)
    assert names(path) == ["there", "small", "first", "last"]
    assert engine.check() == ()
    engine.close()


# --- Ctrl-C in the leader --------------------------------------------------------------------------------------------

FILES = {database_module.__file__, commits_module.__file__, door_module.__file__}


def interrupted_at(number: int, call: Callable[[], Any]) -> tuple[bool, BaseException | None]:
    """Run the call with Ctrl-C at that step of its write. Returns whether it came so far, and what was raised.

    A step is where CPython looks for signals: after a call of C code and at the beginning of a function.
    """
    steps, writes = 0, False

    def profile(frame: FrameType, event: str, what: object) -> None:
        nonlocal steps, writes
        inside = frame.f_code.co_filename in FILES and frame.f_code.co_name != "<genexpr>"
        if not inside or event not in ("call", "c_return"):
            return
        writes = writes or frame.f_code.co_name == "write_together"
        if writes:
            steps += 1
            if steps == number:
                raise KeyboardInterrupt(
                    f"step {number}: {frame.f_code.co_name}, line {frame.f_lineno}, {what}"
                )

    error: BaseException | None = None
    sys.setprofile(profile)
    try:
        call()
    except BaseException as raised:  # noqa: BLE001 - looked at by the test
        error = raised
    finally:
        sys.setprofile(None)
    return steps >= number, error


def test_ctrl_c_at_any_step_leaves_every_other_operation_done_once(path: Path) -> None:
    """It hits the main thread, which stands in line and then leads; two others stand behind it."""
    engine = DurableEngine(path, synchronous="NORMAL", busy_timeout_ms=5_000)
    number, reached = 0, True
    while reached:
        number += 1
        held, over = Held(engine), threading.Event()
        follower = spawner(engine, f"follower{number}")

        def others_come(
            held: Held = held, over: threading.Event = over, follower: Callable[[], Any] = follower
        ) -> None:
            wait_until(lambda: waiting(engine) == 2 or over.is_set())
            for _ in range(2):
                held.call(follower)
            held.release()

        others = Caller(engine, others_come)
        reached, error = interrupted_at(number, spawner(engine, f"leader{number}"))
        over.set()
        where = f"Ctrl-C at {error}" if error else "at the end"
        assert others.ended().error is None, where
        assert (type(error) is KeyboardInterrupt) is reached, where
        assert [caller.error for caller in held.callers] == [None, None], where
        spawned = rows(path, "SELECT task_id FROM tasks WHERE task_name = ?", f"follower{number}")
        assert {task_id for (task_id,) in spawned} == {caller.result.task_id for caller in held.callers}, (
            where
        )
        assert names(path).count(f"leader{number}") <= 1, where
        assert waiting(engine) == 0, where
        assert not engine.database.inside(), where
    assert number > 40
    assert engine.check() == ()
    engine.close()


def enter(door: door_module.Door, ticket: door_module.Ticket[None], timeout: float) -> bool:
    """Stand in line with one ticket. Returns whether it leads."""
    return door.line_up([ticket]) or door.wait(ticket, timeout)


@pytest.mark.parametrize("step", range(8))
def test_a_leader_is_not_disturbed_by_one_who_leaves_the_line_while_it_settles_itself(step: int) -> None:
    door = door_module.Door()
    leader: door_module.Ticket[None] = door_module.Ticket(lambda _: None, alone=False)
    guest: door_module.Ticket[None] = door_module.Ticket(lambda _: None, alone=False)
    assert enter(door, leader, 1)
    seen = 0

    def leave_at_the_step(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        nonlocal seen
        if frame.f_code.co_name not in ("settle", "let_go"):
            return None
        if seen == step:
            door.leave(guest)
        seen += 1
        return leave_at_the_step

    sys.settrace(leave_at_the_step)
    try:
        leader.settle(None)
    finally:
        sys.settrace(None)
    assert leader.settled


def ticket() -> door_module.Ticket[None]:
    return door_module.Ticket(lambda _: None)


def let_go(door: door_module.Door, count: int) -> None:
    """As if a leader had just settled so many."""
    door.settle([ticket() for _ in range(count)], None)


@pytest.mark.batching
def test_a_leader_waits_for_those_who_were_let_go_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "_PATIENCE", 10.0)
    door = door_module.Door()
    leader, others = ticket(), [ticket(), ticket()]
    let_go(door, 3)
    assert enter(door, leader, 0)
    threads = [threading.Thread(target=enter, args=(door, other, 30)) for other in others]
    led = threading.Thread(target=door.await_company, args=(leader,))
    led.start()
    wait_until(lambda: door._awaited == 3)
    threads[0].start()
    wait_until(lambda: len(door._line) == 2)
    assert led.is_alive()
    threads[1].start()
    led.join(60)
    batch = [leader]
    door.company(batch)
    assert set(batch) == {leader, *others}
    door.settle(batch, None)
    for thread in (led, *threads):
        thread.join(60)
        assert not thread.is_alive()


def test_a_leader_does_not_wait_where_only_one_was_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "_PATIENCE", 1e9)
    door = door_module.Door()
    leader = ticket()
    let_go(door, 1)
    assert enter(door, leader, 0)
    door.await_company(leader)


def test_leaders_who_waited_in_vain_begin_at_once_for_longer_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door = door_module.Door()
    leader = ticket()
    assert enter(door, leader, 0)
    waited = []
    for _ in range(12):
        monkeypatch.setattr(door_module, "_PATIENCE", 0.001)
        let_go(door, 2)
        left = door._doubts_left
        door.await_company(leader)
        waited.append(left == 0)
    assert [number for number, has in enumerate(waited) if has] == [0, 2, 6]


@pytest.mark.batching
def test_what_only_the_leader_suffers_is_no_error_of_those_behind_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DurableEngine(path)
    group, sizes = commits_module._groups, list[int]()

    def at_the_end_of_its_stack(tickets: list[door_module.Ticket[Any]]) -> list[Any]:
        sizes.append(len(tickets))
        if sizes == [2]:
            raise RecursionError("maximum recursion depth exceeded")
        return group(tickets)

    held = Held(engine)
    monkeypatch.setattr(commits_module, "_groups", at_the_end_of_its_stack)
    held.call(spawner(engine, "first"))
    held.call(spawner(engine, "second"))
    first, second = held.release()
    assert sizes == [2]
    assert isinstance(first.error, RecursionError)
    assert second.error is None
    assert names(path) == ["second"]
    engine.close()


@contextmanager
def no_file_grows(to: int) -> Iterator[None]:
    """As if the disk failed at each write beyond."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (to, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_after_a_disk_that_fails_in_a_commit_the_caller_is_told_that_it_is_unknown(path: Path) -> None:
    engine = DurableEngine(path)
    engine.spawn_task(name="there", params=None)
    with no_file_grows(to=Path(f"{path}-wal").stat().st_size), pytest.raises(CommitUnknown) as unknown:
        engine.spawn_task(name="unknown", params=None)
    assert str(path) in str(unknown.value)
    assert "read it back" in str(unknown.value)
    engine.spawn_task(name="after", params=None)
    assert names(path) in (["there", "after"], ["there", "unknown", "after"])
    assert engine.check() == ()
    engine.close()
