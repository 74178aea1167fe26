"""Commands that look: through the monitor only, so that no file is made, changed or upgraded."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from dataclasses import replace
from typing import Final

from dura.cli import memory_tables, task_tables
from dura.cli.documents import document
from dura.cli.exits import CommandFailed, Exit
from dura.cli.output import is_terminal, note, say, say_json
from dura.cli.page import Page
from dura.cli.watching import look, tell_hidden, watched
from dura.cli.wording import ago, value_lines
from dura.display import plural, printable
from dura.monitor import Monitor
from dura.records import Snapshot, StateRow, TaskPage, TaskQuery, Want

_PAGE: Final = 1_000
"""Tasks that one look lists at most."""

_SEARCHED: Final = 1_000
"""Awaited events among whose names a part is looked for."""


def tasks(args: Namespace) -> Exit:
    """List tasks."""
    query = TaskQuery(
        state=args.state,
        name=args.name,
        queue=args.queue,
        text=args.text,
        where=args.filter,
        sort=args.sort,
        limit=min(args.limit, _PAGE),
        after=args.after,
    )
    with watched(args) as monitor:
        snapshot, page = _pages(monitor, query, args.limit)
    if args.json:
        say_json(
            document(
                taken_at=snapshot.taken_at,
                tasks=page.tasks,
                next_page=page.next_page,
                truncated=page.truncated,
            )
        )
    elif page.tasks:
        task_tables.tasks(Page(), page.tasks, snapshot.taken_at)
    tell_hidden(snapshot)
    if page.truncated:
        note(
            "note: the search ended early; there may be more, or the order covers only the newest that match"
        )
    if page.next_page is not None:
        note(f"note: there are more: raise --limit, or --after {shlex.quote(page.next_page)}")
    if not page.tasks and not args.json:
        note(f"no task of {args.path} matches" if _filtered(args) else f"there are no tasks in {args.path}")
    return Exit.NOT_DONE if _filtered(args) and not page.tasks else Exit.DONE


def _pages(monitor: Monitor, query: TaskQuery, limit: int) -> tuple[Snapshot, TaskPage]:
    """As many pages as the limit asks for; each page is one look."""
    snapshot = monitor.snapshot(Want(tasks=query))
    page = snapshot.tasks or TaskPage(query=query, tasks=(), next_page=None)
    found = list(page.tasks)
    hidden, truncated = snapshot.hidden, page.truncated
    while page.next_page is not None and len(found) < limit:
        following = replace(query, limit=min(limit - len(found), _PAGE), after=page.next_page)
        further = monitor.snapshot(Want(tasks=following))
        page = further.tasks or page
        hidden |= further.hidden
        truncated |= page.truncated
        found += page.tasks
    snapshot = replace(snapshot, hidden=hidden)
    return snapshot, TaskPage(query=query, tasks=tuple(found), next_page=page.next_page, truncated=truncated)


def _filtered(args: Namespace) -> bool:
    return any((args.state, args.name, args.queue, args.text, args.filter, args.after))


def leases(args: Namespace) -> Exit:
    """List running runs by the end of their leases."""
    snapshot = look(args, Want(leases=args.limit))
    if args.json:
        say_json(document(taken_at=snapshot.taken_at, leases=snapshot.leases, truncated=snapshot.truncated))
    elif snapshot.leases:
        task_tables.leases(Page(), snapshot.leases, snapshot.taken_at)
    else:
        note(f"nothing runs in {args.path}")
    return Exit.DONE


def sleeping(args: Namespace) -> Exit:
    """List sleeping runs by their due time."""
    snapshot = look(args, Want(sleepers=args.limit))
    if args.json:
        say_json(
            document(taken_at=snapshot.taken_at, sleepers=snapshot.sleepers, truncated=snapshot.truncated)
        )
    elif snapshot.sleepers:
        task_tables.sleepers(Page(), snapshot.sleepers, snapshot.taken_at)
    else:
        note(f"nothing sleeps in {args.path}")
    return Exit.DONE


def events(args: Namespace) -> Exit:
    """List awaited events with who waits, and emitted events."""
    part = (args.like or "").lower()
    searched = max(args.limit, _SEARCHED) if part else args.limit
    snapshot = look(args, Want(awaited=searched, events=args.limit, events_like=args.like))
    awaited = tuple(event for event in snapshot.awaited if part in event.event_name.lower())[: args.limit]
    emitted = snapshot.events
    if args.json:
        say_json(
            document(
                taken_at=snapshot.taken_at, awaited=awaited, events=emitted, truncated=snapshot.truncated
            )
        )
    elif awaited or emitted:
        page = Page()
        if awaited:
            page.heading("Awaited")
            memory_tables.awaited(page, awaited, snapshot.taken_at, waiters=True)
        if emitted:
            page.heading("Emitted", "the latest first")
            memory_tables.events(page, emitted, snapshot.taken_at)
    else:
        what = (
            f"no event of {args.path} has {args.like!r} in its name" if part else f"no events in {args.path}"
        )
        note(what)
    return Exit.NOT_DONE if part and not (awaited or emitted) else Exit.DONE


def state(args: Namespace) -> Exit:
    """List namespaces, or the keys of one, or print one value."""
    if args.namespace is None:
        return _namespaces(args)
    snapshot = look(args, Want(namespace=args.namespace, state_key=args.key, state_keys=args.limit))
    if not snapshot.state:
        kind, name = "namespace", args.namespace
        if args.key is not None:
            kind, name = "state", f"{args.namespace}/{args.key}"
        raise CommandFailed(f"{args.path} has no {kind} {name!r}; `dura state` lists what there is")
    if args.key is not None:
        _value(args, snapshot, snapshot.state[0])
    elif args.json:
        say_json(document(taken_at=snapshot.taken_at, state=snapshot.state, truncated=snapshot.truncated))
    else:
        memory_tables.keys(Page(), snapshot.state, snapshot.taken_at)
        if len(snapshot.state) == args.limit:
            note(f"note: these are the first {plural(args.limit, 'key')}; there may be more, see --limit")
    return Exit.DONE


def _namespaces(args: Namespace) -> Exit:
    snapshot = look(args, Want(namespaces=True))
    if args.json:
        say_json(
            document(taken_at=snapshot.taken_at, namespaces=snapshot.namespaces, truncated=snapshot.truncated)
        )
    elif snapshot.namespaces:
        memory_tables.namespaces(Page(), snapshot.namespaces)
    else:
        note(f"there is no state in {args.path}")
    return Exit.DONE


def _value(args: Namespace, snapshot: Snapshot, row: StateRow) -> None:
    if args.json:
        say_json(document(row, taken_at=snapshot.taken_at))
        return
    for line in value_lines(row.value):
        say(line)
    if is_terminal(sys.stdout):
        note(f"{printable(row.key)}, written {ago(row.updated_at, snapshot.taken_at)} ago")


def audit(args: Namespace) -> Exit:
    """List what operators did, the latest first."""
    snapshot = look(args, Want(audit=args.limit))
    if args.json:
        say_json(document(taken_at=snapshot.taken_at, audit=snapshot.audit, truncated=snapshot.truncated))
    elif snapshot.audit:
        memory_tables.audit(Page(), snapshot.audit, snapshot.taken_at)
    else:
        note(f"no operator has acted on {args.path}")
    return Exit.DONE
