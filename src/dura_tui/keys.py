"""Every key of the monitor, once: bindings, help, palette, settings and docs/monitor.md are made from this table.

A key has a name (`next-page`), by which the settings give it other keys. Nothing here loads Textual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dura_tui.actions import ACTIONS
from dura_tui.key_names import displayed


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

    @property
    def id(self) -> str:
        """Its name in the settings: the palette's, in lower case with hyphens, for example `next-page`."""
        return self.name.lower().replace(" ", "-")


KEYS: Final[tuple[Key, ...]] = (
    *(
        Key(view.key, view.key, f"view('{view.name}')", view.label, f"{view.label}: {view.help}", "Views")
        for view in VIEW_KEYS
    ),
    Key("v", "v", "views", "Views", "All views in a list, with their keys", "Views"),
    Key("colon", ":", "jump", "Jump", "Jump to a task by any part of its id", "Views"),
    Key("minus", "-", "last_view", "Last view", "The view before this one", "Views"),
    Key("left_square_bracket", "[", "neighbour(-1)", "View to the left", "The view to the left", "Views"),
    Key("right_square_bracket", "]", "neighbour(1)", "View to the right", "The view to the right", "Views"),
    *(
        Key(
            action.key, action.key, f"act('{action.name}')", action.label.capitalize(), action.help, "Actions"
        )
        for action in ACTIONS.values()
    ),
    Key(
        "space",
        "space",
        "mark",
        "Mark",
        "Mark the row, or take its mark away: actions go to the marked rows",
        "Lists",
    ),
    Key("V", "V", "mark_range", "Mark range", "Mark all rows from the one marked last to this one", "Lists"),
    Key(
        "asterisk",
        "*",
        "mark_all",
        "All that match",
        "Act on all that match the filter, not only on what is shown",
        "Lists",
    ),
    Key("u", "u", "unmark", "Unmark", "Take all marks away", "Lists"),
    Key("slash", "/", "filter", "Filter", "Filter the list; where a view has no filter, the tasks", "Lists"),
    Key("f", "f", "saved", "Saved filters", "Saved filters: show one, keep the present one, delete", "Lists"),
    Key("s", "s", "sort", "Sort", "Sort by a column; a click on its header does too", "Lists"),
    Key("S", "S", "reverse", "Reverse", "Turn the order round", "Lists"),
    Key("t", "t", "other_way", "Other way", "Show it another way, for example failures by step", "Lists"),
    Key("n", "n", "page(1)", "Next page", "Next page", "Lists"),
    Key("b", "b", "page(-1)", "Page back", "Page back", "Lists"),
    Key("y", "y", "copy", "Copy", "Copy the id or value to this terminal's clipboard", "Lists"),
    Key(
        "Y",
        "Y",
        "bookmark",
        "Bookmark",
        "Copy the command that begins with this view, filter and order",
        "Lists",
    ),
    Key(
        "escape,backspace",
        "esc",
        "back",
        "Back",
        "Back: out of the marks, the filter, the task; also backspace",
        "Moving",
    ),
    Key("p", "p", "pause", "Pause", "Pause: the tables stand still, the header counts", "Screen"),
    Key("r", "r", "refresh", "Refresh", "Read the store now, and draw the whole screen again", "Screen"),
    Key(
        "exclamation_mark",
        "!",
        "quiet",
        "Quiet",
        "Quiet the alerts that are up: no more bold, until they rise again",
        "Screen",
    ),
    Key(
        "T", "T", "theme", "Next theme", "The next theme: dark, light, and two for the colour-blind", "Screen"
    ),
    Key("question_mark", "?", "help", "Help", "This help", "Screen"),
    Key("q", "q", "quit", "Quit", "Quit", "Screen"),
)

MOVING: Final[tuple[Key, ...]] = (
    Key("j", "j", "", "Down", "Down; also ↓", "Moving"),
    Key("k", "k", "", "Up", "Up; also ↑", "Moving"),
    Key("g", "g", "", "First", "First row; also Home", "Moving"),
    Key("G", "G", "", "Last", "Last row; also End", "Moving"),
    Key("ctrl+d,ctrl+f", "^d", "", "Page down", "A page down; also ^f, PgDn", "Moving"),
    Key("ctrl+u,ctrl+b", "^u", "", "Page up", "A page up; also ^b, PgUp", "Moving"),
)
"""Keys that the tables and texts bind themselves, by these names."""

FIXED: Final = (
    ("enter", "Open what is under the cursor"),
    ("tab", "To the other table"),
    ("^p", "Command palette: every view and action by name"),
)
"""Keys that stay as they are."""

RESERVED: Final = frozenset(
    (
        "enter", "tab", "shift+tab", "up", "down", "left", "right", "home", "end", "pageup", "pagedown",
        "ctrl+c", "ctrl+p", "ctrl+q", "ctrl+z",
    )
)  # fmt: skip
"""Keys that cannot be given to anything: tables, dialogs or Textual need them."""


GROUPS: Final = ("Views", "Actions", "Lists", "Moving", "Screen")
"""What keys are about, in the order in which they are listed."""


def grouped() -> list[tuple[str, list[Key]]]:
    """All keys that can be changed, by group."""
    return [(group, [key for key in (*KEYS, *MOVING) if key.group == group]) for group in GROUPS]


class Keymap:
    """The keys as they are now: those of this table, unless the settings give other ones."""

    def __init__(self, changed: Mapping[str, Sequence[str]] | None = None) -> None:
        """Take what the settings change.

        Args:
            changed: Keys by name, each as Textual names it; what is not mentioned keeps the keys of this table.
        """
        self._changed = {name: tuple(keys) for name, keys in (changed or {}).items()}
        self._by_action = {key.action: key for key in KEYS}

    def keys(self, key: Key) -> tuple[str, ...]:
        """The keys that do it, as Textual names them."""
        return self._changed.get(key.id, tuple(key.keys.split(",")))

    def shown(self, key: Key) -> str:
        """As footer, help and palette show it: the first of its keys."""
        return displayed(self._changed[key.id][0]) if key.id in self._changed else key.shown

    def help(self, key: Key) -> str:
        """What it does; what this table says of more keys holds no longer once they were changed."""
        return key.help.partition("; also")[0] if key.id in self._changed else key.help

    def for_action(self, action: str) -> str | None:
        """The key of a main screen's action, as it is shown; None for one that has no key."""
        key = self._by_action.get(action.removeprefix("screen."))
        return self.shown(key) if key is not None else None

    def for_view(self, view: ViewKey) -> str:
        """The key of a view, as the tabs show it."""
        return self.for_action(f"view('{view.name}')") or view.key

    def by_name(self) -> dict[str, str]:
        """Every key's name and what is shown for it: for texts that speak of keys."""
        return {key.id: self.shown(key) for key in (*KEYS, *MOVING)}

    def as_textual(self) -> dict[str, str]:
        """What Textual's keymap wants: the keys that differ, by the names of their bindings."""
        return {name: ",".join(keys) for name, keys in self._changed.items()}

    def conflicts(self) -> Iterator[tuple[str, Key, Key]]:
        """Each key that would do two things, with both."""
        taken: dict[str, Key] = {}
        for key in (*KEYS, *MOVING):
            for name in self.keys(key):
                if name in taken:
                    yield name, taken[name], key
                taken.setdefault(name, key)


DEFAULT_KEYMAP: Final = Keymap()
