"""The results of a run: every cell as it was measured, and the medians and spreads over the rounds."""

from __future__ import annotations

import json
import operator
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.running import Cell


@dataclass(frozen=True)
class Spread:
    """The middle of some values, and the middle half of them."""

    median: float
    low: float
    high: float
    count: int


def spread(values: list[float]) -> Spread:
    """Median and quartiles."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0], 1)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high, len(values))


@dataclass
class Results:
    """A run."""

    machine: dict[str, str]
    started: str = field(default_factory=lambda: time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()))
    load: list[str] = field(default_factory=list)
    """The load average before and after."""
    cells: list[Cell] = field(default_factory=list)

    def file_name(self) -> str:
        """A name for the file that keeps it."""
        return self.started.replace(" ", "-").replace(":", "")

    def of(self, row: str, system: str) -> list[Cell]:
        """The cells of one system in one row."""
        return [cell for cell in self.cells if cell.row == row and cell.system == system]

    def spread(self, row: str, system: str, measure: str) -> Spread | None:
        """What a system measured, over the rounds; None if nothing."""
        values = [cell.metrics[measure] for cell in self.of(row, system) if measure in cell.metrics]
        return spread(values) if values else None

    def median(self, row: str, system: str, measure: str) -> float | None:
        """The middle of what a system measured; None if nothing."""
        found = self.spread(row, system, measure)
        return None if found is None else found.median

    def against(
        self,
        row: str,
        mine: tuple[str, str],
        other: tuple[str, str],
        combine: Callable[[float, float], float] = operator.truediv,
    ) -> Spread | None:
        """A ratio, formed anew in each round that both measured, over the rounds.

        What else the machine does lasts longer than a round and hits both of them; so the ratios of the rounds agree
        better than the rates do.

        Args:
            row: The row.
            mine: A system and its measure.
            other: Another system, or another measure of the same.
            combine: What is formed of the two; by default mine divided by the other.
        """
        rounds = self._rounds(row, *mine), self._rounds(row, *other)
        values = [
            combine(rounds[0][number], rounds[1][number])
            for number in sorted(rounds[0].keys() & rounds[1].keys())
            if combine is not operator.truediv or rounds[1][number]
        ]
        return spread(values) if values else None

    def _rounds(self, row: str, system: str, measure: str) -> dict[int, float]:
        cells = self.of(row, system)
        return {cell.round: cell.metrics[measure] for cell in cells if measure in cell.metrics}

    def note(self, row: str, system: str) -> str | None:
        """Why a system has no numbers in a row; None if it has."""
        cells = self.of(row, system)
        if any(cell.metrics for cell in cells):
            return None
        reasons = [cell.skipped or f"failed: {cell.failed}" for cell in cells if cell.skipped or cell.failed]
        return reasons[0] if reasons else None

    def durability(self, row: str, system: str) -> str:
        """The levels that were in force, read back from the connections that worked."""
        cells = self.of(row, system)
        levels = sorted({level for cell in cells for level in cell.durability.get("synchronous", ())})
        journals = sorted({mode for cell in cells for mode in cell.durability.get("journal", ())})
        return f"{'/'.join(levels) or '?'}, {'/'.join(journals) or '?'}"

    def versions(self, system: str) -> tuple[str, str] | None:
        """The Python and the SQLite that a system ran on; None if it did not run."""
        for cell in self.cells:
            if cell.system == system and cell.python and cell.sqlite:
                return cell.python, cell.sqlite
        return None

    def replace(self, row: str, cells: list[Cell]) -> None:
        """Put new cells in the place of all that a row had."""
        self.cells = [cell for cell in self.cells if cell.row != row] + cells

    def scales(self) -> dict[str, list[str]]:
        """The scales at which rows were measured, and which rows."""
        found: dict[str, list[str]] = {}
        for cell in self.cells:
            rows = found.setdefault(cell.scale, [])
            if cell.row not in rows:
                rows.append(cell.row)
        return found

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        document: dict[str, Any] = {
            "started": self.started,
            "load": self.load,
            "machine": self.machine,
            "cells": [cell.as_json() for cell in self.cells],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(document, indent=1) + "\n")
        fresh.replace(path)


def load_results(path: Path) -> Results:
    """Read what `save` wrote."""
    document = json.loads(path.read_text())
    cells = [Cell(**cell) for cell in document["cells"]]
    return Results(document["machine"], document["started"], document["load"], cells)
