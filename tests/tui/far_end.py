"""The far end of a pseudo-terminal: a program at the near end, and what its output makes a terminal show."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

from rich.cells import cell_len

SEQUENCE = re.compile(
    rb"\x1b\[(?P<parameters>[0-9;:?<=>]*)[ -/]*(?P<final>[@-~])"
    rb"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    rb"|\x1bP.*?(?<!\x1b)\x1b\\",
    re.DOTALL,
)
"""Control sequences, commands to the operating system, and device control strings."""


class Shown:
    """What a terminal shows after some output. Only what the monitor uses of a terminal is understood."""

    def __init__(self, columns: int, lines: int) -> None:
        self.size = (columns, lines)
        self._cells = [[" "] * columns for _ in range(lines)]
        self._place = (0, 0)
        self._rest = b""
        self.styles: set[str] = set()
        """The parameters of every sequence that sets a style."""

    @property
    def text(self) -> str:
        return "\n".join("".join(line).rstrip() for line in self._cells)

    def feed(self, data: bytes) -> None:
        data = self._rest + data
        end = 0
        for match in SEQUENCE.finditer(data):
            self._write(data[end : match.start()])
            self._obey((match["final"] or b"").decode(), (match["parameters"] or b"").decode())
            end = match.end()
        tail = data[end:]
        escape = tail.find(b"\x1b")
        whole = escape if escape >= 0 else _whole(tail)
        self._write(tail[:whole])
        self._rest = tail[whole:]

    def _obey(self, final: str, parameters: str) -> None:
        if final == "H":
            line, _, column = parameters.partition(";")
            self._place = (int(line or 1) - 1, int(column or 1) - 1)
        elif final == "m":
            self.styles.add(parameters)
        elif final == "h" and parameters == "?1049":
            self._cells = [[" "] * self.size[0] for _ in range(self.size[1])]

    def _write(self, data: bytes) -> None:
        for character in data.decode(errors="replace"):
            line, column = self._place
            width = cell_len(character) if character.isprintable() else 0
            if width and line < self.size[1] and column < self.size[0]:
                self._cells[line][column] = character
                self._cells[line][column + 1 : column + width] = [""] * (width - 1)
            self._place = (line + 1, 0) if character == "\n" else (line, column + width)


def _whole(data: bytes) -> int:
    """How many of the bytes make whole characters."""
    for back in range(1, min(4, len(data)) + 1):
        if data[-back] & 0xC0 != 0x80:
            length = (
                4 if data[-back] >= 0xF0 else 3 if data[-back] >= 0xE0 else 2 if data[-back] >= 0xC0 else 1
            )
            return len(data) if length <= back else len(data) - back
    return len(data)


_MISLEADING = ("NO_COLOR", "TMUX", "COLUMNS", "LINES")
"""Variables that would tell a program of another terminal; pytest's workers set the last two."""


class Terminal:
    """A pseudo-terminal with a Python program at its near end."""

    def __init__(
        self,
        *arguments: str | Path,
        size: tuple[int, int] = (80, 24),
        environment: dict[str, str] | None = None,
    ) -> None:
        """Start the interpreter with these arguments, on a terminal that controls no session."""
        self.far, near = pty.openpty()
        self._set_size(near, size)
        inherited = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
        self.process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdin=near,
            stdout=near,
            stderr=near,
            start_new_session=True,
            env={**inherited, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})},
        )
        os.close(near)
        self.output = b""
        self._shown = Shown(*size)
        self._fed = 0
        self._closing = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @staticmethod
    def _set_size(descriptor: int, size: tuple[int, int]) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def resize(self, columns: int, lines: int) -> None:
        """Make it another size, and tell the program as a terminal does; what it shows begins anew."""
        self._fed, self._shown = len(self.output), Shown(columns, lines)
        self._set_size(self.far, (columns, lines))
        self.process.send_signal(signal.SIGWINCH)

    def press(self, keys: str) -> None:
        os.write(self.far, keys.encode())

    def cooked(self) -> bool:
        """Whether it edits lines and shows what is typed, as it does for a shell."""
        wanted = termios.ICANON | termios.ECHO
        return bool(termios.tcgetattr(self.far)[3] & wanted == wanted)

    def stopped(self) -> bool:
        """Whether the program has been stopped, as by Ctrl-Z. Before it is, a signal to go on would be lost."""
        flags = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, flags) is not None

    def shown(self) -> Shown:
        """What the output so far makes it show."""
        output = self.output
        self._shown.feed(output[self._fed :])
        self._fed = len(output)
        return self._shown

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

    def end(self) -> None:
        """Leave nothing behind, whatever happened."""
        self.process.kill()
        self.process.wait()
        self.close()
