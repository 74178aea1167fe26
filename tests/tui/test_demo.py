"""The demo's store: full at once, alive, answerable, and gone without a trace."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from conftest import ManualClock, wait_until
from dura import DurableEngine, process_task
from dura.clock import system_clock
from dura.monitor import Monitor
from dura.records import Snapshot, TaskQuery, Want
from dura.states import SleepCause
from dura_tui.demo import DemoStore, history, store
from dura_tui.demo.clock import CatchingUpClock
from dura_tui.demo.crash import crash, spawn_photo
from dura_tui.demo.feeder import QUEUES, Feeder
from dura_tui.demo.handlers import APPROVAL_SECONDS, CHUNKS, LEASE_SECONDS, Shop

EVERYTHING = Want(leases=50, sleepers=100, awaited=50, failures=20, workers=True, throughput=True, events=50)


@pytest.fixture(scope="module", autouse=True)
def patience() -> Iterator[None]:
    """A process that is to die has as much time for it as it takes to start on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dura_tui.demo.crash._PATIENCE_SECONDS", 60.0)
        yield


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoStore]:
    with DemoStore() as demo:
        yield demo
    assert not demo.path


@pytest.fixture(scope="module")
def monitor(demo: DemoStore) -> Iterator[Monitor]:
    with Monitor(demo.path) as monitor:
        yield monitor


@pytest.fixture
def operator(demo: DemoStore) -> Iterator[DurableEngine]:
    engine = DurableEngine(demo.path, create=False, upgrade=False)
    yield engine
    assert engine.check() == ()
    engine.close()


def tasks(monitor: Monitor, name: str) -> list[tuple[str, int]]:
    page = monitor.snapshot(Want(tasks=TaskQuery(name=name))).tasks
    assert page is not None
    return [(task.state, task.steps_done) for task in page.tasks]


# --- the live store ---------------------------------------------------------------------------------------------------


def test_past_fills_every_part_of_the_monitor_at_once(monitor: Monitor) -> None:
    first = monitor.snapshot(EVERYTHING)
    totals = first.totals()
    assert totals["completed"] > 200
    assert min(totals[state] for state in ("failed", "cancelled", "sleeping")) > 0
    assert first.failures
    assert first.events
    assert len(first.awaited) > 0
    assert len(first.workers) >= 6
    # But for the one that the demo kills sooner or later.
    lasting = [worker for worker in first.workers if not worker.worker_id.endswith("thumbnails")]
    assert {worker.presence for worker in lasting} == {"alive"}
    assert first.throughput is not None
    assert sum(1 for count in first.throughput.completed if count) > 40


def test_nothing_in_the_past_is_stamped_after_the_present(monitor: Monitor) -> None:
    snapshot = monitor.snapshot(Want(tasks=TaskQuery(state="completed", limit=500)))
    assert snapshot.tasks is not None
    assert all(
        task.ended_at is not None and task.ended_at <= snapshot.taken_at for task in snapshot.tasks.tasks
    )


def test_runs_sleep_for_every_cause(monitor: Monitor) -> None:
    seen: set[str] = set()

    def all_seen() -> bool:
        seen.update(sleeper.cause for sleeper in monitor.snapshot(Want(sleepers=100)).sleepers)
        return seen == set(SleepCause)

    wait_until(all_seen)


def test_work_goes_on_under_leases(monitor: Monitor) -> None:
    def snapshot() -> Snapshot:
        return monitor.snapshot(EVERYTHING)

    before = snapshot().totals()["completed"]
    wait_until(lambda: snapshot().totals()["completed"] > before)
    wait_until(lambda: any(lease.name == "import_catalog" for lease in snapshot().leases))
    wait_until(lambda: any(0 < done < len(CHUNKS) for _, done in tasks(monitor, "import_catalog")))


def test_user_approves_and_declines_waiting_orders(monitor: Monitor, operator: DurableEngine) -> None:
    approved, declined = monitor.snapshot(EVERYTHING).awaited[-2:]
    for event, payload in ((approved, None), (declined, {"approved": False, "reason": "too dear"})):
        emitted = operator.emit_event(
            event_name=event.event_name, payload=payload, actor="test", seen_run_id=event.waiters[0].run_id
        )
        assert len(emitted.woken) == 1

    def outcome(event_name: str) -> str | None:
        page = monitor.snapshot(Want(tasks=TaskQuery(text=event_name.removeprefix("approved:")))).tasks
        assert page is not None
        (task,) = page.tasks
        info = operator.get_task(task.task_id)
        return info.result["outcome"] if info.state == "completed" else None

    wait_until(lambda: outcome(approved.event_name) == "shipped")
    wait_until(lambda: outcome(declined.event_name) == "refunded")


def test_pollers_move_their_cursors_in_state(demo: DemoStore, monitor: Monitor) -> None:
    def polls() -> int:
        rows = monitor.snapshot(Want(namespace="feeds")).state
        found = {row.key: json.loads(row.value) for row in rows}
        assert set(found) == {"releases.cursor", "releases.polls", "status.cursor", "status.polls"}
        return int(found["releases.polls"] + found["status.polls"])

    before = polls()
    wait_until(lambda: polls() > before)


def test_crashed_worker_leaves_a_lease_behind_and_is_seen_to_be_gone(monitor: Monitor) -> None:
    def presence() -> list[str]:
        return [
            worker.presence
            for worker in monitor.snapshot(EVERYTHING).workers
            if worker.worker_id.endswith("thumbnails")
        ]

    wait_until(lambda: presence() == ["gone"])


def test_log_goes_to_a_file_beside_the_store(demo: DemoStore) -> None:
    assert not logging.getLogger("dura").propagate
    assert "failed" in Path(demo.path).with_suffix(".log").read_text()


def test_starting_twice_is_refused_and_harms_nothing(demo: DemoStore) -> None:
    with pytest.raises(RuntimeError, match="running already"):
        demo.start()
    assert Path(demo.path).exists()


# --- start and end ----------------------------------------------------------------------------------------------------


class Complaints(logging.Handler):
    """Keeps what the feeder logs."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "dura.demo":
            self.messages.append(record.getMessage())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where demo folders are made during the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(history, "LENGTH", timedelta(minutes=1))
    return tmp_path


def test_close_leaves_no_thread_and_no_file_however_often(folder: Path) -> None:
    threads, log = set(threading.enumerate()), logging.getLogger("dura")
    handlers, propagate = list(log.handlers), log.propagate
    demo = DemoStore()
    for _ in range(2):
        demo.start()
        assert Path(demo.path).parent.parent == folder
        demo.close()
        demo.close()
        assert list(folder.iterdir()) == []
        assert set(threading.enumerate()) <= threads
        assert (log.handlers, log.propagate) == (handlers, propagate)


def test_start_that_fails_half_way_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    threads = set(threading.enumerate())
    monkeypatch.setattr(history, "play", fail)
    with pytest.raises(OSError, match="No space left"):
        DemoStore().start()
    assert list(folder.iterdir()) == []
    assert set(threading.enumerate()) <= threads


UNCLOSED = """
import signal, sys, time
from dura_tui.demo import DemoStore
signal.signal(signal.SIGINT, signal.default_int_handler)  # A test run in the background ignores it, and so would we.
demo = DemoStore()
demo.start()
print(demo.path, flush=True)
for _ in range(int(sys.argv[1])):
    time.sleep(0.1)  # In short naps: a signal that comes right before a nap begins does not end it.
"""


def run_unclosed(folder: Path, naps: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", UNCLOSED, str(naps)],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_process_that_ends_without_closing_removes_its_folder_and_prints_nothing(tmp_path: Path) -> None:
    with run_unclosed(tmp_path, 3) as process:
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.startswith(str(tmp_path))
    assert errors == ""
    assert list(tmp_path.iterdir()) == []


def test_interrupted_process_removes_its_folder(tmp_path: Path) -> None:
    with run_unclosed(tmp_path, 600) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert list(tmp_path.iterdir()) == []


def test_folder_moved_by_somebody_else_disturbs_neither_terminal_nor_close(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store, "_LOG_BYTES", 1_000)
    complaints = Complaints()
    threads, log = set(threading.enumerate()), logging.getLogger("dura")
    with DemoStore() as demo:
        moved = Path(demo.path).parent.rename(folder / "moved")
        log.addHandler(complaints)
        wait_until(lambda: len(complaints.messages) > 1)
        log.removeHandler(complaints)
    assert "the feeder met an error and goes on" in complaints.messages
    assert set(threading.enumerate()) <= threads
    assert list(folder.iterdir()) == [moved]
    assert capfd.readouterr() == ("", "")


# --- the parts --------------------------------------------------------------------------------------------------------


def test_clock_catches_up_and_never_passes_the_present() -> None:
    clock = CatchingUpClock(timedelta(minutes=5))
    assert timedelta(minutes=4) < system_clock() - clock() <= timedelta(minutes=5, seconds=1)
    clock.advance(1_000)
    assert clock.caught_up
    assert clock() <= system_clock()


def test_feeder_does_each_chore_once_after_a_gap(engine: DurableEngine, clock: ManualClock) -> None:
    feeder = Feeder(engine, Random(1))
    feeder.tick()
    before = engine.task_counts_by_name_and_state()["charge_order"]
    clock.advance(3600)
    feeder.tick()
    feeder.tick()
    assert engine.task_counts_by_name_and_state()["charge_order"] == {"pending": before["pending"] + 1}


def claim_named(engine: DurableEngine, clock: ManualClock, name: str, shop: Shop) -> None:
    """Run what is due until a task of the name has been run."""
    while task := engine.claim_task(worker_id="w", timeout_secs=LEASE_SECONDS, queue=QUEUES):
        if task.name == name:
            process_task(engine, handlers=shop.handlers(), task=task)
            return
        engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
    raise AssertionError(f"no {name} was due")


class Luck(Random):
    """Dice with which nothing fails and everything takes long."""

    def random(self) -> float:
        return 0.99


def test_import_outlives_its_lease_by_extending_it(engine: DurableEngine, clock: ManualClock) -> None:
    shop = Shop(work=clock.advance, dice=Luck())
    Feeder(engine, Random(1)).tick()
    began = clock()
    claim_named(engine, clock, "import_catalog", shop)
    assert clock() - began > timedelta(seconds=2 * LEASE_SECONDS)
    assert engine.task_counts_by_name_and_state()["import_catalog"] == {"completed": 1}


def test_order_that_nobody_approves_is_refunded(engine: DurableEngine, clock: ManualClock) -> None:
    shop = Shop(work=clock.advance, dice=Random(1))
    order = {"order_id": "ord_1", "customer": "cus_1", "amount": 5000, "items": []}
    task = engine.spawn_task(name="charge_order", params=order, queue="orders")
    claim_named(engine, clock, "charge_order", shop)
    assert engine.get_task(task.task_id).state == "sleeping"
    clock.advance(APPROVAL_SECONDS)
    claim_named(engine, clock, "charge_order", shop)
    result = engine.get_task(task.task_id).result
    assert (result["outcome"], result["answer"]["reason"]) == ("refunded", "nobody answered in time")


def test_photo_that_kills_every_worker_fails_as_a_poison_run(path: Path) -> None:
    ahead = timedelta()
    engine = DurableEngine(path, clock=lambda: system_clock() + ahead)
    spawn_photo(engine, Random(1))
    for _ in range(3):
        assert engine.task_counts_by_state() == {"pending": 1}
        ahead = timedelta()
        crash(str(path))
        assert engine.task_counts_by_state() == {"running": 1}
        ahead = timedelta(minutes=1)
        assert engine.claim_task(worker_id="w", queue="orders") is None
    assert engine.task_counts_by_state() == {"failed": 1}
    (failure,) = engine.recent_failures()
    assert (failure.attempt, failure.failure_reason["type"]) == (1, "PoisonRun")
    assert engine.check() == ()
    engine.close()


LONG_IN_THE_MAKING = """
import sys
from datetime import timedelta
from dura_tui.cli import main
from dura_tui.demo import history

history.LENGTH = timedelta(days=365)
sys.exit(main())
"""


@pytest.mark.crash
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_demo_that_is_ended_while_it_is_being_made_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_IN_THE_MAKING, "--demo", "--once"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: any(tmp_path.glob("dura-demo-*/shop.db")))
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
