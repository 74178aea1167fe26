"""Long lines in the reader: broken after a word where one ends near the edge, and nothing lost."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

from dura_tui.widgets.cells import cell, plain
from dura_tui.widgets.text_view import TextView, wrap
from tui.settling import settled

PROSE = "Running runs, the lease that runs out first on top. RECL counts leases of this attempt."


def test_prose_is_broken_between_words() -> None:
    assert [plain(line) for line in wrap(cell(PROSE), 30)] == [
        "Running runs, the lease that ",
        "runs out first on top. RECL ",
        "counts leases of this attempt.",
    ]


@pytest.mark.parametrize("width", [1, 2, 7, 30, 200])
@pytest.mark.parametrize("text", [PROSE, "x" * 90, "漢字" * 20, "", " " * 40])
def test_every_line_fits_and_all_of_the_text_is_there(width: int, text: str) -> None:
    pieces = ((text[:10], "red"), (text[10:], ""))
    lines = [plain(line) for line in wrap(pieces, width)]
    assert "".join(lines) == text
    assert all(cell_len(line) <= max(width, 2) for line in lines)


class TextApp(App[None]):
    def compose(self) -> ComposeResult:
        yield TextView()


async def test_nothing_is_drawn_before_there_is_a_width_to_draw_to() -> None:
    app = TextApp()
    async with app.run_test(size=(40, 8)):
        later = TextView()
        later.show_lines([cell(PROSE)])
        assert later.virtual_size.height == 0
        await app.mount(later)
        await settled(app)
        assert later.virtual_size.height == 3
