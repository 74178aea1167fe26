"""The lines in which a filter or a search is typed, hidden until they are asked for."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input
from textual.widgets.input import Selection

from dura.errors import InvalidFilter
from dura_tui import format as fmt
from dura_tui.completion import Completion
from dura_tui.widgets.bars import Line
from dura_tui.widgets.entry import Entry

Completer = Callable[[str, int], Completion]
"""What a line may go on with, from the line and the cursor's place in it."""

_WRONG_LINES: Final = 2
"""How many lines what is wrong with a filter may take."""


class FilterLine(Entry):
    """An input that Escape leaves; Enter submits it as any input."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "leave the filter")]

    class Left(Message):
        """The filter is to stay as it was."""

    def on_mount(self) -> None:
        """Wait to be asked for; what is in force is then edited, not typed over."""
        self.select_on_focus = False
        self.display = False

    def edit(self, text: str) -> None:
        """Show the line with the filter that is in force."""
        self.value = text
        self.display = True
        self.cursor_position = len(text)
        self.focus()

    def action_leave(self) -> None:
        """Hide, and say so."""
        self.display = False
        self.post_message(self.Left())


class CompletedLine(FilterLine):
    """A filter line that Tab completes: once for the likeliest word, again for the next one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete(1)", show=False),
        Binding("shift+tab", "complete(-1)", show=False),
    ]

    class Offered(Message):
        """What may be completed has changed."""

        def __init__(self, candidates: tuple[str, ...], chosen: int | None) -> None:
            super().__init__()
            self.candidates = candidates
            self.chosen = chosen
            """Which of them stands in the line."""

    def __init__(self, completer: Completer, *, placeholder: str) -> None:
        """Complete with what this knows."""
        super().__init__(placeholder=placeholder)
        self._completer = completer
        self._offer: tuple[Completion, str] | None = None
        self._chosen = -1
        self._put = ""

    def offer(self) -> None:
        """Say what the line may go on with."""
        if self._offer is not None and self.value == self._put:
            completion, chosen = self._offer[0], self._chosen
        else:
            self._offer = None
            completion, chosen = self._completer(self.value, self.cursor_position), None
        self.post_message(self.Offered(completion.candidates, chosen))

    def action_complete(self, step: int) -> None:
        """Put the next candidate, or the one before, where the word was."""
        if self._offer is None or self.value != self._put:
            completion = self._completer(self.value, self.cursor_position)
            self._offer = (completion, self.value[self.cursor_position :])
            self._chosen = -1 if step > 0 else 0
        completion, rest = self._offer
        if not completion.candidates:
            self._offer = None
            return
        self._chosen = (self._chosen + step) % len(completion.candidates)
        begin = self.value[: completion.start] + completion.candidates[self._chosen]
        self._put = begin + rest
        self.value = self._put
        self.cursor_position = len(begin)
        if len(completion.candidates) == 1:
            # It is final: what comes next is offered.
            self._offer = None
        self.offer()


class FilterBox(Vertical):
    """A filter line, and above it what it may go on with, or what is wrong with it."""

    DEFAULT_CSS = "FilterBox { height: auto; display: none; }"

    def __init__(self, completer: Completer, *, placeholder: str) -> None:
        """Complete with what this knows."""
        super().__init__()
        self._words = Line(id="candidates")
        self.line = CompletedLine(completer, placeholder=placeholder)

    def compose(self) -> ComposeResult:
        """Words above the line."""
        yield self._words
        yield self.line

    @property
    def is_open(self) -> bool:
        """Whether a filter is being typed."""
        return self.display

    def edit(self, text: str) -> None:
        """Show the line with the filter that is in force."""
        self.display = True
        self.line.edit(text)
        self.line.offer()

    def close(self) -> None:
        """Hide it."""
        self.line.action_leave()

    def submit(self, line: str, apply: Callable[[str], object]) -> None:
        """Apply the line and hide, or say what is wrong with it and mark where."""
        try:
            apply(line)
        except InvalidFilter as error:
            width = max((self.size.width or 80) - 4, 10)
            said = textwrap.wrap(
                f"✗ {fmt.printable(str(error))}", width, max_lines=_WRONG_LINES, placeholder=" …"
            )
            self._words.put(Text(" " + "\n   ".join(said), "red", end=""))
            self.line.selection = Selection(error.start, error.end)
        else:
            self.close()

    def know_more(self) -> None:
        """There may be more words to complete with."""
        if self.is_open and "✗" not in self._words.text:
            self.line.offer()

    @on(FilterLine.Left)
    def _hide(self) -> None:
        self.display = False

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open:
            self.line.offer()

    @on(CompletedLine.Offered)
    def _offered(self, event: CompletedLine.Offered) -> None:
        event.stop()
        self._words.put(_candidates(event.candidates, event.chosen, self.size.width or 80))


def _candidates(candidates: tuple[str, ...], chosen: int | None, width: int) -> Text:
    """As many candidates as fit in a line, the one that Tab takes next, or has taken, marked and in sight."""
    text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
    if not candidates:
        return text
    text.append("tab ", "bright_black")
    marked = chosen or 0
    shown = [fmt.clip(fmt.printable(candidate), 40) for candidate in candidates]
    first = 0
    while first < marked and sum(cell_len(word) + 2 for word in shown[first : marked + 1]) > width - 8:
        first += 1
    for place in range(first, len(shown)):
        if cell_len(text.plain) + cell_len(shown[place]) > width and place > marked:
            break
        style = "reverse" if place == chosen else "bold" if place == marked else "bright_black"
        text.append(shown[place], style)
        text.append("  ")
    return text
