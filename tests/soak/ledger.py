"""The ledger: a file outside the store to which every process tells what it did, and which survives every kill.

A line is one append of one write: what was written when the process died stays, since only a power cut takes what the kernel
has. Lines are words, the first of them says what:

    told N TASK PID                                   the application was told that task N is spawned
    emitted N PID                                     … that the event which task N may wait for is emitted
    did TASK STEP ATTEMPT TOKEN PID VALUE             a step has had its effect outside, whose result is VALUE
    kept TASK STEP ATTEMPT TOKEN PID VALUE            its result was committed, as the engine has said
    lost TASK STEP ATTEMPT TOKEN PID ERROR            the engine has refused it: the claim is over
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A line about a step."""

    what: str
    task_id: str
    step: str
    attempt: int
    token: int
    pid: int
    value: str

    @property
    def claim(self) -> tuple[int, int]:
        """Claims of one task, in their order."""
        return self.attempt, self.token


@dataclass(frozen=True)
class Ledger:
    """The file."""

    path: Path

    def write(self, *words: object) -> None:
        """Append a line, at once and whole."""
        line = " ".join(map(str, words)) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            written = os.write(descriptor, line.encode())
            assert written == len(line.encode())
        finally:
            os.close(descriptor)

    def lines(self, what: str) -> list[list[str]]:
        """The lines that say so, in the order in which they were written."""
        if not self.path.exists():
            return []
        lines = (line.split() for line in self.path.read_text().splitlines())
        return [words[1:] for words in lines if words[0] == what]

    def latest(self, count: int) -> list[list[str]]:
        """The last lines, about so many, as words."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 100 * count))
            return [line.decode().split() for line in file.read().splitlines()[1:]]

    def at_work(self, count: int) -> set[int]:
        """The processes that wrote the last lines, about so many."""
        return {int(words[-1 if words[0] in ("told", "emitted") else -2]) for words in self.latest(count)}

    def in_a_step(self) -> int | None:
        """The process that has had an effect just now, and has said no more since."""
        words = [""] if not (lines := self.latest(3)) else lines[-1]
        return int(words[-2]) if words[0] == "did" else None

    def entries(self) -> list[Entry]:
        """The lines about steps, in their order."""
        found = []
        for words in (line.split() for line in self.path.read_text().splitlines()):
            if words[0] in ("did", "kept", "lost"):
                what, task_id, step, attempt, token, pid, value = words
                found.append(Entry(what, task_id, step, int(attempt), int(token), int(pid), value))
        return found
