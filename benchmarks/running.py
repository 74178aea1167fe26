"""Running one cell of the table, a system's workload, in a process of its own; and all of them, systems taking turns."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.environments import ROOT, Environments, Unavailable, variables
from benchmarks.rows import Row
from benchmarks.systems import BARE, BY_ID, System

_PATIENCE: Final = {"tiny": 60, "quick": 120, "full": 3600, "large": 14_400}
"""Seconds after which a cell is given up."""


@dataclass(frozen=True)
class Cell:
    """What one run of one system's workload gave, or why it gave nothing."""

    row: str
    system: str
    round: int
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
        cache: The folder that holds environments and, while a cell runs, its store.
        environments: Where the interpreters are.
        scale: How large and how long.
    """

    def __init__(self, cache: Path, environments: Environments, scale: str) -> None:
        self.folder = cache / "stores"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._environments = environments
        self._scale = scale

    def run(self, turn: Turn) -> Cell:
        """Run a cell. Whatever goes wrong in it becomes part of the cell."""
        row, system = turn.row, turn.system
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            answer = self._answer(row, system, str(folder / "store.db"))
        except Unavailable as reason:
            return Cell(row.id, system.id, turn.round, skipped=str(reason))
        except _NoAnswerError as reason:
            return Cell(row.id, system.id, turn.round, failed=str(reason))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return Cell(row.id, system.id, turn.round, **answer)

    def _answer(self, row: Row, system: System, path: str) -> dict[str, Any]:
        python = self._environments.interpreter(system)
        spec: dict[str, Any] = {
            "system": system.id,
            "adapter": system.adapter,
            "workload": "commits" if system is BARE else row.workload,
            "path": path,
            "synchronous": row.synchronous,
            "options": {"seconds": 0.3} if system is BARE else row.options_for(system, self._scale),
        }
        if system.release is not None:
            release = BY_ID[system.release]
            spec["release"] = {
                "command": [self._environments.interpreter(release), "-m", "benchmarks.child"],
                "adapter": release.adapter,
                "environment": variables(release),
            }
        command = [python, "-m", "benchmarks.child", json.dumps(spec)]
        return _last_line(command, variables(system), _PATIENCE[self._scale])


class _NoAnswerError(Exception):
    """A cell ended without an answer."""


def _last_line(command: list[str], environment: dict[str, str], patience: float) -> dict[str, Any]:
    """The JSON in the last line that a command prints; the command and all that it started have ended afterwards."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        raise _NoAnswerError(f"gave no answer within {patience:.0f} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    lines = output.strip().splitlines()
    if process.returncode or not lines:
        last = (errors.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        raise _NoAnswerError(last)
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer
