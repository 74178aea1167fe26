"""The command that emits an event, and the values that commands are given."""

from __future__ import annotations

from argparse import Namespace
from typing import Any, Final

from dura.cli.acting import opened
from dura.cli.documents import decode_strictly, document
from dura.cli.exits import CommandFailed, Exit
from dura.cli.input import read_text
from dura.cli.output import complain, say, say_json
from dura.cli.watching import watched
from dura.cli.wording import ago
from dura.display import number, plural, printable
from dura.records import EventRow, Want
from dura.redaction import MARK, holds_mark

_LISTED: Final = 20
"""Woken tasks that are named one by one."""


def emit(args: Namespace) -> Exit:
    """Emit an event."""
    payload = given_value("payload", args.payload, args.payload_file)
    with opened(args) as engine:
        emitted = engine.emit_event(
            event_name=args.event,
            payload=payload,
            actor=args.actor,
            reason=args.reason,
            seen_run_id=args.run,
        )
    if args.json:
        say_json(document(emitted))
    elif emitted.first:
        _tell(emitted.event_name, emitted.woken)
    if not emitted.first:
        complain(
            f"event {args.event!r} was emitted before{_when(args)}; nothing changed.\n"
            "An event is emitted once and for all: to say something new, use another name."
        )
    return Exit.DONE if emitted.first else Exit.NOT_DONE


def _tell(event_name: str, woken: tuple[str, ...]) -> None:
    if not woken:
        say(f"emitted {printable(event_name)}; no task was waiting for it")
        return
    say(f"emitted {printable(event_name)}; woke {plural(len(woken), 'task')}:")
    for task_id in woken[:_LISTED]:
        say(f"  {printable(task_id)}")
    if len(woken) > _LISTED:
        say(f"  and {number(len(woken) - _LISTED)} more")


def _when(args: Namespace) -> str:
    with watched(args) as monitor:
        snapshot = monitor.snapshot(Want(events=100, events_like=args.event))
    earlier = next((event for event in snapshot.events if event.event_name == args.event), None)
    if not isinstance(earlier, EventRow):
        return ""
    by = f" by {earlier.emitted_by}" if earlier.emitted_by else ""
    return f", {ago(earlier.emitted_at, snapshot.taken_at)} ago{by}"


def given_value(what: str, text: str | None, file: str | None) -> Any:
    """The JSON value of `--WHAT` or `--WHAT-file`, None if neither was given.

    Args:
        what: `payload` or `value`.
        text: What the first of the options holds.
        file: What the second does; `-` is standard input.

    Raises:
        CommandFailed: It is no JSON, it holds the mark of something hidden, or its file cannot be read or is too large.
    """
    where = f"--{what}"
    hint = f"""\nText needs quotes inside quotes: --{what} '"yes"'.""" if file is None else ""
    if file is not None:
        where = "standard input" if file == "-" else file
        text = read_text(file, what)
    if text is None:
        return None
    try:
        value = decode_strictly(text)
    except ValueError as error:
        raise CommandFailed(f"the {what} in {where} is no JSON: {error}{hint}", Exit.USAGE) from error
    if holds_mark(value):
        raise CommandFailed(
            f"the {what} in {where} holds {MARK}, which stands for what was not shown: nothing was done.\n"
            "Look with --reveal, and give the value itself.",
            Exit.USAGE,
        )
    return value
