"""The monitor's colours: one quiet dark theme and one light, and how each draws a terminal's sixteen names.

Cells and lines name colours as terminals do (`red`, `bright_black`); Textual turns them into these values, so that a
change of theme recolours what is already on the screen, and NO_COLOR leaves glyphs and words.
"""

from __future__ import annotations

from typing import Final

from rich.color import Color
from rich.terminal_theme import TerminalTheme
from textual.theme import Theme

DARK: Final = Theme(
    name="dura-dark",
    dark=True,
    primary="#6cb0f0",
    secondary="#4a6a8a",
    accent="#5cc8c8",
    warning="#dcb163",
    error="#ee6d6d",
    success="#78c088",
    foreground="#d3dae3",
    background="#12161c",
    surface="#181d25",
    panel="#212833",
    variables={"input-selection-background": "#6cb0f0 35%"},
)

LIGHT: Final = Theme(
    name="dura-light",
    dark=False,
    primary="#1f63a8",
    secondary="#6b8fb3",
    accent="#0a7a80",
    warning="#8a5a00",
    error="#b3261e",
    success="#1f7a3d",
    foreground="#20262e",
    background="#fbfbf9",
    surface="#f1f2f0",
    panel="#e4e7e8",
    variables={"input-selection-background": "#1f63a8 25%"},
)


def _rgb(colour: str) -> tuple[int, int, int]:
    triplet = Color.parse(colour).get_truecolor()
    return (triplet.red, triplet.green, triplet.blue)


def _palette(background: str, foreground: str, names: str, bright: str) -> TerminalTheme:
    return TerminalTheme(
        _rgb(background),
        _rgb(foreground),
        [_rgb(name) for name in names.split()],
        [_rgb(name) for name in bright.split()],
    )


#                       black   red     green   yellow  blue    magenta cyan    white
DARK_PALETTE: Final = _palette(
    "#12161c",
    "#d3dae3",
    "#12161c #ee6d6d #78c088 #dcb163 #6cb0f0 #bd93e0 #5cc8c8 #d3dae3",
    "#75808f #f58a8a #93d4a1 #e8c684 #8cc4f7 #cfaeec #7fdada #f2f5f8",
)
LIGHT_PALETTE: Final = _palette(
    "#fbfbf9",
    "#20262e",
    "#20262e #b3261e #1f7a3d #8a5a00 #1f63a8 #7a3fa6 #0a7a80 #4a525c",
    "#6e7680 #c43a31 #2d8f4e #a06c08 #2f78c4 #9152bd #13929a #20262e",
)
