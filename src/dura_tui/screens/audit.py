"""Audit: who did what to which task or event, when and why; the latest first."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Final

from rich.text import Text

from dura.records import AuditPage, AuditQuery, AuditRow, Want
from dura_tui import format as fmt
from dura_tui.screens.filtered import FilteredView, since
from dura_tui.screens.view import Hint, View
from dura_tui.widgets.cells import Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row
from dura_tui.widgets.text_view import json_view

PAGE: Final = 200

_STYLES: Final = {
    "emit": "cyan", "requeue": "yellow", "cancel": "red", "wake": "magenta", "extend": "blue",
    "set": "yellow", "delete": "red", "cleanup": "red",
}  # fmt: skip


class AuditView(FilteredView[AuditRow]):
    """What operators did."""

    KIND: ClassVar[str] = "audit"
    ORDER: ClassVar[str] = "the latest first"
    PART: ClassVar[str] = "audit_page"
    CUT: ClassVar[str] = "search stopped early: n looks on"

    ABOUT: ClassVar[tuple[str, ...]] = (
        "What operators did, from this monitor, from the command line or through the engine with an actor; written in",
        "the transaction of the action itself. BECAME, from 100 columns on, is the state before and after, or a payload.",
        "enter  the task, or the entry of an event in full    {next-page} {page-back}  older entries, newer ones",
    )

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with the latest."""
        table = LiveTable[AuditRow](
            (
                Column("AT (UTC)", 11, sort="age", by=lambda row: since(row.at)),
                Column("ACTION", 8, sort="action", by=lambda row: row.action),
                Column("TARGET", sort="target", by=lambda row: row.target),
                Column("BECAME", at=100),
                Column("ACTOR", 18, at=60, sort="actor", by=lambda row: row.actor),
                Column("REASON", at=70, sort="reason", by=lambda row: row.reason),
            ),
            empty="No operator has acted on this store.",
        )
        super().__init__(table, id=id)
        self.query_now = AuditQuery(limit=PAGE)
        self._before: list[tuple[str | None, int]] = []
        """The pages before this one: where each began, and how many rows it had."""

    def want(self) -> Want:
        """The page."""
        return Want(audit_query=self.query_now)

    def draw(self, now: datetime) -> None:
        """Draw the page."""
        page = self.snapshot.audit_page if self.snapshot else None
        if page is None or page.query != self.query_now:
            return
        entries = self.in_order(page.entries)
        self.table.show_rows([Row(entry.key, _cells(entry, now), entry) for entry in entries], now)
        self.caption.put(self._caption_text(page))

    def _caption_text(self, page: AuditPage) -> Text:
        text = Text(" ", no_wrap=True, overflow="ellipsis", end="")
        first = sum(rows for _, rows in self._before) + 1
        more = " and older ones" if page.next_page else ""
        span = (
            f"{fmt.number(first)} to {fmt.number(first + len(page.entries) - 1)}" if page.entries else "none"
        )
        text.append(f"{span}{more}", "bold")
        self.append_finding(text, len(page.entries))
        if self.sort_now and (page.next_page or self._before):
            text.append(" of this page", "yellow")
        return text

    # --- the operator ------------------------------------------------------------------------------------------------

    def task_id(self) -> str | None:
        """The task that was acted upon."""
        entry = self.table.record
        return entry.task_id if entry else None

    def copied(self) -> str | None:
        """The target."""
        entry = self.table.record
        return entry.target if entry else None

    def open(self) -> None:
        """From an action on a task to the task; of an event, the entry in full."""
        entry = self.table.record
        if entry is not None and entry.task_id is None:
            title = fmt.printable(f"{entry.action} {entry.target}")
            self.post_message(View.ReadValue(title, json_view(entry.value), entry.value))
        else:
            super().open()

    def describe(self) -> str:
        """The entry in full."""
        entry = self.table.record
        return f"{entry.at:%Y-%m-%d %H:%M:%S} {fmt.audit(entry.value)}" if entry and entry.at else ""

    def hints(self) -> list[Hint]:
        """Filter and pages."""
        page = self.snapshot.audit_page if self.snapshot else None
        older = [("n", "older", "screen.page(1)")] if page and page.next_page else []
        newer = [("b", "newer", "screen.page(-1)")] if self._before else []
        return [*super().hints(), *older, *newer]

    def ask(self) -> None:
        """The list is another one from here on: begin with its first page."""
        self._show(AuditQuery(where=self.where, limit=PAGE))
        self._before = []

    def _show(self, query: AuditQuery) -> None:
        self.query_now = query
        super().ask()

    def turn_page(self, step: int) -> None:
        """Older entries, or newer ones."""
        page = self.snapshot.audit_page if self.snapshot else None
        if step > 0 and page is not None and page.next_page and page.query == self.query_now:
            self._before.append((self.query_now.after, len(page.entries)))
            self._show(replace(self.query_now, after=page.next_page))
        elif step < 0 and self._before:
            self._show(replace(self.query_now, after=self._before.pop()[0]))


def _cells(entry: AuditRow, now: datetime) -> tuple[Cell, ...]:
    target = fmt.printable(entry.target)
    if entry.task_id is not None:
        target = f"task {fmt.short_id(entry.target)}"
    return (
        cell(fmt.at(entry.at, now), "bright_black"),
        cell(fmt.printable(entry.action), _STYLES.get(entry.action, "")),
        cell(target),
        _became(entry),
        cell(fmt.printable(entry.actor)),
        cell(fmt.printable(entry.reason or ""), "bright_black"),
    )


def _became(entry: AuditRow) -> Cell:
    if entry.before is None:
        return cell(fmt.printable(entry.after or ""), "bright_black")
    return cell(fmt.printable(f"{entry.before} → {entry.after}"))
