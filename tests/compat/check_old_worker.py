"""A real worker of the 1.3.0 release on a store that was upgraded under it, or is new: refused, and nothing is lost.

Run by `make compat`, which unpacks the release and names its folder in DURA_RELEASE.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dura import DurableEngine, run_workers

OLD_WORKER = Path(__file__).with_name("old_worker.py")


def old(*arguments: str) -> subprocess.Popen[str]:
    """Start Python with the release in place of our package."""
    environment = {**os.environ, "PYTHONPATH": os.environ["DURA_RELEASE"]}
    return subprocess.Popen([sys.executable, *arguments], env=environment, stderr=subprocess.PIPE, text=True)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def read_log_until(process: subprocess.Popen[str], part: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if part in line:
            return
    raise AssertionError(f"the old worker ended without saying {part!r}")


def dump(path: Path) -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(path)
    tables = ("tasks", "runs", "checkpoints", "events", "waits", "state")
    rows = {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}
    connection.close()
    return rows


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two pending tasks, written by the release."""
    path = tmp_path / "store.db"
    program = (
        "import sys; from dura import DurableEngine; e = DurableEngine(sys.argv[1]);"
        "e.spawn_task(name='job', params=1); e.spawn_task(name='job', params=2); e.close()"
    )
    process = old("-c", program, str(path))
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    return path


@pytest.fixture
def start_old(store: Path, tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        processes.append(old(str(OLD_WORKER), str(store), str(tmp_path)))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate(timeout=20)


def drain(engine: DurableEngine) -> None:
    stop = threading.Event()
    pool = threading.Thread(
        target=run_workers,
        args=(engine,),
        kwargs={
            "handlers": {"job": lambda *_: "by the new one"},
            "worker_count": 2,
            "stop_event": stop,
            "handle_signals": False,
        },
    )
    pool.start()
    until(lambda: set(engine.task_counts_by_state()) == {"completed"})
    stop.set()
    pool.join(20)


def test_an_old_worker_started_on_an_upgraded_store_is_refused_and_loses_nothing(
    store: Path, start_old: Callable[[], subprocess.Popen[str]]
) -> None:
    engine = DurableEngine(store)
    assert engine.upgrade_report
    before = dump(store)
    worker = start_old()
    for _ in range(3):
        read_log_until(worker, "this dura store was upgraded")
    assert dump(store) == before
    worker.kill()
    drain(engine)
    assert engine.check() == ()
    engine.close()


def test_an_old_worker_that_runs_during_the_upgrade_finishes_its_task_and_gets_no_other(
    store: Path, tmp_path: Path, start_old: Callable[[], subprocess.Popen[str]]
) -> None:
    worker = start_old()
    until((tmp_path / "started").exists)
    engine = DurableEngine(store)
    assert engine.upgrade_report
    (tmp_path / "go").touch()
    read_log_until(worker, "this dura store was upgraded")
    worker.kill()
    assert engine.task_counts_by_state() == {"completed": 1, "pending": 1}
    drain(engine)
    assert engine.check() == ()
    engine.close()


def test_a_program_of_the_release_cannot_open_a_store_that_this_dura_made(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    engine = DurableEngine(path)
    engine.spawn_task(name="job", params=1)
    before = dump(path)
    worker = old(str(OLD_WORKER), str(path), str(tmp_path))
    _, errors = worker.communicate(timeout=30)
    assert worker.returncode == 1
    assert "sqlite3.OperationalError: there is already a table named runs_state_available" in errors
    assert dump(path) == before
    drain(engine)
    assert engine.check() == ()
    engine.close()
