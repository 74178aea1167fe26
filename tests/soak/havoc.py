"""Programs that share a store, killed at random and started again."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

from conftest import can_be_told_to_end, wait_until
from soak.ledger import Ledger

_LATELY: Final = 100
"""Lines of the ledger among which is one of each process that is at work."""

_FOLDER: Final = Path(__file__).parent


class Program:
    """A Python program of this folder, in a session of its own, so that all that it starts can be found."""

    def __init__(self, log: Path, name: str, *arguments: object) -> None:
        self.name = name
        self._log = log
        self._command = [sys.executable, str(_FOLDER / name), *map(str, arguments)]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("a") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)

    def start_again(self) -> None:
        self.process = self._start()

    def everyone(self) -> list[int]:
        """The processes of all its sessions that still run, its own first."""
        mine = self.process.pid
        return sorted(_of_session(mine), key=lambda pid: pid != mine)

    def over(self) -> bool:
        """Whether it has ended by itself."""
        return self.process.poll() is not None


def _of_session(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                state, _, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(of) == session and state != "Z":
                    found.append(int(entry.name))
    return found


def _works(pid: int) -> bool:
    """Whether it is one of a pool's processes, not one that multiprocessing keeps for itself."""
    with suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


class Havoc:
    """Kills, and stops for so long that leases run out."""

    def __init__(
        self, programs: Sequence[Program], ledger: Ledger, seed: str, *, stop_seconds: float
    ) -> None:
        self.programs = list(programs)
        self._ledger = ledger
        self.chance = Random(seed)
        self.killed: set[int] = set()
        self.kills: Counter[str] = Counter()
        self.stops = 0
        self._stop_seconds = stop_seconds
        self._stopped: dict[int, float] = {}
        """Processes that stand still, and until when on the monotonic clock."""
        self._sessions = {program.process.pid for program in programs}

    def strike(self) -> None:
        """Kill or stop a program that is at work, all of its processes at once, its parent alone, or one of the others.

        What is gone is started again.
        """
        self._go_on(time.monotonic())
        program = self.chance.choice(self.programs)
        everyone = program.everyone()
        if not self._ledger.at_work(_LATELY).intersection(everyone):
            return
        if self.chance.random() < 0.2:
            self._stop()
            return
        children = [pid for pid in everyone[1:] if _works(pid)]
        ways = (
            ("whole program", everyone),
            ("parent", everyone[:1]),
            ("child", self.chance.sample(children, min(1, len(children)))),
        )
        how, victims = self.chance.choice(ways if len(everyone) > 1 else ways[:1])
        for victim in victims:
            self._signal(victim, signal.SIGKILL)
            self.killed.add(victim)
        if victims:
            self.kills[f"{program.name} {how}" if len(everyone) > 1 else program.name] += 1
        if program.process.pid in victims:
            program.process.wait(60)
            program.start_again()
            self._sessions.add(program.process.pid)

    def _stop(self) -> None:
        """Stop a process in the middle of a step, if one can be caught there."""
        deadline = time.monotonic() + 1
        while (pid := self._ledger.in_a_step()) is None or pid in self._stopped:
            if time.monotonic() > deadline:
                return
            time.sleep(0.002)
        self._signal(pid, signal.SIGSTOP)
        self._stopped[pid] = time.monotonic() + self._stop_seconds
        self.stops += 1

    def go_on(self) -> None:
        """Let all go on that stand still."""
        self._go_on(math.inf)

    def _go_on(self, now: float) -> None:
        """Let those go on that have stood still for long enough."""
        for pid, until in list(self._stopped.items()):
            if until <= now:
                self._signal(pid, signal.SIGCONT)
                del self._stopped[pid]

    def _signal(self, pid: int, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    def left(self) -> list[int]:
        """The processes of every program that was ever started which still run."""
        return [pid for session in self._sessions for pid in _of_session(session)]

    def calm(self) -> list[int]:
        """Ask all to end, and wait for it. Returns their exit codes."""
        self.go_on()
        for program in self.programs:
            wait_until(lambda program=program: program.over() or can_be_told_to_end(program.process.pid))  # type: ignore[misc]
            if not program.over():
                program.process.terminate()
        codes = [program.process.wait(60) for program in self.programs]
        wait_until(lambda: not self.left())
        return codes

    def end(self) -> None:
        """Leave nobody behind, whatever has happened."""
        for pid in self.left():
            self._signal(pid, signal.SIGKILL)
        for program in self.programs:
            program.process.wait(60)
        wait_until(lambda: not self.left())
