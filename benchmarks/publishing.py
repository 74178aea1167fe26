"""Putting the results into the documentation: between two marks of its page, and as pictures beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks import plot
from benchmarks.environments import ROOT
from benchmarks.report import report
from benchmarks.results import Results

PAGE: Final = ROOT / "docs" / "benchmarks.md"
RESULTS: Final = "results"
ABLATION: Final = "ablation"
TERMINAL: Final = "terminal"
"""The parts of the page that are written by the harness."""

_PICTURES: Final = ROOT / "docs" / "images"


def publish(results: Results) -> list[Path]:
    """Write page and pictures. Returns what was written."""
    _PICTURES.mkdir(parents=True, exist_ok=True)
    rates, claims = _PICTURES / "benchmarks.svg", _PICTURES / "benchmarks-claims.svg"
    rates.write_text(plot.bars(results))
    claims.write_text(plot.lines(results))
    return [put(RESULTS, report(results)), rates, claims]


def put(part: str, text: str) -> Path:
    """Write a part of the page between its marks. Returns the page."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    before, _, rest = PAGE.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{PAGE}: there are no marks {begin} and {end} in it")
    PAGE.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")
    return PAGE
