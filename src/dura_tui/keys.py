"""Every key of the monitor, once: the bindings, the help page and the command palette are made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual.binding import Binding

from dura_tui.actions import ACTIONS


@dataclass(frozen=True, slots=True)
class ViewKey:
    """A view: its key, and what it is called."""

    name: str
    key: str
    label: str
    short: str
    """The label on a narrow strip of tabs."""
    help: str


VIEW_KEYS: Final = (
    ViewKey("overview", "1", "Overview", "Over", "totals, throughput, workers, the file"),
    ViewKey("leases", "2", "Leases", "Lease", "who holds what, and for how much longer"),
    ViewKey("sleeping", "3", "Sleeping", "Sleep", "what parked runs wait for, and until when"),
    ViewKey("tasks", "4", "Tasks", "Task", "the list, filtered and sorted"),
    ViewKey("events", "5", "Events", "Evt", "awaited with their waiters, and emitted"),
    ViewKey("state", "6", "State", "State", "namespaces, keys and values"),
    ViewKey("failures", "7", "Failures", "Fail", "what fails alike, how often, what it said last"),
    ViewKey("approvals", "8", "Approvals", "Appr", "waits to be answered, soonest timeout first"),
    ViewKey("workers", "9", "Workers", "Work", "who is there, what each holds, and how fast"),
    ViewKey("queues", "0", "Queues", "Que", "depth, oldest due, rates, time to drain"),
    ViewKey("audit", "a", "Audit", "Audit", "who did what to which task, when and why"),
)
"""The views in the order of their keys."""

VIEWS: Final = tuple(view.name for view in VIEW_KEYS)


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
        Key(view.key, view.key, f"view('{view.name}')", view.label, f"{view.label}: {view.help}", "Views")
        for view in VIEW_KEYS
    ),
    Key("v", "v", "views", "Views", "All views in a list, with their keys", "Views"),
    Key("minus", "-", "last_view", "Last view", "The view before this one", "Views"),
    Key("left_square_bracket", "[", "neighbour(-1)", "View to the left", "The view to the left", "Views"),
    Key("right_square_bracket", "]", "neighbour(1)", "View to the right", "The view to the right", "Views"),
    *(
        Key(
            action.key, action.key, f"act('{action.name}')", action.label.capitalize(), action.help, "Actions"
        )
        for action in ACTIONS.values()
    ),
    Key("slash", "/", "filter", "Filter", "Filter the list; where a view has no filter, the tasks", "Lists"),
    Key("s", "s", "sort", "Sort", "Sort: newest, oldest, due, priority, attempts, name", "Lists"),
    Key("t", "t", "other_way", "Other way", "Show it another way, for example failures by step", "Lists"),
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
