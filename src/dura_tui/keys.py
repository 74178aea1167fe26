"""Every key of the monitor, once: the bindings, the help page and the command palette are made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.binding import Binding

from dura_tui.actions import ACTIONS

VIEWS: Final = ("overview", "leases", "sleeping", "tasks", "events", "state")
"""The views in the order of their number keys."""

_VIEW_HELP: Final = (
    "Overview: totals, throughput, workers, the file",
    "Leases: who holds what, and for how much longer",
    "Sleeping: what parked runs wait for, and until when",
    "Tasks: the list, filtered and sorted",
    "Events: awaited with their waiters, and emitted",
    "State: namespaces, keys and values",
)


@dataclass(frozen=True, slots=True)
class Key:
    """A key and what it does."""

    keys: str
    """As Textual names them, several with commas."""
    shown: str
    """As the help shows them."""
    action: str
    """The main screen's action."""
    name: str
    """As the command palette shows it."""
    help: str
    group: str


KEYS: Final[tuple[Key, ...]] = (
    *(
        Key(str(place), str(place), f"view('{name}')", name.capitalize(), help_text, "Views")
        for place, (name, help_text) in enumerate(zip(VIEWS, _VIEW_HELP, strict=True), start=1)
    ),
    Key("left_square_bracket", "[", "neighbour(-1)", "View to the left", "The view to the left", "Views"),
    Key("right_square_bracket", "]", "neighbour(1)", "View to the right", "The view to the right", "Views"),
    *(
        Key(
            action.key, action.key, f"act('{action.name}')", action.label.capitalize(), action.help, "Actions"
        )
        for action in ACTIONS.values()
    ),
    Key("slash", "/", "filter", "Filter", "Filter: state:failed name:import_* queue:x or text", "Lists"),
    Key("s", "s", "sort", "Sort", "Sort: newest, oldest, due, priority, attempts, name", "Lists"),
    Key("n", "n", "page(1)", "Next page", "Next page", "Lists"),
    Key("b", "b", "page(-1)", "Page back", "Page back", "Lists"),
    Key("y", "y", "copy", "Copy", "Copy the id or value to this terminal's clipboard", "Lists"),
    Key("escape,backspace", "esc", "back", "Back", "Back, or clear the filter", "Moving"),
    Key("p", "p", "pause", "Pause", "Pause: the tables stand still, the header counts", "Screen"),
    Key("r", "r", "refresh", "Refresh", "Read the store now", "Screen"),
    Key("question_mark", "?", "help", "Help", "This help", "Screen"),
    Key("q", "q", "quit", "Quit", "Quit", "Screen"),
)

MOVING: Final = (
    ("j k ↓ ↑", "Down, up"),
    ("g G", "First row, last row"),
    ("^d ^u", "A page down, up; also PgDn, PgUp"),
    ("enter", "Open what is under the cursor"),
    ("tab", "To the other table"),
    ("^p", "Command palette: every view and action by name"),
)
"""Keys that the tables themselves, or Textual, give."""


def bindings() -> list[Binding]:
    """The main screen's bindings."""
    return [Binding(key.keys, key.action, key.help, show=False) for key in KEYS]
