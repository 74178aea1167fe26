"""Running one cell of the table, a system's workload, in a process of its own; and all of them, systems taking turns."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.environments import ROOT, Environments, Unavailable
from benchmarks.prepared import Prepared
from benchmarks.rows import BARE_SECONDS, Row
from benchmarks.systems import ALL, BARE, BY_ID, System

_PATIENCE: Final = {"tiny": 60, "quick": 120, "full": 3_600, "large": 14_400}
"""Seconds after which a cell is given up."""

_STARTING: Final = 0.5
_BUILT: Final = 5e-5
"""Seconds that a cell takes for starting, and for each task of a large store that must be built: to tell what is left."""


@dataclass(frozen=True)
class Cell:
    """What one run of one system's workload gave, or why it gave nothing."""

    row: str
    system: str
    round: int
    scale: str
    metrics: dict[str, float] = field(default_factory=dict)
    durability: dict[str, list[str]] = field(default_factory=dict)
    skipped: str | None = None
    failed: str | None = None
    python: str | None = None
    sqlite: str | None = None
    seconds: float | None = None
    """How long it took, the filling of the store included."""

    def as_json(self) -> dict[str, Any]:
        """For the file of results."""
        return {key: value for key, value in asdict(self).items() if value not in (None, {})}


@dataclass(frozen=True)
class Turn:
    """A cell that is still to be run."""

    row: Row
    system: System
    round: int

    def expected(self, scale: str) -> float:
        """About how many seconds it takes, at most: a store that was prepared takes none."""
        if self.system is BARE:
            return _STARTING
        options = self.row.options_for(self.system, scale)
        measured: float = options.get("seconds", 0.0) * self.row.windows
        built = (
            0
            if self.round or self.row.fill
            else max(options.get("tasks", 0), options.get("beside", 0), sum(options.get("sizes", ())))
        )
        return _STARTING + measured + built * _BUILT


def turns(rows: tuple[Row, ...], systems: frozenset[str], scale: str, rounds: int | None) -> list[Turn]:
    """Every cell in the order of running: in each round of a row the systems follow each other, another one first."""
    order: list[Turn] = []
    for row in rows:
        wanted = [system for system in row.systems if system.id in systems]
        for number in range(rounds or row.rounds_at(scale)):
            taking = [system for system in wanted if rounds or number < _most_rounds(system, scale)]
            first = number % len(taking) if taking else 0
            order += [Turn(row, system, number) for system in taking[first:] + taking[:first]]
    return order


def _most_rounds(system: System, scale: str) -> float:
    return system.quick_rounds if system.quick_rounds is not None and scale == "quick" else math.inf


class Runner:
    """Runs cells on a real disk, below the cache.

    Args:
        cache: The folder that holds environments, prepared stores and, while a cell runs, its store.
        environments: Where the interpreters are.
        scale: How large and how long.
        told: Is told how far the building of a large store is: tasks so far, and in all.
    """

    def __init__(
        self, cache: Path, environments: Environments, scale: str, told: Callable[[int, int], None]
    ) -> None:
        self.folder = cache / "stores"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.prepared = Prepared(cache / "prepared")
        self.prepared.drop_others(environments.signature(system) for system in ALL)
        self._environments = environments
        self._scale = scale
        self._told = told

    def run(self, turn: Turn, *, prepare: bool = False) -> Cell:
        """Run a cell. Whatever goes wrong in it becomes part of the cell.

        Args:
            turn: The cell.
            prepare: Make the stores that it copies, and measure nothing.
        """
        row, system = turn.row, turn.system
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            command, variables = self._command(row, system, str(folder / "store.db"), prepare)
            answer = _answer(command, variables, _PATIENCE[self._scale], self._told)
        except Unavailable as reason:
            return Cell(row.id, system.id, turn.round, self._scale, skipped=str(reason))
        except _NoAnswerError as reason:
            return Cell(row.id, system.id, turn.round, self._scale, failed=str(reason))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return Cell(row.id, system.id, turn.round, self._scale, **answer)

    def _command(
        self, row: Row, system: System, path: str, prepare: bool
    ) -> tuple[list[str], dict[str, str]]:
        """The child's command and what must be set for it."""
        environments = self._environments
        spec: dict[str, Any] = {
            "system": system.id,
            "adapter": system.adapter,
            "without": system.without,
            "workload": "commits" if system is BARE else row.workload,
            "path": path,
            "prepared": str(self.prepared.folder),
            "signature": environments.signature(system),
            "prepare": prepare,
            "synchronous": row.synchronous,
            "options": {"seconds": BARE_SECONDS} if system is BARE else row.options_for(system, self._scale),
        }
        if system.release is not None:
            release = BY_ID[system.release]
            spec["release"] = {
                "command": [environments.interpreter(release), "-m", "benchmarks.child"],
                "spec": {
                    "system": release.id,
                    "adapter": release.adapter,
                    "signature": environments.signature(release),
                },
                "environment": environments.variables(release),
            }
        command = [environments.interpreter(system), "-m", "benchmarks.child", json.dumps(spec)]
        return command, environments.variables(system)


class _NoAnswerError(Exception):
    """A cell ended without an answer."""


def _answer(
    command: list[str], variables: dict[str, str], patience: float, told: Callable[[int, int], None]
) -> dict[str, Any]:
    """The JSON in the last line that a command prints; the command and all that it started have ended afterwards."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        late = threading.Timer(patience, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        answer: dict[str, Any] | None = None
        try:
            for line in process.stdout or ():
                said = json.loads(line)
                if "built" in said:
                    told(said["built"], said["of"])
                else:
                    answer = said
            process.wait()
        finally:
            in_time = late.is_alive()
            late.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if not in_time:
            raise _NoAnswerError(f"gave no answer within {patience:.0f} s")
        if process.returncode or answer is None:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [f"exit code {process.returncode}"])[-1]
            raise _NoAnswerError(last)
    return answer
