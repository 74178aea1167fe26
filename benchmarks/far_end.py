"""The far end of a pseudo-terminal, which notes when which byte came."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_AT_ONCE: Final = 65_536

_MISLEADING: Final = ("NO_COLOR", "TMUX", "PYTHONDONTWRITEBYTECODE")
"""Variables that would tell a program of another terminal, or have it compile what an installed one has compiled."""


class FarEnd:
    """A terminal with a program on it, which has ended when the block is left."""

    def __init__(self, command: list[str], size: tuple[int, int]) -> None:
        self._command = command
        self._size = size
        self.bytes = 0
        """How many have come."""

    def __enter__(self) -> Self:
        self._far, near = pty.openpty()
        fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("HHHH", self._size[1], self._size[0], 0, 0))
        inherited = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            self._command,
            stdin=near,
            stdout=near,
            stderr=near,
            start_new_session=True,
            env={**inherited, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        )
        os.close(near)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._far)

    def processor_seconds(self) -> float:
        """How long the program has been at work so far, on all processors together."""
        threads = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._far, keys.encode())

    def until(self, words: bytes, seconds: float = 30.0) -> float:
        """Read until these bytes come; the moment of it, by the performance counter.

        Raises:
            RuntimeError: They did not come in so many seconds, or the program has ended.
        """
        seen = b""
        ends = time.perf_counter() + seconds
        while (left := ends - time.perf_counter()) > 0:
            seen = seen[-len(words) :] + (new := self._read(left))
            if words in seen:
                return time.perf_counter()
            if not new and self._process.poll() is not None:
                break
        raise RuntimeError(f"the terminal never showed {words!r}")

    def read_for(self, seconds: float) -> int:
        """Read for so long; how many bytes came."""
        before = self.bytes
        ends = time.perf_counter() + seconds
        while (left := ends - time.perf_counter()) > 0:
            self._read(left)
        return self.bytes - before

    def read_to_end(self, seconds: float) -> None:
        """Read until the program ends.

        Raises:
            RuntimeError: It did not end in so many seconds.
        """
        ends = time.perf_counter() + seconds
        while self._process.poll() is None:
            if time.perf_counter() > ends:
                raise RuntimeError("the program did not end")
            self._read(0.5)

    def _read(self, seconds: float) -> bytes:
        if not select.select([self._far], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self._far, _AT_ONCE)
        except OSError:  # the near end is closed
            return b""
        self.bytes += len(data)
        return data
