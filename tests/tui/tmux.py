"""A terminal that is a real one: tmux, on a socket of its own, with one program in it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from conftest import wait_until

FOUND = shutil.which("tmux")
"""Where tmux is; None where it is not."""


class Tmux:
    """A tmux server with one window, in which one program runs at a time."""

    def __init__(self, command: Sequence[str | Path], *, size: tuple[int, int]) -> None:
        # A short path: a socket's must fit into 107 bytes.
        self._folder = mkdtemp(prefix="dura-tmux-")
        self._command = "exec " + shlex.join(map(str, command))
        width, height = map(str, size)
        self._tmux("-f", os.devnull, "new-session", "-d", "-x", width, "-y", height, self._command)
        self._tmux("set-option", "-g", "remain-on-exit", "on")
        self._server = int(self._tmux("display-message", "-p", "#{pid}"))

    def _tmux(self, *words: str) -> str:
        inherited = {name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR")}
        done = subprocess.run(
            ["tmux", "-u", "-S", f"{self._folder}/socket", *words],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            env=inherited,
        )
        return done.stdout

    @property
    def pid(self) -> int:
        """The program's process."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    @property
    def dead(self) -> bool:
        """Whether the program has ended."""
        return self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1"

    def press(self, *keys: str) -> None:
        """Press keys, as tmux names them."""
        self._tmux("send-keys", *keys)

    def shown(self) -> str:
        """What the terminal shows."""
        return self._tmux("capture-pane", "-p")

    def until(self, condition: Callable[[str], object]) -> None:
        """Wait until this is true of what is shown; give up with what is."""
        try:
            wait_until(lambda: condition(self.shown()))
        except AssertionError as error:
            raise AssertionError(f"{error}; the terminal shows:\n{self.shown()}") from None

    def says(self, *words: str) -> None:
        """Wait until all of these words are shown."""
        self.until(lambda shown: all(word in shown for word in words))

    def start_again(self) -> None:
        """Run the program anew, in place of the one that has ended."""
        self._tmux("respawn-pane", "-k", self._command)

    def end(self) -> None:
        """End the program and the server, and leave nothing behind."""
        with suppress(ProcessLookupError):
            os.kill(self._server, signal.SIGTERM)
        wait_until(lambda: not _lives(self._server))
        shutil.rmtree(self._folder, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return Path(f"/proc/{pid}").exists()
