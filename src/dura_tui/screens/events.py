"""Events: what runs wait for, with the runs that wait, then what was emitted, newest first."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from dura.records import AwaitedEvent, EventRow, Waiter, Want
from dura_tui import format as fmt
from dura_tui.orders import Selection, Target
from dura_tui.screens.filtered import FilteredView, since
from dura_tui.screens.marked import listed
from dura_tui.screens.view import View
from dura_tui.widgets import cells
from dura_tui.widgets.cells import EMPTY, Cell, cell
from dura_tui.widgets.live_table import Column, LiveTable, Row
from dura_tui.widgets.text_view import json_view

_AWAITED: Final = 200
_EMITTED: Final = 200
_WAITERS_SHOWN: Final = 5

Line = AwaitedEvent | Waiter | EventRow


class EventsView(FilteredView[Line]):
    """Awaited events with their waiters, and emitted events."""

    KIND: ClassVar[str] = "events"
    ORDER: ClassVar[str] = "the soonest deadlines and the latest emitted"
    CAP: ClassVar[int | None] = _EMITTED
    PART: ClassVar[str] = "events"

    ABOUT: ClassVar[tuple[str, ...]] = (
        "First what runs wait for, the soonest deadline on top, with the runs that wait; then what was emitted,",
        "newest first. The first emit of a name is the one that counts.",
        "enter  a waiting run: its task; an emitted event: its payload",
    )
    NOUN: ClassVar[str] = "event"
    ACTS: ClassVar[tuple[str, ...]] = ("emit",)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin with all events."""
        table = LiveTable[Line](
            (
                Column("", 9),
                Column("EVENT", sort="name", by=lambda row: row.event_name),
                Column("WAITERS / PAYLOAD", 26, at=60),
                Column("TIMEOUT / AGE", 13, at=44, right=True, sort="age", by=_since),
                Column("EMITTED BY", 24, at=120, sort="by", by=lambda row: getattr(row, "emitted_by", None)),
            ),
            empty="No events: nothing was emitted and nothing waits.",
        )
        super().__init__(table, id=id)

    def want(self) -> Want:
        """Awaited and emitted events."""
        return Want(awaited=_AWAITED, events=_EMITTED, events_like=self.text)

    def draw(self, now: datetime) -> None:
        """Draw both lists."""
        if self.snapshot is None:
            return
        rows: list[Row[Line]] = []
        part = (self.text or "").lower()
        awaited = [event for event in self.snapshot.awaited if part in event.event_name.lower()]
        for event in self.in_order(awaited):
            rows += _awaited_rows(event, now)
        rows += [_emitted_row(event, now) for event in self.in_order(self.snapshot.events)]
        self.table.show_rows(rows, now)
        self.draw_caption(max(len(awaited), len(self.snapshot.events)))

    def target_of(self, record: Line) -> Target:
        """The event, and the run that waits for it if there is one."""
        if isinstance(record, EventRow):
            return Target(event_name=record.event_name)
        return awaited_target(record) if isinstance(record, AwaitedEvent) else waiter_target(record)

    def matching(self) -> Selection:
        """All awaited events that match."""
        return listed(self.all_of("awaited events"), "event", "awaited", awaited_target)

    def task_id(self) -> str | None:
        """The waiting task under the cursor."""
        line = self.table.record
        if isinstance(line, AwaitedEvent) and line.waiters:
            return line.waiters[0].task_id
        return line.task_id if isinstance(line, Waiter) else None

    def open(self) -> None:
        """An emitted event shows its payload; a waiting run its task."""
        line = self.table.record
        if isinstance(line, EventRow):
            title = f"payload of {fmt.printable(line.event_name)}"
            self.post_message(View.ReadValue(title, json_view(line.payload), line.payload or ""))
        else:
            super().open()

    def describe(self) -> str:
        """The event's full name, or the waiting task's full id."""
        line = self.table.record
        if isinstance(line, Waiter):
            return fmt.printable(f"task {line.task_id}  step {line.step_name}  event {line.event_name}")
        return fmt.printable(f"event {line.event_name}") if line is not None else ""


def _since(event: AwaitedEvent | EventRow) -> float | None:
    """How long ago an event was emitted; how long an awaited one can still wait, below zero."""
    return since(event.emitted_at if isinstance(event, EventRow) else event.soonest_timeout)


def awaited_target(event: AwaitedEvent) -> Target:
    """The target that an awaited event is."""
    only = event.waiters[0].run_id if event.waiter_count == 1 and event.waiters else None
    return Target(event_name=event.event_name, waiting_run_id=only)


def waiter_target(waiter: Waiter) -> Target:
    """The target that a waiting run is."""
    return Target(
        task_id=waiter.task_id,
        run_id=waiter.run_id,
        name=waiter.name,
        state="sleeping" if waiter.waiting else None,
        sleep_cause="event",
        event_name=waiter.event_name,
        waiting_run_id=waiter.run_id if waiter.waiting else None,
    )


def _awaited_rows(event: AwaitedEvent, now: datetime) -> list[Row[Line]]:
    name = fmt.printable(event.event_name)
    alone = event.waiters[0] if event.waiter_count == 1 and event.waiters else None
    who = _who(alone) if alone else cell(f"{fmt.plural(event.waiter_count, 'run')}{'+' * event.capped} wait")
    rows: list[Row[Line]] = [
        Row(
            f"awaited\0{event.event_name}",
            (
                cell("◆ awaited", "magenta"),
                cell(name, "bold"),
                who,
                cells.due_countdown(event.soonest_timeout, now),
                EMPTY,
            ),
            event,
        )
    ]
    if alone:
        return rows
    for waiter in event.waiters[:_WAITERS_SHOWN]:
        rows.append(  # noqa: PERF401
            Row(
                f"waiter\0{waiter.event_name}\0{waiter.run_id}\0{waiter.step_name}",
                (
                    cell("       └", "bright_black"),
                    _who(waiter),
                    cell(f"step {fmt.printable(waiter.step_name)}", "bright_black"),
                    cells.due_countdown(waiter.timeout_at, now),
                    EMPTY,
                ),
                waiter,
            )
        )
    more = event.waiter_count - min(len(event.waiters), _WAITERS_SHOWN)
    if more > 0:
        text = cell(f"… and {fmt.number(more)} more", "bright_black")
        rows.append(Row(f"more\0{event.event_name}", (EMPTY, text, EMPTY, EMPTY, EMPTY), event))
    return rows


def _who(waiter: Waiter) -> Cell:
    return ((fmt.printable(waiter.name), ""), (f" {fmt.short_id(waiter.task_id)}", "bright_black"))


def _emitted_row(event: EventRow, now: datetime) -> Row[Line]:
    return Row(
        f"event\0{event.event_name}",
        (
            cell("✓ emitted", "green"),
            cell(fmt.printable(event.event_name)),
            cell(fmt.json_line(event.payload, 80), "bright_black"),
            cell(f"{fmt.ago(event.emitted_at, now)} ago", "bright_black"),
            cell(fmt.printable(event.emitted_by or "a program"), "bright_black"),
        ),
        event,
    )
