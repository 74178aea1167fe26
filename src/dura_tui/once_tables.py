"""The lists of a snapshot as tables of cells, one for each kind, for whoever prints them. Never imports Textual."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dura.records import Snapshot
from dura.states import State
from dura_tui import format as fmt
from dura_tui.widgets import cells
from dura_tui.widgets.cells import Cell, cell

Shorten = Callable[[str], str]
"""Shows an id, in full or by its end."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A table."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]


def counts(snapshot: Snapshot, _: Shorten) -> Printed:
    """Tasks by queue, name and state."""
    by_name: dict[tuple[str, str], dict[str, int]] = {}
    for row in snapshot.counts:
        by_name.setdefault((row.queue, row.name), {})[row.state] = row.count
    rows: list[tuple[Cell, ...]] = [
        (
            cell(fmt.printable(queue)),
            cell(fmt.printable(name)),
            *(_count(by_state.get(state, 0)) for state in State),
        )
        for (queue, name), by_state in sorted(by_name.items())
    ]
    totals = snapshot.totals()
    rows.append((cell("all", "bold"), cell(""), *(_count(totals.get(state, 0), "bold") for state in State)))
    return Printed("Tasks", ("QUEUE", "NAME", *(state.upper() for state in State)), rows)


def _count(number: int, style: str = "") -> Cell:
    return cell(fmt.number(number) if number else "·", style)


def tasks(snapshot: Snapshot, of: Shorten) -> Printed:
    """A page of the list of tasks."""
    rows = [
        (
            cells.state(task.state),
            cell(fmt.printable(task.name)),
            cell(of(task.task_id)),
            cell(fmt.printable(task.queue)),
            cells.attempts(task.attempts, task.max_attempts),
            cells.progress(task),
            cell(fmt.ago(task.enqueued_at, snapshot.taken_at)),
            cell(fmt.printable(task.error or "")),
        )
        for task in (snapshot.tasks.tasks if snapshot.tasks else ())
    ]
    return Printed("Tasks", ("STATE", "NAME", "ID", "QUEUE", "ATT", "PROGRESS", "AGE", "ERROR"), rows)


def emitted(snapshot: Snapshot, _: Shorten) -> Printed:
    """Emitted events, the latest first."""
    rows = [
        (
            cell(fmt.at(event.emitted_at, snapshot.taken_at)),
            cell(fmt.printable(event.event_name)),
            cell(fmt.printable(event.payload or "")),
        )
        for event in snapshot.events
    ]
    return Printed("Emitted events", ("AT (UTC)", "EVENT", "PAYLOAD"), rows)


def namespaces(snapshot: Snapshot, _: Shorten) -> Printed:
    """The namespaces of the key-value memory."""
    rows = [
        (cell(f"{fmt.number(row.keys)}{'+' * row.capped}"), cell(fmt.printable(row.namespace)))
        for row in snapshot.namespaces
    ]
    return Printed("State", ("KEYS", "NAMESPACE"), rows)


def queues(snapshot: Snapshot, _: Shorten) -> Printed:
    """Depth, rates and time to drain."""
    now = snapshot.taken_at
    rows = [
        (
            cell(fmt.printable(queue.queue)),
            cell(fmt.number(queue.ready)),
            cell(fmt.ago(queue.oldest_due, now)),
            cell(fmt.rate(queue.in_per_minute)),
            cell(fmt.rate(queue.out_per_minute)),
            cells.drains_in(queue),
        )
        for queue in snapshot.queues
    ]
    return Printed("Queues", ("QUEUE", "READY", "OLDEST DUE", "IN/MIN", "OUT/MIN", "DRAINS IN"), rows)


def leases(snapshot: Snapshot, of: Shorten) -> Printed:
    """Running runs, the lease that ends first at the top."""
    now = snapshot.taken_at
    rows = [
        (
            cells.lease_countdown(lease.expires_at, now),
            cell(fmt.printable(lease.name)),
            cell(of(lease.task_id)),
            cells.attempts(lease.attempt, lease.max_attempts),
            cell(fmt.of_limit(lease.reclaims, lease.max_reclaims)),
            cell(fmt.printable(lease.worker_id)),
        )
        for lease in snapshot.leases
    ]
    return Printed("Leases", ("EXPIRES IN", "TASK", "ID", "ATT", "RECL", "WORKER"), rows)


def sleeping(snapshot: Snapshot, of: Shorten) -> Printed:
    """Sleeping runs, the one due first at the top."""
    now = snapshot.taken_at
    rows = [
        (
            cells.due_countdown(sleeper.due_at, now),
            cells.cause(sleeper.cause),
            cell(fmt.printable(sleeper.name)),
            cell(of(sleeper.task_id)),
            cell(str(sleeper.attempt)),
            cells.waits_for(sleeper),
        )
        for sleeper in snapshot.sleepers
    ]
    return Printed("Sleeping", ("DUE IN", "CAUSE", "TASK", "ID", "ATT", "WAITS FOR"), rows)


def awaited(snapshot: Snapshot, _: Shorten) -> Printed:
    """Events that runs sleep on."""
    now = snapshot.taken_at
    rows = [
        (
            cell(fmt.printable(event.event_name)),
            cell(f"{fmt.number(event.waiter_count)}{'+' * event.capped}"),
            cells.due_countdown(event.soonest_timeout, now),
        )
        for event in snapshot.awaited
    ]
    return Printed("Awaited events", ("EVENT", "WAITERS", "SOONEST TIMEOUT"), rows)


def approvals(snapshot: Snapshot, of: Shorten) -> Printed:
    """The runs that wait for them, the soonest timeout first."""
    now = snapshot.taken_at
    rows = [
        (
            cells.due_countdown(approval.timeout_at, now),
            cell(fmt.printable(approval.event_name)),
            cell(fmt.printable(approval.name)),
            cell(of(approval.task_id)),
            cell(fmt.printable(approval.step_name)),
        )
        for approval in snapshot.approvals
    ]
    return Printed("Approvals", ("TIMEOUT IN", "EVENT", "TASK", "ID", "STEP"), rows)


def failure_groups(snapshot: Snapshot, _: Shorten) -> Printed:
    """Failed attempts that are alike."""
    now = snapshot.taken_at
    rows = [
        (
            cell(fmt.number(group.tasks)),
            cell(fmt.number(group.attempts)),
            cell(fmt.printable(group.key)),
            cell(fmt.ago(group.latest_at, now)),
            cell(fmt.printable(group.latest_error)),
        )
        for group in (snapshot.failure_groups.groups if snapshot.failure_groups else ())
    ]
    return Printed("Failures", ("FAILED", "ATTEMPTS", "ERROR", "LATEST", "SAID LAST"), rows)


def latest_failures(snapshot: Snapshot, of: Shorten) -> Printed:
    """Failed attempts, the latest first."""
    rows = [
        (
            cell(fmt.printable(failure.task_name)),
            cell(of(failure.task_id)),
            cell(str(failure.attempt)),
            cell(fmt.printable(failure.failed_at[:19].replace("T", " "))),
            cell(fmt.failure(json.dumps(failure.failure_reason))),
        )
        for failure in snapshot.failures
    ]
    return Printed("Latest failures", ("TASK", "ID", "ATT", "AT (UTC)", "WHY"), rows)


def workers(snapshot: Snapshot, _: Shorten) -> Printed:
    """Who is there."""
    now = snapshot.taken_at
    rows = [
        (
            cell(fmt.printable(worker.worker_id)),
            cell(fmt.printable(worker.presence)),
            cell(str(worker.leases)),
            cell(fmt.rate(worker.per_minute)),
            cell(fmt.number(worker.completed)),
            cell(fmt.number(worker.failed)),
            cell(fmt.ago(worker.last_seen, now)),
        )
        for worker in snapshot.workers
    ]
    return Printed("Workers", ("WORKER", "PRESENCE", "LEASES", "PER MIN", "DONE/H", "FAILED", "SEEN"), rows)


def audit(snapshot: Snapshot, of: Shorten) -> Printed:
    """What operators did, the latest first."""
    now = snapshot.taken_at
    rows = [
        (
            cell(fmt.at(entry.at, now)),
            cell(fmt.printable(entry.action)),
            cell(of(entry.target) if entry.task_id else fmt.printable(entry.target)),
            cell(fmt.printable(entry.actor)),
            cell(fmt.printable(entry.reason or "")),
        )
        for entry in (snapshot.audit_page.entries if snapshot.audit_page else ())
    ]
    return Printed("Audit", ("AT (UTC)", "ACTION", "TARGET", "ACTOR", "REASON"), rows)


TABLES = {
    "overview": (counts, queues, workers, latest_failures),
    "leases": (leases,),
    "sleeping": (sleeping,),
    "tasks": (tasks,),
    "events": (awaited, emitted),
    "state": (namespaces,),
    "failures": (failure_groups, latest_failures),
    "approvals": (approvals,),
    "workers": (workers,),
    "queues": (queues,),
    "audit": (audit,),
}
"""The tables of each view."""

EVERYTHING = (
    counts, queues, leases, sleeping, awaited, approvals, failure_groups, latest_failures, workers, audit,
)  # fmt: skip
"""What is printed when no view is named."""
