"""A picture of the screen as text that a reviewer can read: its lines, then the style of every cell in each theme.

Below the lines stands for each of them how many cells have which style, and below that what each style is in every theme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from io import StringIO
from itertools import groupby
from string import ascii_letters, digits

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.app import App

Styled = list[list[tuple[str, str]]]
"""The screen's lines, in pieces of text and style."""

_SIGNS = ascii_letters + digits
_ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")


def take(app: App[None]) -> Styled:
    """What the app's export would make an SVG of: every piece of the screen with its style."""
    width, height = app.size
    console = Console(
        width=width, height=height, file=StringIO(), force_terminal=True, color_system="truecolor",
        legacy_windows=False,
    )  # fmt: skip
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    assert update is not None, "the screen is not drawn yet"
    pieces = [piece for piece in console.render(update) if not piece.control]
    return [
        [(piece.text, _said(piece.style)) for piece in line if piece.text]
        for line in Segment.split_lines(pieces)
    ]


def _said(style: Style | None) -> str:
    """A style in words, for example `bold #ee6d6d on #12161c`."""
    if style is None:
        return "plain"
    words = [name for name in _ATTRIBUTES if getattr(style, name)]
    words += [_colour(style.color)] if style.color else []
    words += ["on", _colour(style.bgcolor)] if style.bgcolor else []
    return " ".join(words) or "plain"


def _colour(colour: object) -> str:
    return str(getattr(colour, "name", colour))


def written(taken: Mapping[str, Styled]) -> str:
    """The pictures of one screen in several themes as one text.

    Args:
        taken: By the theme's name; all of them show the same.
    """
    shown = {theme: [_text(line) for line in lines] for theme, lines in taken.items()}
    text, *others = shown.values()
    for theme, other in zip(list(taken)[1:], others, strict=True):
        assert text == other, "\n".join(unified_diff(text, other, next(iter(taken)), theme, lineterm=""))
    legend: dict[tuple[str, ...], str] = {}
    runs = [_runs([lines[place] for lines in taken.values()], legend) for place in range(len(text))]
    return "\n".join(
        (
            *(line.rstrip() for line in text),
            "=" * 20,
            *_numbered(runs),
            "=" * 20,
            f"  {' | '.join(taken)}",
            *(f"{sign} {' | '.join(styles)}" for styles, sign in legend.items()),
            "",
        )
    )


def _text(line: Sequence[tuple[str, str]]) -> str:
    return "".join(text for text, _ in line)


def _runs(same: Sequence[Sequence[tuple[str, str]]], legend: dict[tuple[str, ...], str]) -> str:
    """How many cells of a line have which style, for example `a12 b3`; styles that are new join the legend."""
    cells = zip(
        *([(character, style) for text, style in line for character in text] for line in same), strict=True
    )
    said = [(cell_len(place[0][0]), tuple(style for _, style in place)) for place in cells]
    found = []
    for styles, run in groupby(said, key=lambda cell: cell[1]):
        sign = legend.setdefault(styles, _sign(len(legend)))
        found.append(f"{sign}{sum(width for width, _ in run)}")
    return " ".join(found)


def _sign(place: int) -> str:
    return (
        _SIGNS[place]
        if place < len(_SIGNS)
        else f"{_SIGNS[place // len(_SIGNS) - 1]}'{_SIGNS[place % len(_SIGNS)]}'"
    )


def _numbered(runs: Sequence[str]) -> list[str]:
    """The runs of each line with its number; of lines that are alike, once."""
    said, first = [], 1
    for run, lines in groupby(runs):
        last = first + len(list(lines)) - 1
        said.append(f"{first if first == last else f'{first}-{last}'}: {run}")
        first = last + 1
    return said
