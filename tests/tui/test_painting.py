"""What is written to a terminal: every cell that differs, and no other."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from dura_tui.painting import Picture
from tui.far_end import Shown

COLUMNS, LINES = 12, 3
STYLES = [Style(), Style(color="red"), Style(bold=True, bgcolor="#102030"), Style(reverse=True)]


def changes(picture: Picture, update: CompositorUpdate) -> str:
    return picture.changes(update, (COLUMNS, LINES), ColorSystem.TRUECOLOR)


def whole(lines: list[list[Segment]]) -> LayoutUpdate:
    strips = [[Strip(line).adjust_cell_length(COLUMNS)] for line in lines]
    return LayoutUpdate([iter(line) for line in strips], Region(0, 0, COLUMNS, LINES))


segments = st.builds(Segment, st.text("ab ●▁漢é", max_size=5), st.sampled_from(STYLES))
screens = st.lists(st.lists(segments, max_size=4), min_size=LINES, max_size=LINES)


@settings(max_examples=150, deadline=None)
@given(st.lists(screens, min_size=1, max_size=5))
def test_a_terminal_shows_the_last_screen_whatever_it_showed_before(
    history: list[list[list[Segment]]],
) -> None:
    picture, shown = Picture(), Shown(COLUMNS, LINES)
    for lines in history:
        shown.feed(changes(picture, whole(lines)).encode())
        anew = Shown(COLUMNS, LINES)
        anew.feed(changes(Picture(), whole(lines)).encode())
        assert shown.text == anew.text
        assert changes(picture, whole(lines)) == ""


def test_one_cell_that_differs_costs_one_cell() -> None:
    picture = Picture()
    changes(picture, whole([[Segment("12:00:00")], [], []]))
    assert changes(picture, whole([[Segment("12:00:01")], [], []])) == "\x1b[1;8H1"


def test_another_colour_is_written_though_the_text_is_the_same() -> None:
    picture = Picture()
    changes(picture, whole([[Segment("live", STYLES[1])], [], []]))
    assert "live" in changes(picture, whole([[Segment("live", STYLES[2])], [], []]))


def test_what_another_program_drew_over_is_written_again() -> None:
    picture = Picture()
    first = changes(picture, whole([[Segment("12:00")], [], []]))
    picture.forget()
    assert changes(picture, whole([[Segment("12:00")], [], []])) == first


def test_both_cells_of_a_wide_character_are_written_together() -> None:
    picture = Picture()
    changes(picture, whole([[Segment("a漢b")], [], []]))
    text = changes(picture, whole([[Segment("ab漢")], [], []]))
    assert "b漢" in text
    assert cell_len("a漢b") == cell_len("ab漢")


def test_only_the_spans_of_a_partial_update_are_written() -> None:
    picture = Picture()
    changes(picture, whole([[Segment("x" * COLUMNS)]] * LINES))
    chops = [{0: None, 4: Strip([Segment("yyyy")]), 8: Strip([Segment("zzzz")])}, {}, {}]
    update = ChopsUpdate(chops, [(0, 4, 8)], [[4, 8, 12], [], []])
    assert changes(picture, update) == "\x1b[1;5Hyyyy"
