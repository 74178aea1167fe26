"""Programs with pools of several processes, and real signals: from a terminal, from outside, and of those that are killed."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import wait_until
from docs.pages import DOCS, blocks
from dura import DurableEngine

pytestmark = pytest.mark.crash

PROGRAM = Path(__file__).with_name("spread.py")


@pytest.fixture
def store(path: Path) -> Iterator[DurableEngine]:
    engine = DurableEngine(path)
    yield engine
    assert engine.check() == ()
    engine.close()


class Program:
    """A Python program in a session of its own, with what it logs."""

    def __init__(self, folder: Path, *command: str, terminal: str = "/dev/null") -> None:
        self._log = folder / "log"
        with self._log.open("a") as log:
            # The first terminal that the leader of a session opens becomes that of its session.
            self.process = subprocess.Popen(
                ["sh", "-c", f'exec "$0" "$@" < {terminal}', sys.executable, *command],
                cwd=folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    def wait_for(self, part: str, times: int = 1) -> None:
        try:
            wait_until(lambda: self.log.count(part) >= times)
        except AssertionError:
            pytest.fail(f"{part!r} is not {times} times in the log:\n{self.log}")

    def processes(self) -> list[int]:
        """The pool's processes so far."""
        return [int(pid) for pid in re.findall(r"process \d of the pool \(pid (\d+)\) starts", self.log)]

    def wait_until_none_claims(self) -> None:
        """Wait until both processes drain: the one with a run in hand says so, the other one ends."""
        self.wait_for("draining, ")
        wait_until(lambda: sum(map(exists, self.processes())) == 1)

    def end(self) -> int:
        """Wait for its end, and that of the pool's processes. Returns the exit code."""
        code = self.process.wait(60)
        wait_until(lambda: not any(exists(pid) for pid in self.processes()))
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)
        for pid in self.processes():
            if exists(pid):
                os.kill(pid, signal.SIGKILL)


def exists(pid: int) -> bool:
    """Whether a process runs; one that has ended but that nobody has asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def start(store: DurableEngine, path: Path, tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts programs; what is left of them is killed at the end."""
    programs: list[Program] = []

    def start_one(*command: str, **options: str) -> Program:
        programs.append(Program(tmp_path, *(command or (str(PROGRAM), str(path))), **options))
        return programs[-1]

    yield start_one
    for program in programs:
        program.kill()


def begun(program: Program, folder: Path) -> None:
    """Wait until both processes are ready and a handler is in the middle of its task."""
    program.wait_for("is ready", 2)
    wait_until(lambda: "begins" in _ledger(folder))


def _ledger(folder: Path) -> str:
    file = folder / "ledger"
    return file.read_text() if file.exists() else ""


def held(store: DurableEngine, folder: Path) -> str:
    return store.spawn_task(name="hold", params={"folder": str(folder)}, max_attempts=1).task_id


def test_ctrl_c_in_a_terminal_reaches_all_and_drains_as_one_signal(
    store: DurableEngine, start: Callable[..., Program], tmp_path: Path
) -> None:
    task = held(store, tmp_path)
    ours, theirs = pty.openpty()
    program = start(terminal=os.ttyname(theirs))
    begun(program, tmp_path)
    os.write(ours, b"\x03")
    program.wait_until_none_claims()
    late = held(store, tmp_path)
    (tmp_path / "go").touch()
    assert program.end() == 0
    os.close(ours)
    os.close(theirs)
    assert store.get_task(task).result == "attempt 1"
    assert store.get_task(late).state == "pending"
    assert "Traceback" not in program.log


def test_ctrl_c_while_the_processes_start_ends_the_program_without_a_traceback(
    start: Callable[..., Program],
) -> None:
    program = start()
    program.wait_for("starts")
    os.killpg(program.process.pid, signal.SIGINT)
    assert program.end() == 0
    assert "Traceback" not in program.log


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_gives_the_runs_back_and_ends_all(
    store: DurableEngine, start: Callable[..., Program], tmp_path: Path, number: signal.Signals
) -> None:
    task = held(store, tmp_path)
    program = start()
    begun(program, tmp_path)
    os.killpg(program.process.pid, number)
    program.wait_until_none_claims()
    os.killpg(program.process.pid, number)
    assert program.end() == 128 + number
    again = store.claim_task(worker_id="next")
    assert again is not None
    assert (again.task_id, again.attempt, again.reclaims) == (task, 1, 0)
    store.complete_run(run_id=again.run_id, claim_token=again.claim_token)


def test_a_drain_whose_grace_is_over_gives_the_run_back(
    store: DurableEngine, path: Path, start: Callable[..., Program], tmp_path: Path
) -> None:
    task = held(store, tmp_path)
    program = start(str(PROGRAM), str(path), "3600", "0.1")
    begun(program, tmp_path)
    program.process.send_signal(signal.SIGTERM)
    assert program.end() == 0
    assert store.get_task(task).state == "pending"


def test_processes_whose_parent_is_killed_finish_what_they_have_and_end(
    store: DurableEngine, start: Callable[..., Program], tmp_path: Path
) -> None:
    task = held(store, tmp_path)
    program = start()
    begun(program, tmp_path)
    program.process.kill()
    program.wait_for("is gone; this one drains by itself", 2)
    program.wait_until_none_claims()
    late = held(store, tmp_path)
    (tmp_path / "go").touch()
    program.end()
    assert store.get_task(task).result == "attempt 1"
    assert store.get_task(late).state == "pending"


_APPLICATION = f"""
import logging, os, sys, threading, time
sys.path.insert(0, {str(PROGRAM.parent)!r})
from dura import DurableEngine, run_workers
from spread import HANDLERS

logging.basicConfig(level=logging.INFO)
engine, pool = DurableEngine(sys.argv[1]), dict(handlers=HANDLERS, worker_count=2, processes=2, claim_timeout_secs=3600)
thread = threading.Thread(target=run_workers, args=(engine,), kwargs=dict(pool, handle_signals=False), daemon=True)
"""


def test_ctrl_c_in_an_application_that_catches_signals_itself_gives_the_runs_back(
    store: DurableEngine, path: Path, start: Callable[..., Program], tmp_path: Path
) -> None:
    task = held(store, tmp_path)
    program = start("-c", f"{_APPLICATION}run_workers(engine, handle_signals=False, **pool)", str(path))
    begun(program, tmp_path)
    program.process.send_signal(signal.SIGINT)
    assert program.end() == -signal.SIGINT
    assert store.get_task(task).state == "pending"


def test_a_program_that_ends_around_its_pool_gives_the_runs_back(
    store: DurableEngine, path: Path, start: Callable[..., Program], tmp_path: Path
) -> None:
    task = held(store, tmp_path)
    wait = "while not os.path.exists('leave'): time.sleep(0.01)"
    program = start("-c", f"{_APPLICATION}thread.start()\n{wait}", str(path))
    begun(program, tmp_path)
    (tmp_path / "leave").touch()
    assert program.end() == 0
    assert store.get_task(task).state == "pending"


def test_the_program_of_the_how_to_does_what_it_says(start: Callable[..., Program], tmp_path: Path) -> None:
    [program_text, *_] = blocks(DOCS / "howto" / "handlers-that-compute.md", "python")
    (tmp_path / "primes.py").write_text(program_text.text)
    engine = DurableEngine(tmp_path / "primes.db")
    tasks = engine.spawn_many(
        [{"name": "count_primes", "params": {"below": 100}}, {"name": "greet", "params": {"name": "ada"}}]
    )
    program = start("primes.py")
    wait_until(lambda: engine.task_counts_by_state() == {"completed": 2})
    wait_until(lambda: len(program.processes()) == 4)
    assert [engine.get_task(task.task_id).result for task in tasks] == [25, "hello ada"]
    program.process.send_signal(signal.SIGINT)
    assert program.end() == 0
    assert len(program.processes()) == 4
    engine.close()


_UNGUARDED = """
from dura import DurableEngine, run_workers
def job(engine, task):
    pass
run_workers(DurableEngine("store.db"), handlers={"job": job}, worker_count=8, processes=4)
"""


def test_a_program_without_a_guard_is_told_so_once(start: Callable[..., Program], tmp_path: Path) -> None:
    (tmp_path / "unguarded.py").write_text(_UNGUARDED)
    program = start("unguarded.py")
    assert program.end() == 1
    message = 'below `if __name__ == "__main__":`, so that importing it does nothing.'
    assert program.log.count(message) == 1
    assert "PoolFailed: process 0 of the pool" in program.log


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ('{python} -c "$(cat unguarded.py)"', "the handler of 'job' is defined in a program that no other"),
        ("{python} < unguarded.py", "processes > 1 needs a main program that"),
    ],
)
def test_a_program_without_a_file_is_refused(
    store: DurableEngine, tmp_path: Path, command: str, message: str
) -> None:
    (tmp_path / "unguarded.py").write_text(_UNGUARDED)
    done = subprocess.run(
        ["sh", "-c", command.format(python=sys.executable)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert f"InvalidValue: {message}" in done.stderr
