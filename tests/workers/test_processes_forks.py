"""Programs that fork with an open engine, or end while threads wait for the lock. Each runs in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from conftest import plain
from dura import DurableEngine

pytestmark = [pytest.mark.crash, pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")]

PROGRAM = Path(__file__).with_name("forking.py")


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("writers", id="while threads write"),
        pytest.param("at_once", id="from several threads at once"),
        pytest.param("pool", id="beside a pool"),
        pytest.param("methods", id="by multiprocessing in each of its ways"),
    ],
)
def test_parent_and_forked_children_go_on_with_the_engine_and_lose_nothing(
    path: Path, tmp_path: Path, what: str
) -> None:
    sys.stdout.write(run(what, path))
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("opening", id="opens its first connection"),
        pytest.param("looking", id="looks without writing"),
    ],
)
def test_a_fork_waits_for_a_thread_that(path: Path, what: str) -> None:
    run(what, path)


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("closing", id="closes a connection of another"),
        pytest.param("another", id="opens an engine"),
    ],
)
def test_a_fork_waits_too_for_a_thread_that(path: Path, what: str) -> None:
    run(what, path)


def test_an_update_that_forks_is_its_parents_to_finish(path: Path) -> None:
    run("inside", path)


def test_descriptors_do_not_grow_over_opens_threads_forks_and_pools(path: Path, tmp_path: Path) -> None:
    sys.stdout.write(run("descriptors", path))
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


def run(what: str, path: Path) -> str:
    """What the program says; it must end well. None of its processes is left, whatever has happened."""
    program = subprocess.Popen(
        [sys.executable, str(PROGRAM), what, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, errors = program.communicate(timeout=60)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate(timeout=60)
    assert program.returncode == 0, errors
    return said


@contextmanager
def waiting(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program three threads of which wait for a lock that is kept for as long as the block lasts."""
    DurableEngine(path).close()
    with plain(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with subprocess.Popen(
            [sys.executable, str(PROGRAM), "end", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            try:
                assert program.stdout is not None
                assert program.stdout.readline() == "waiting\n"
                yield program
            finally:
                program.kill()
        other.execute("ROLLBACK")


def test_a_program_that_ends_does_not_wait_for_threads_that_wait_for_the_lock(path: Path) -> None:
    with waiting(path) as program:
        assert program.communicate("\n", timeout=60) == ("", "")
        assert program.returncode == 0
    engine = DurableEngine(path)
    assert not engine.has_state("n")
    assert engine.check() == ()
    engine.close()


def test_ctrl_c_ends_a_program_whose_threads_wait_for_the_lock(path: Path) -> None:
    with waiting(path) as program:
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=60)
        assert program.returncode == -signal.SIGINT
        assert said.strip().endswith("KeyboardInterrupt")
