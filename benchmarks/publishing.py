"""Putting the results into the documentation: between the two marks of its page, and as pictures beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks import plot
from benchmarks.environments import ROOT
from benchmarks.report import report
from benchmarks.results import Results

PAGE: Final = ROOT / "docs" / "benchmarks.md"
_PICTURES: Final = ROOT / "docs" / "images"
_BEGIN: Final = "<!-- results -->"
_END: Final = "<!-- end of results -->"


def publish(results: Results) -> list[Path]:
    """Write page and pictures. Returns what was written."""
    page = PAGE.read_text()
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    PAGE.write_text(f"{before}{_BEGIN}\n\n{report(results)}\n{_END}{after}")
    _PICTURES.mkdir(parents=True, exist_ok=True)
    rates, claims = _PICTURES / "benchmarks.svg", _PICTURES / "benchmarks-claims.svg"
    rates.write_text(plot.bars(results))
    claims.write_text(plot.lines(results))
    return [PAGE, rates, claims]
