"""Running the cells of the table, each a system's workload in a process of its own, with the systems taking turns."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.children import Child, NoAnswer
from benchmarks.environments import Environments, Unavailable
from benchmarks.prepared import Prepared
from benchmarks.progress import Progress
from benchmarks.row import BARE_SECONDS, Row
from benchmarks.systems import ALL, BARE, BY_ID, System

_PATIENCE: Final = {"tiny": 60, "quick": 120, "full": 3_600, "large": 14_400}
"""Seconds after which a cell is given up."""

_STARTING: Final = 0.3
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
    """How long it took, the preparing of its store not included."""

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
            taking = [system for system in wanted if rounds or number < row.rounds_of(system, scale)]
            first = number % len(taking) if taking else 0
            order += [Turn(row, system, number) for system in taking[first:] + taking[:first]]
    return order


def heats(order: list[Turn], scale: str) -> list[list[Turn]]:
    """The cells of each round of a row together; alone where the stores are so large that only one fits into memory."""
    grouped = itertools.groupby(order, lambda turn: (turn.row.id, turn.round))
    found: list[list[Turn]] = []
    for _, turns_of_round in grouped:
        heat = list(turns_of_round)
        alone = heat[0].row.stores and scale in ("full", "large")
        found += [[turn] for turn in heat] if alone else [heat]
    return found


class Runner:
    """Runs cells on a real disk, below the cache.

    Args:
        cache: The folder that holds environments, prepared stores and, while a cell runs, its store.
        environments: Where the interpreters are.
        scale: How large and how long.
        progress: Is told what is being run.
    """

    def __init__(self, cache: Path, environments: Environments, scale: str, progress: Progress) -> None:
        self.folder = cache / "stores"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.prepared = Prepared(cache / "prepared")
        self.prepared.drop_others(environments.signature(system) for system in ALL)
        self._environments = environments
        self._scale = scale
        self._progress = progress

    def run(self, heat: Sequence[Turn], *, prepare: bool = False) -> list[Cell]:
        """Run the cells of a heat. Whatever goes wrong in one becomes part of it.

        Args:
            heat: The cells. They prepare at the same time and measure one after the other, or together if the row says so.
            prepare: Make the stores that they copy, and measure nothing.
        """
        cells: list[Cell] = []
        together = heat[0].row.together
        with ExitStack() as stack:
            self._progress.begin(heat[0].row.title, "preparing")
            started = [self._start(turn, stack, prepare) for turn in heat]
            children = [child for child in started if isinstance(child, Child)]
            for child in children:
                child.wait_until_ready()
            for child in children if together else ():
                child.begin()
            for turn, one in zip(heat, started, strict=True):
                self._progress.begin(turn.row.title, turn.system.title)
                cell = one if isinstance(one, Cell) else self._cell(turn, one, begun=together)
                self._progress.end(
                    turn.expected(self._scale),
                    f"{turn.row.id}, {turn.system.title}: {cell.failed}" if cell.failed else None,
                )
                cells.append(cell)
        return cells

    def _start(self, turn: Turn, stack: ExitStack, prepare: bool) -> Child | Cell:
        """The child of a cell, or at once the cell of a system that does not run here."""
        folder = stack.enter_context(TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True))
        try:
            command, variables = self._command(turn.row, turn.system, f"{folder}/store.db", prepare)
        except Unavailable as reason:
            return Cell(turn.row.id, turn.system.id, turn.round, self._scale, skipped=str(reason))
        return stack.enter_context(Child(command, variables, _PATIENCE[self._scale], self._progress.built))

    def _cell(self, turn: Turn, child: Child, *, begun: bool) -> Cell:
        began = time.monotonic()
        if not begun:
            child.begin()
        try:
            answer = child.answer()
        except NoAnswer as reason:
            return Cell(turn.row.id, turn.system.id, turn.round, self._scale, failed=str(reason))
        seconds = round(time.monotonic() - began, 3)
        return Cell(turn.row.id, turn.system.id, turn.round, self._scale, **answer, seconds=seconds)

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
            "gate": True,
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
