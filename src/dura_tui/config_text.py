"""The settings as a file to begin with: every one with its default, as a comment that says what it does."""

from __future__ import annotations

from collections.abc import Iterator

from dura_tui.alerts import MEASURES
from dura_tui.config import CLIPBOARDS, DEFAULT_REFRESH, SLOW_REFRESH, THEMES
from dura_tui.key_names import displayed
from dura_tui.keys import Key, grouped


def default_text() -> str:
    """The default settings as TOML; take away the # before what should be otherwise."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Settings of dura-tui. Every line but an alert's shows a default: take away its # and change it."
    yield "# Options of the command line count for more than this file."
    yield ""
    yield f"# Seconds between two looks at the file: 0.1 to 3600. The default is {SLOW_REFRESH:g} when slow."
    yield f"#refresh = {DEFAULT_REFRESH:g}"
    yield ""
    yield f"# For bad lines: looks and countdowns every {SLOW_REFRESH:g} s, no mouse, nothing moves by itself."
    yield "#slow = false"
    yield ""
    yield "# Whether the mouse is used. Without it the terminal's own selection of text works as usual."
    yield "#mouse = true"
    yield ""
    yield f"# {', '.join(THEMES)}. The safe ones can be told apart by the colour-blind."
    yield f'#theme = "{THEMES[0]}"'
    yield ""
    yield "# Whether an alert that rises rings the terminal's bell."
    yield "#bell = true"
    yield ""
    yield "# Where copied text goes: to the clipboard of the terminal (OSC 52), or into a file whose path is told."
    yield f"# One of {', '.join(CLIPBOARDS)}."
    yield f'#clipboard = "{CLIPBOARDS[0]}"'
    yield ""
    yield "# Limits; what exceeds one is shown in the title. None is set by default: the lines show examples."
    yield "[alerts]"
    for measure in MEASURES.values():
        yield f"# {measure.help[0].upper()}{measure.help[1:]}"
        yield f'#{measure.name} = "{measure.example}"'
    yield ""
    yield "# A key, or several. A key that would do two things is refused."
    yield "[keys]"
    for group, keys in grouped():
        yield f"# {group}"
        yield from (f"#{key.id} = {_keys(key)}" for key in keys)


def _keys(key: Key) -> str:
    names = [f'"{displayed(name)}"' for name in key.keys.split(",")]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"
