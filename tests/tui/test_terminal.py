"""A terminal that hangs up ends the monitor, whoever is told of it and whoever is not."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import wait_until
from dura import DurableEngine
from dura_tui.terminal import HUNG_UP
from tui.far_end import Terminal

pytestmark = pytest.mark.crash


@pytest.fixture
def terminal(path: Path) -> Iterator[Terminal]:
    DurableEngine(path).close()
    terminal = Terminal("-m", "dura_tui", path)
    try:
        wait_until(lambda: "Overview" in terminal.shown().text or terminal.process.poll() is not None)
        assert terminal.process.poll() is None, terminal.output.decode(errors="replace")
        yield terminal
    finally:
        terminal.end()


def test_a_closed_terminal_ends_the_process_though_no_signal_comes(terminal: Terminal) -> None:
    """The process leads a session without a controlling terminal, so nobody sends it SIGHUP."""
    terminal.close()
    assert terminal.process.wait(60) == HUNG_UP


def test_a_hang_up_signal_before_the_terminal_is_gone_ends_the_process(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGHUP)
    terminal.close()
    assert terminal.process.wait(60) == HUNG_UP


@pytest.mark.parametrize("signals", [[signal.SIGHUP], [signal.SIGTERM, signal.SIGHUP]])
def test_a_hang_up_signal_gives_a_terminal_that_lives_back(
    terminal: Terminal, signals: list[signal.Signals]
) -> None:
    assert not terminal.cooked()
    for number in signals:
        terminal.process.send_signal(number)
    assert terminal.process.wait(60) == 0
    wait_until(lambda: b"\x1b[?1049l" in terminal.output)
    assert terminal.cooked()


def test_a_termination_signal_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.process.wait(60) == 0
    wait_until(lambda: b"\x1b[?1049l" in terminal.output)


def test_a_monitor_that_was_stopped_draws_the_whole_screen_when_it_goes_on(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTSTP)
    wait_until(terminal.stopped)
    wait_until(lambda: b"\x1b[?1049l" in terminal.output)
    terminal.process.send_signal(signal.SIGCONT)
    wait_until(lambda: all(word in terminal.shown().text for word in ("Overview", "throughput", "live")))


@pytest.mark.parametrize(
    "signals",
    [
        [signal.SIGTERM, signal.SIGCONT],
        [signal.SIGCONT, signal.SIGTERM],
        [signal.SIGTSTP, signal.SIGTERM, signal.SIGCONT],
        [signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM],
    ],
    ids=lambda signals: " ".join(number.name for number in signals),
)
def test_a_monitor_that_is_told_to_go_on_gives_the_terminal_back_all_the_same(
    terminal: Terminal, signals: list[signal.Signals]
) -> None:
    """systemd and shells send SIGCONT with a SIGTERM, lest what is stopped stay so."""
    for number in signals:
        terminal.process.send_signal(number)
        if number in (signal.SIGTSTP, signal.SIGSTOP):
            wait_until(terminal.stopped)
    assert terminal.process.wait(60) == 0
    wait_until(lambda: terminal.output.count(b"\x1b[?1049l") >= terminal.output.count(b"\x1b[?1049h"))
    assert terminal.cooked()
    assert b"Traceback" not in terminal.output


def test_a_monitor_that_nobody_could_warn_of_its_stop_draws_the_whole_screen_when_it_goes_on(
    terminal: Terminal,
) -> None:
    terminal.process.send_signal(signal.SIGSTOP)
    wait_until(terminal.stopped)
    drawn = len(terminal.output)
    terminal.process.send_signal(signal.SIGCONT)
    wait_until(lambda: b"throughput" in terminal.output[drawn:])


def test_a_monitor_that_could_not_be_seen_does_not_start(path: Path, tmp_path: Path) -> None:
    DurableEngine(path).close()
    far, near = pty.openpty()
    try:
        with open(tmp_path / "log", "w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dura_tui", str(path)], stdin=near, stdout=near, stderr=log
            )
        try:
            assert process.wait(60) == 2
        finally:
            process.kill()
            process.wait()
        assert b"standard error" in os.read(far, 4096)
    finally:
        os.close(near)
        os.close(far)
