"""The monitor's colours: a quiet dark theme, a light one, and of each one that the colour-blind can tell apart.

Cells and lines name colours as terminals do (`red`, `bright_black`); a palette turns these names into its theme's
values, so that a change of theme recolours what is already on the screen. NO_COLOR takes all colours away and leaves
signs, words, and what is bold, dim or reversed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.color import Color as TextualColor
from textual.filter import LineFilter
from textual.theme import Theme

from dura_tui.config import THEMES

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

SAFE_DARK: Final = Theme(
    name="dura-safe-dark",
    dark=True,
    primary="#74aae5",
    secondary="#4a6a8a",
    accent="#74aae5",
    warning="#ead146",
    error="#cd703a",
    success="#4df094",
    foreground="#e3e8ee",
    background="#12161c",
    surface="#181d25",
    panel="#212833",
    variables={"input-selection-background": "#74aae5 35%"},
)

SAFE_LIGHT: Final = Theme(
    name="dura-safe-light",
    dark=False,
    primary="#022adf",
    secondary="#6b8fb3",
    accent="#022adf",
    warning="#877101",
    error="#761001",
    success="#29824c",
    foreground="#14181d",
    background="#fbfbf9",
    surface="#f1f2f0",
    panel="#e4e7e8",
    variables={"input-selection-background": "#022adf 25%"},
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
SAFE_DARK_PALETTE: Final = _palette(
    "#12161c",
    "#e3e8ee",
    "#12161c #cd703a #4df094 #ead146 #74aae5 #b363ff #7fd8e6 #e3e8ee",
    "#858e9b #e08a58 #86f5b6 #f2de78 #9cc4f0 #c98aff #a6e6f0 #ffffff",
)
SAFE_LIGHT_PALETTE: Final = _palette(
    "#fbfbf9",
    "#14181d",
    "#14181d #761001 #29824c #877101 #022adf #791575 #0b6b78 #3a424c",
    "#6e7680 #9a2a16 #2f9458 #9a8410 #2a4ff0 #96309a #138090 #14181d",
)

OURS: Final = {
    theme.name: (theme, palette)
    for theme, palette in (
        (DARK, DARK_PALETTE),
        (LIGHT, LIGHT_PALETTE),
        (SAFE_DARK, SAFE_DARK_PALETTE),
        (SAFE_LIGHT, SAFE_LIGHT_PALETTE),
    )
}
"""The monitor's themes by name, each with its palette."""


def palette_of(theme: Theme) -> TerminalTheme:
    """The palette of a theme; of one that is not ours, that of our dark or light one."""
    if theme.name in OURS:
        return OURS[theme.name][1]
    return DARK_PALETTE if theme.dark else LIGHT_PALETTE


def after(name: str) -> str:
    """The name of our theme that follows this one; our first one after a theme of Textual's."""
    place = THEMES.index(name) if name in THEMES else -1
    return THEMES[(place + 1) % len(THEMES)]


class Colourless(LineFilter):
    """Takes every colour away, so that a terminal draws in its own two; the grey of what matters less becomes dim."""

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:  # noqa: ARG002
        """The segments without colours."""
        return [Segment(text, style and _without_colour(style), control) for text, style, control in segments]


@lru_cache(8192)
def _without_colour(style: Style) -> Style:
    kept = style.without_color
    if style.color is not None and style.color.name == "bright_black":
        kept += Style(dim=True)
    return kept + Style.from_meta(style.meta) if style.meta else kept
