"""Colours: themes that the colour-blind can read, and no colour at all where none is wanted."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from rich.color import Color

from conftest import ManualClock, wait_until
from dura import DurableEngine
from dura.states import State
from dura_tui.config import THEMES
from dura_tui.keys import VIEW_KEYS
from dura_tui.theme import OURS, after
from dura_tui.widgets import cells
from tui.far_end import Terminal
from tui.harness import fill, monitor, running, says

# What is left of a colour in linear light, for eyes that lack one of the three kinds of cones (Machado and others, 2009).
EYES = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}  # fmt: skip

TOLD_APART = 20.0
"""The least distance in the CIELAB space; about 2 can just be seen, side by side."""


def linear(colour: tuple[int, int, int]) -> list[float]:
    shares = [value / 255 for value in colour]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def lab(light: list[float]) -> tuple[float, float, float]:
    red, green, blue = (min(max(value, 0.0), 1.0) for value in light)
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour: tuple[int, int, int], eyes: str) -> tuple[float, float, float]:
    light = linear(colour)
    return lab([sum(a * b for a, b in zip(row, light, strict=True)) for row in EYES[eyes]])


def state_colours(theme: str) -> dict[str, tuple[int, int, int]]:
    palette = OURS[theme][1]
    return {
        state: tuple(Color.parse(cells.STYLES[state]).get_truecolor(palette))  # type: ignore[misc]
        for state in State
    }


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("theme", ["dura-safe-dark", "dura-safe-light"])
def test_states_are_told_apart_by_colour_with_any_eyes(theme: str, eyes: str) -> None:
    colours = state_colours(theme)
    for one, other in combinations(colours, 2):
        distance = sum(
            (a - b) ** 2 for a, b in zip(seen(colours[one], eyes), seen(colours[other], eyes), strict=True)
        )
        assert distance**0.5 >= TOLD_APART, (one, other)


@pytest.mark.parametrize("theme", THEMES)
def test_every_state_stands_out_from_the_background(theme: str) -> None:
    def brightness(colour: tuple[int, int, int]) -> float:
        red, green, blue = linear(colour)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    background = brightness(tuple(Color.parse(OURS[theme][0].background or "").get_truecolor()))  # type: ignore[arg-type]
    for state, colour in state_colours(theme).items():
        light, dark = sorted((brightness(colour), background), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.0, state


def test_states_and_causes_are_told_by_sign_and_word_as_well() -> None:
    said = [cells.plain(cells.state(state)) for state in State]
    assert len({text.split()[0] for text in said}) == len(said)
    assert [text.split()[1] for text in said] == list(State)
    assert len(set(cells.CAUSE_GLYPHS.values())) == len(cells.CAUSE_GLYPHS)


def test_the_themes_follow_each_other_in_a_circle() -> None:
    assert [after(name) for name in THEMES] == [*THEMES[1:], THEMES[0]]
    assert after("nord") == THEMES[0]
    assert tuple(OURS) == THEMES


async def test_a_key_goes_through_the_themes(path: Path, engine: DurableEngine, clock: ManualClock) -> None:
    fill(engine)
    async with running(path, clock) as pilot:
        palettes = [monitor(pilot).ansi_theme]
        for name in THEMES[1:]:
            await pilot.press("T")
            await says(pilot, f"theme {name}")
            palettes.append(monitor(pilot).ansi_theme)
        assert palettes == [palette for _, palette in OURS.values()]


def test_without_colours_no_colour_is_written_in_any_view_or_dialog(path: Path) -> None:
    engine = DurableEngine(path)
    fill(engine)
    engine.close()
    terminal = Terminal("-m", "dura_tui", path, environment={"NO_COLOR": "1"})
    try:
        wait_until(lambda: "charge_order" in terminal.shown().text)
        for view in VIEW_KEYS:
            terminal.press(view.key)
            wait_until(lambda view=view: f"{view.key} {view.label}" in terminal.shown().text)  # type: ignore[misc]
        for keys, words in (
            ("v", "esc leaves"),
            ("?", "esc closes"),
            ("/zq", "zq"),
            ("e", "Back"),
            ("\x10", "Search"),
        ):
            terminal.press(keys)
            wait_until(lambda words=words: words in terminal.shown().text)  # type: ignore[misc]
            terminal.press("\x1b")
            wait_until(lambda words=words: words not in terminal.shown().text)  # type: ignore[misc]
        told = {int(number or 0) for style in terminal.shown().styles for number in style.split(";")}
        assert told <= {0, 1, 2, 3, 4, 7, 9}
        assert {1, 2, 7} <= told
    finally:
        terminal.end()
