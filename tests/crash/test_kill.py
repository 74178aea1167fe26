"""Real processes and real signals: what a kill costs, and what it must not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import plain, rows, wait_until
from dura import DurableEngine

pytestmark = pytest.mark.crash

PROGRAM = Path(__file__).with_name("pool_process.py")


@pytest.fixture
def store(path: Path) -> Iterator[DurableEngine]:
    engine = DurableEngine(path)
    yield engine
    assert engine.check() == ()
    engine.close()


@pytest.fixture
def start(path: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts worker processes; what is left of them is killed at the end."""
    processes: list[subprocess.Popen[str]] = []

    def start_one(*options: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(path), str(tmp_path), *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start_one
    for process in processes:
        process.kill()
        process.communicate(timeout=60)


def ledger(folder: Path) -> list[str]:
    """What handlers noted, without the process ids."""
    file = folder / "ledger"
    return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


def wait_for_lines(folder: Path, count: int, *, containing: str = "") -> None:
    wait_until(lambda: sum(containing in line for line in ledger(folder)) >= count)


def await_line(process: subprocess.Popen[str], part: str) -> None:
    """Read the process's log up to a line with `part`; an ended process ends the wait."""
    assert process.stderr is not None
    for line in process.stderr:
        if part in line:
            return
    raise AssertionError(f"the process ended without saying {part!r}")


def test_a_killed_process_costs_no_attempt_and_no_finished_step(
    store: DurableEngine, path: Path, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    task = store.spawn_task(name="two_steps", params=None, max_attempts=1)
    victim = start("3600")
    wait_until(lambda: "second-begins" in ledger(tmp_path))
    victim.send_signal(signal.SIGKILL)
    victim.wait(60)
    assert store.get_task(task.task_id).state == "running"
    with plain(path) as other:
        other.execute("UPDATE runs SET claim_expires_at = started_at WHERE state = 'running'")

    (tmp_path / "go").touch()
    start("3600")
    wait_until(lambda: store.get_task(task.task_id).state == "completed")
    assert store.get_task(task.task_id).result == {"steps": ["first", "second-ends"], "attempt": 1}
    assert ledger(tmp_path) == ["first", "second-begins", "second-begins", "second-ends"]


def test_a_task_that_kills_its_process_each_time_fails_as_a_poison_run(
    store: DurableEngine, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    task = store.spawn_task(name="two_steps", params=None, max_reclaims=1)
    for kill in (1, 2):
        victim = start("0.3")
        wait_for_lines(tmp_path, kill, containing="second-begins")
        victim.kill()
        victim.wait(60)
    start("0.3")
    wait_until(lambda: store.get_task(task.task_id).state == "failed")
    info = store.get_task(task.task_id)
    assert (info.attempts, info.failure_reason["type"]) == (1, "PoisonRun")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_drains(
    store: DurableEngine, start: Callable[..., subprocess.Popen[str]], tmp_path: Path, number: signal.Signals
) -> None:
    task = store.spawn_task(name="two_steps", params=None)
    process = start("3600")
    wait_until(lambda: "second-begins" in ledger(tmp_path))
    process.send_signal(number)
    await_line(process, "draining")
    late = store.spawn_task(name="two_steps", params=None)
    (tmp_path / "go").touch()
    assert process.wait(60) == 0
    assert store.get_task(task.task_id).state == "completed"
    assert store.get_task(late.task_id).state == "pending"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_second_signal_gives_the_run_back_as_the_process_ends(
    store: DurableEngine, start: Callable[..., subprocess.Popen[str]], tmp_path: Path, number: signal.Signals
) -> None:
    task = store.spawn_task(name="two_steps", params=None, max_attempts=1)
    process = start("3600")
    wait_until(lambda: "second-begins" in ledger(tmp_path))
    process.send_signal(number)
    await_line(process, "draining")
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert store.get_task(task.task_id).state == "pending"
    again = store.claim_task(worker_id="next")
    assert again is not None
    assert (again.task_id, again.attempt, again.reclaims) == (task.task_id, 1, 0)
    store.complete_run(run_id=again.run_id, claim_token=again.claim_token)


def test_a_third_ctrl_c_does_not_keep_the_run_from_being_given_back(
    store: DurableEngine, start: Callable[..., subprocess.Popen[str]], tmp_path: Path, path: Path
) -> None:
    task = store.spawn_task(name="two_steps", params=None)
    process = start("3600")
    wait_until(lambda: "second-begins" in ledger(tmp_path))
    process.send_signal(signal.SIGINT)
    await_line(process, "draining")
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        process.send_signal(signal.SIGINT)
        await_line(process, "given back when the process ends")
        process.send_signal(signal.SIGINT)
        other.execute("ROLLBACK")
    process.wait(60)
    assert store.get_task(task.task_id).state == "pending"


_APPLICATION = """
import sys, threading
from dura import DurableEngine, run_workers

def handler(engine, task):
    print("begun", file=sys.stderr, flush=True)
    threading.Event().wait(60)

run_workers(DurableEngine(sys.argv[1]), handlers={"job": handler}, worker_count=1, handle_signals=False,
            claim_timeout_secs=3600)
"""


def test_ctrl_c_in_an_application_that_catches_signals_itself_gives_the_run_back(
    store: DurableEngine, path: Path
) -> None:
    task = store.spawn_task(name="job", params=None)
    with subprocess.Popen(
        [sys.executable, "-c", _APPLICATION, str(path)], stderr=subprocess.PIPE, text=True
    ) as process:
        await_line(process, "begun")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert store.get_task(task.task_id).state == "pending"


def test_a_drain_whose_grace_is_over_gives_the_run_back_too(
    store: DurableEngine, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    task = store.spawn_task(name="two_steps", params=None)
    process = start("3600", "0.1")
    wait_until(lambda: "second-begins" in ledger(tmp_path))
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert store.get_task(task.task_id).state == "pending"


def test_an_idle_pool_that_is_stopped_leaves_no_sidecar_file(
    path: Path, store: DurableEngine, start: Callable[..., subprocess.Popen[str]]
) -> None:
    store.close()
    process = start()
    await_line(process, "workers on")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert not path.with_name(path.name + "-wal").exists()
    assert not path.with_name(path.name + "-shm").exists()


def test_processes_that_share_a_file_and_are_killed_lose_and_repeat_nothing(
    store: DurableEngine, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    tasks = [store.spawn_task(name="count", params=n, max_attempts=1).task_id for n in range(150)]
    workers = [start("0.5") for _ in range(3)]
    for number, victim in enumerate(workers[:2]):
        wait_for_lines(tmp_path, 100 * (number + 1))
        victim.kill()
        victim.wait(60)
        start("0.5")
    wait_until(lambda: store.task_counts_by_state() == {"completed": 150}, within=60)
    assert [store.get_task(task_id).result for task_id in tasks] == [n * 2 for n in range(150)]
    # A step whose result was not committed yet may be repeated, one for each lease that ran out: those of the two victims'
    # two workers, and of whoever got no processor for so long.
    [(leases,)] = rows(Path(store.db_path), "SELECT sum(reclaims) FROM runs")
    runs = Counter(ledger(tmp_path))
    assert set(runs) == {f"task-{n}-step-{step}" for n in range(150) for step in range(3)}
    assert sum(runs.values()) <= 450 + leases


def test_a_forked_child_and_its_parent_go_on_with_the_same_engine(store: DurableEngine, path: Path) -> None:
    store.set_state(namespace="n", key="before", value=1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for number in range(20):
                store.update_state(namespace="n", key="count", fn=lambda value: (value or 0) + 1)
                store.spawn_task(name="child", params=number)
            store.close()
            code = 0
        finally:
            os._exit(code)
    for number in range(20):
        store.update_state(namespace="n", key="count", fn=lambda value: (value or 0) + 1)
        store.spawn_task(name="parent", params=number)
    store.close()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert store.get_state(namespace="n", key="count") == 40
    assert store.task_counts_by_name_and_state() == {"child": {"pending": 20}, "parent": {"pending": 20}}


def test_a_child_forked_inside_an_update_neither_hangs_nor_spoils_it(store: DurableEngine) -> None:
    def fork_inside(value: object) -> int:
        child = os.fork()
        if child == 0:
            os._exit(0)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    assert store.update_state(namespace="n", key="k", fn=fork_inside) == 0
    assert store.get_state(namespace="n", key="k") == 0


def test_a_child_that_outlives_its_parent_keeps_what_it_commits(path: Path, tmp_path: Path) -> None:
    """The parent's last close must not remove the write-ahead log under the child."""
    program = (
        "import os, sys, time\n"
        "from dura import DurableEngine\n"
        "engine = DurableEngine(sys.argv[1])\n"
        "engine.set_state(namespace='n', key='parent', value=1)\n"
        "if os.fork() == 0:\n"
        "    engine.set_state(namespace='n', key='early', value=1)\n"
        "    while not os.path.exists(sys.argv[2]):\n"
        "        time.sleep(0.01)\n"
        "    engine.set_state(namespace='n', key='late', value=1)\n"
        "    open(sys.argv[3], 'w').close()\n"
        "    os._exit(0)\n"
        "engine.set_state(namespace='n', key='parent', value=2)\n"
        "engine.close()\n"
    )
    gone, done = tmp_path / "gone", tmp_path / "done"
    subprocess.run([sys.executable, "-c", program, str(path), str(gone), str(done)], check=True, timeout=60)
    gone.touch()
    wait_until(done.exists)
    engine = DurableEngine(path)
    assert engine.list_state("n") == {"early": 1, "late": 1, "parent": 2}
    engine.close()
