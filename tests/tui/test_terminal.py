"""A terminal that hangs up ends the monitor, whoever is told of it and whoever is not."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import wait_until
from dura import DurableEngine
from dura_tui.terminal import HUNG_UP

pytestmark = pytest.mark.crash


class Terminal:
    """The far end of a pseudo-terminal, with the monitor at the near end."""

    def __init__(self, path: Path) -> None:
        self.far, near = pty.openpty()
        fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dura_tui", str(path)],
            stdin=near,
            stdout=near,
            stderr=near,
            start_new_session=True,
        )
        os.close(near)
        self.output = b""
        self._closing = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        os.set_blocking(self.far, False)
        while not self._closing:
            try:
                self.output += os.read(self.far, 65536)
            except BlockingIOError:
                threading.Event().wait(0.01)
            except OSError:
                return

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._reader.join()
            os.close(self.far)


@pytest.fixture
def terminal(path: Path) -> Iterator[Terminal]:
    DurableEngine(path).close()
    terminal = Terminal(path)
    try:
        wait_until(lambda: b"Overview" in terminal.output or terminal.process.poll() is not None)
        assert terminal.process.poll() is None, terminal.output.decode(errors="replace")
        yield terminal
    finally:
        terminal.process.kill()
        terminal.process.wait()
        terminal.close()


def test_a_closed_terminal_ends_the_process_though_no_signal_comes(terminal: Terminal) -> None:
    """The process leads a session without a controlling terminal, so nobody sends it SIGHUP."""
    terminal.close()
    assert terminal.process.wait(20) == HUNG_UP


def test_a_hang_up_signal_ends_the_process(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGHUP)
    assert terminal.process.wait(20) == HUNG_UP


def test_a_termination_signal_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.process.wait(20) == 0
    wait_until(lambda: b"\x1b[?1049l" in terminal.output)


def test_a_monitor_that_was_stopped_draws_the_whole_screen_when_it_goes_on(terminal: Terminal) -> None:
    terminal.process.send_signal(signal.SIGTSTP)
    wait_until(lambda: b"\x1b[?1049l" in terminal.output)
    before = len(terminal.output)
    terminal.process.send_signal(signal.SIGCONT)
    wait_until(lambda: b"Overview" in terminal.output[before:])
    wait_until(lambda: b"throughput" in terminal.output[before:])


def test_a_monitor_that_could_not_be_seen_does_not_start(path: Path, tmp_path: Path) -> None:
    DurableEngine(path).close()
    far, near = pty.openpty()
    try:
        with open(tmp_path / "log", "w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dura_tui", str(path)], stdin=near, stdout=near, stderr=log
            )
        try:
            assert process.wait(20) == 2
        finally:
            process.kill()
            process.wait()
        assert b"standard error" in os.read(far, 4096)
    finally:
        os.close(near)
        os.close(far)
