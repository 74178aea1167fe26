"""Two pictures of the results, as SVG written by hand: rates as bars, and claims by the size of the store as lines."""

from __future__ import annotations

import math
from html import escape
from typing import Final

from benchmarks.measures import written
from benchmarks.results import Results, Spread
from benchmarks.row import Row
from benchmarks.rows import ROWS
from benchmarks.systems import BARE, System

_COLOURS: Final = {
    "dura": "#1f6feb",
    "dura-upgraded": "#79b0f7",
    "dura-1.3.0": "#e8833a",
    "huey": "#6f9e4c",
    "persist-queue": "#8e6bbf",
    "litequeue": "#b7903c",
    "dbos": "#5f8a8b",
}
_BARRED: Final = ("drain-full-8", "drain-full-1", "drain-normal-8", "steps-8", "steps-32", "busy", "spawn")
_WIDTH: Final = 860
_LABELS: Final = 150
_NUMBERS: Final = 110
_BAR: Final = 18
_TITLE: Final = 34
_STYLE: Final = (
    "<style>text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-weight:600}.n{fill:#57606a}</style>"
)


def bars(results: Results) -> str:
    """A group of bars for each rate; within a group the lengths compare. A line on a bar is the middle half of the rounds."""
    drawn: list[str] = []
    y = 10.0
    for row in ROWS:
        rates = _rates(results, row) if row.id in _BARRED else []
        if not rates:
            continue
        drawn.append(_text(12, y + 16, row.title, "t"))
        y += _TITLE - 8
        most = max(found.high for _, found in rates)
        across = (_WIDTH - _LABELS - _NUMBERS) / most
        for system, found in rates:
            length = max(1.0, across * found.median)
            drawn.append(_text(_LABELS - 8, y + 13, system.title, "", anchor="end"))
            drawn.append(
                f'<rect x="{_LABELS}" y="{y:.0f}" width="{length:.0f}" height="{_BAR - 4}" rx="2" '
                f'fill="{_COLOURS[system.id]}"/>'
            )
            low, high = _LABELS + across * found.low, _LABELS + across * found.high
            drawn.append(
                f'<path d="M{low:.1f} {y + _BAR / 2 - 2:.0f}H{high:.1f}" stroke="#24292f" stroke-width="2"/>'
            )
            end = max(_LABELS + length, high)
            drawn.append(_text(end + 6, y + 12, written(found.median, "rate"), "n"))
            y += _BAR
        y += 14
    return _svg(_WIDTH, y, drawn)


def _rates(results: Results, row: Row) -> list[tuple[System, Spread]]:
    found = (
        (system, results.spread(row.id, system.id, "rate")) for system in row.systems if system is not BARE
    )
    return [(system, rate) for system, rate in found if rate is not None]


_PANEL: Final = 400
_HEIGHT: Final = 190


def lines(results: Results) -> str:
    """Claim times by store size, both by powers of ten: a panel for each thing that a store may be full of."""
    drawn: list[str] = []
    panels = [row for row in ROWS if row.workload == "claims" and _points(results, row)]
    for number, row in enumerate(panels):
        x, y = 20 + number % 2 * (_PANEL + 30), 10 + number // 2 * (_HEIGHT + 70)
        drawn += _panel(row.title, _points(results, row), x, y)
    rows = (len(panels) + 1) // 2
    return _svg(_WIDTH, rows * (_HEIGHT + 70) + 20, drawn)


def _points(results: Results, row: Row) -> dict[str, list[tuple[int, float]]]:
    points: dict[str, list[tuple[int, float]]] = {}
    for system in row.systems:
        for measure in row.measures:
            median = results.median(row.id, system.id, measure.key)
            if median is not None and measure.key.startswith("claim "):
                points.setdefault(system.id, []).append((int(measure.key.split()[1]), median))
    return points


def _panel(title: str, points: dict[str, list[tuple[int, float]]], x: float, y: float) -> list[str]:
    sizes = sorted({size for line in points.values() for size, _ in line})
    times = [seconds for line in points.values() for _, seconds in line]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    left, top, width, height = x + 60, y + 24, _PANEL - 80, _HEIGHT - 20

    def across(size: int) -> float:
        span = math.log10(sizes[-1] / sizes[0]) or 1
        return left + width * math.log10(size / sizes[0]) / span

    def up(seconds: float) -> float:
        return top + height * (1 - (math.log10(seconds) - low) / (high - low or 1))

    drawn = [_text(x, y + 12, title, "t")]
    for power in range(low, high + 1):
        drawn.append(
            f'<path d="M{left} {up(10**power):.0f}H{left + width}" stroke="#d0d7de" stroke-width="1"/>'
        )
        drawn.append(_text(left - 6, up(10**power) + 4, written(10**power, "seconds"), "n", anchor="end"))
    drawn += [_text(across(size), top + height + 18, f"{size:,}", "n", anchor="middle") for size in sizes]
    for number, (system, line) in enumerate(points.items()):
        path = " ".join(f"{across(size):.0f},{up(seconds):.0f}" for size, seconds in line)
        drawn.append(
            f'<polyline points="{path}" fill="none" stroke="{_COLOURS[system]}" stroke-width="2.5"/>'
        )
        drawn.append(_text(left + number * 130, top + height + 36, system, "", colour=_COLOURS[system]))
    return drawn


def _text(
    x: float, y: float, text: str, kind: str, *, anchor: str = "start", colour: str | None = None
) -> str:
    fill = f' style="fill:{colour};font-weight:600"' if colour else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}"{fill}>{escape(text)}</text>'


def _svg(width: float, height: float, drawn: list[str]) -> str:
    box = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {box}>', _STYLE, ground, *drawn, "</svg>", ""]
    )
