"""The lines around a view: title, tabs, the outcome of the last action, the keys that apply now.

Each is one line high, drawn from a few facts, and repainted only when its text differs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from dura_tui import format as fmt

_GAP: Final = 2
_TROUBLE_LINES: Final = 2
"""How many lines a reason may take."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far what is on the screen can be trusted."""

    taken_at: datetime | None
    """When the snapshot on the screen was read; None before the first."""
    looked_at: datetime | None
    """When the store was last looked at with success."""
    failing: bool
    paused: bool
    patience: float
    """After how many seconds without a look the screen counts as stale."""

    def stale_seconds(self, now: datetime) -> float | None:
        """How old the screen is, when it is not current; None while it is."""
        seen = self.taken_at if self.paused else self.looked_at
        if seen is None:
            return None
        age = max((now - seen).total_seconds(), 0.0)
        return age if self.failing or self.paused or age > self.patience else None

    def badge(self, now: datetime) -> tuple[str, str]:
        """The state of the screen in a few words, and its style."""
        age = self.stale_seconds(now)
        if age is not None:
            word, style = ("‖ paused", "bold yellow") if self.paused else ("✗ stale", "bold red")
            return f"{word} {fmt.whole_duration(age)}", style
        if self.looked_at is None:
            return ("✗ no data", "bold red") if self.failing else ("… reading", "yellow")
        return "● live", "green"


class Line(Widget):
    """One line of text; a text that was broken into several takes as many."""

    DEFAULT_CSS = """
    Line { height: 1; width: 1fr; link-style: none; link-color: $foreground; link-background: transparent; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Make an empty line."""
        super().__init__(id=id)
        self._text = Text()

    def put(self, text: Text) -> None:
        """Show this text, if it is not what is shown."""
        if text != self._text or text.style != self._text.style:
            self._text = text
            lines = text.plain.count("\n") + 1
            if self.styles.height is None or self.styles.height.value != lines:
                self.styles.height = lines
            self.refresh()

    @property
    def text(self) -> str:
        """What the line says."""
        return self._text.plain

    def render(self) -> Text:
        """Draw it, cut with an ellipsis where it is too long."""
        text = self._text.copy()
        if "\n" in text.plain:
            return text
        text.truncate(self.size.width, overflow="ellipsis")
        return text


def title_line(
    width: int,
    path: str,
    badges: Sequence[tuple[str, str]],
    freshness: Freshness,
    now: datetime,
    *,
    seconds: bool = True,
) -> Text:
    """Product, file, badges, freshness and time of day, as far as they fit; the time with its seconds, unless told."""
    right = [*badges, freshness.badge(now)]
    if width >= 60:
        time = f"{now:%H:%M:%S}" if seconds else f"{now:%H:%M}"
        right.append((time + (" UTC" if width >= 76 else ""), "bright_black"))
    while len(right) > 1 and sum(cell_len(text) + _GAP for text, _ in right) > width - 12:
        right.pop(-1 if right[-1][1] == "bright_black" else 0)
    room = width - sum(cell_len(text) + _GAP for text, _ in right) - 1
    text = Text(no_wrap=True, overflow="crop", end="")
    brand = " dura "
    if room < 14:
        brand = ""
    text.append(brand, "bold")
    text.append(" " + fmt.clip_middle(path, max(room - len(brand) - 2, 0)))
    text.append(" " * max(room - cell_len(text.plain), 0))
    for badge, style in right:
        text.append(" " * _GAP)
        text.append(badge, style)
    return text


def trouble_text(width: int, reason: str, freshness: Freshness, now: datetime) -> Text:
    """Why the store cannot be read, and below it how old the picture is."""
    lines = textwrap.wrap(reason, max(width - 4, 10), max_lines=_TROUBLE_LINES, placeholder=" …") or [""]
    text = Text()
    text.append("✗ " + "\n  ".join(lines), "bold red")
    seen = f"What is shown was read {fmt.ago(freshness.taken_at, now)} ago. " if freshness.taken_at else ""
    text.append(f"\n  {seen}Trying again.", "red")
    return text


@dataclass(frozen=True, slots=True)
class Tab:
    """One of the views, as the strip of tabs shows it."""

    name: str
    key: str
    label: str
    short: str
    """The label where there is no room for it."""
    count: str = ""
    """How much is in it; empty for nothing, or nothing known."""
    urgent: bool = False
    """Whether its count is shown before those of others when there is no room for all."""


def tab_line(width: int, tabs: Sequence[Tab], active: str) -> Text:
    """The views by key and name with their counts; the active one reversed. Each is clickable.

    Where there is no room, the labels give way to their short forms, these to the keys alone, and then as many counts are
    shown as fit: the active view's, then the urgent ones.

    Args:
        width: Cells there are.
        tabs: The views, in the order of their keys.
        active: The name of the view that is shown.
    """
    shapes = (
        (True, {tab.name: tab.label for tab in tabs}),
        (False, {tab.name: tab.label if tab.name == active else tab.short for tab in tabs}),
        (False, {tab.name: tab.label if tab.name == active else "" for tab in tabs}),
    )
    room, roomy, labels = 0, False, shapes[-1][1]
    for roomy, labels in shapes:
        room = width + 1 - sum(_tab_width(tab, labels[tab.name], roomy, tab.name == active) for tab in tabs)
        if room >= 0:
            break
    counted: set[str] = set()
    for tab in sorted(tabs, key=lambda tab: (tab.name != active, not tab.urgent)):
        needed = len(tab.count) + 1
        if tab.count and labels[tab.name] and needed <= room:
            room -= needed
            counted.add(tab.name)
    text = Text(no_wrap=True, overflow="crop", end="")
    for tab in tabs:
        label, gap = labels[tab.name], " " if roomy or tab.name == active else ""
        count = f"{' ' if roomy or tab.name == active else ':'}{tab.count}" if tab.name in counted else ""
        if tab.name == active:
            edge = " " * roomy
            text.append(f"{edge}{tab.key}{gap if label else ''}{label}{count}{edge}", "bold reverse blue")
        else:
            text.append(" " * roomy + tab.key, "bold blue")
            text.append(
                f"{gap}{label}" if label else "", Style(meta={"@click": f"screen.view('{tab.name}')"})
            )
            text.append(count + " " * roomy, "bright_black")
        text.append(" ")
    text.right_crop(1)
    return text


def _tab_width(tab: Tab, label: str, roomy: bool, active: bool) -> int:
    """Cells of a tab without its count, with the one that parts it from the next."""
    gap = (roomy or active) and bool(label)
    return cell_len(tab.key) + gap + cell_len(label) + 2 * roomy + 1


def key_line(width: int, hints: Sequence[tuple[str, str, str]]) -> Text:
    """As many keys as fit, the most important first. Each is clickable.

    Args:
        width: Cells there are.
        hints: Key, label, and the action that a click on it runs; the last one always stays.
    """
    text = Text(no_wrap=True, overflow="crop", end="")
    *rest, last = hints
    room = width - len(last[0]) - len(last[1]) - 3
    for key, label, action in rest:
        needed = cell_len(key) + cell_len(label) + 3
        if needed > room:
            continue
        room -= needed
        _add_hint(text, key, label, action)
    _add_hint(text, *last)
    return text


def _add_hint(text: Text, key: str, label: str, action: str) -> None:
    text.append(f" {key} ", "bold blue")
    text.append(label, Style(meta={"@click": action}))
    text.append(" ")
