"""Commands that look after the whole file: cleanup, check, upgrade."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime, timedelta

from dura.cli.acting import opened
from dura.cli.documents import document
from dura.cli.exits import CommandFailed, Exit
from dura.cli.output import note, say, say_json
from dura.cli.progress import progress
from dura.cli.watching import watched
from dura.clock import from_text, later, to_text
from dura.display import number, plural, printable, size
from dura.durations import duration
from dura.errors import StoreError
from dura.monitor import Monitor
from dura.records import Finding, Want
from dura.states import TERMINAL
from dura.store.upkeep import COUNTERS


def cleanup(args: Namespace) -> Exit:
    """Remove tasks that ended long ago."""
    ttl = timedelta(seconds=args.older_than)
    age = f"more than {duration(args.older_than)} ago"
    if args.before is not None:
        age = f"before {args.before.isoformat()}"
    with opened(args) as engine, watched(args) as monitor:
        if args.dry_run:
            return _foretell(args, monitor, _cutoff(args, engine.now()), age)
        before = _terminal(monitor)

        def far() -> str:
            return f"{number(max(before - _terminal(monitor), 0))} tasks removed"

        with progress(f"cleaning up {args.path}", far):
            removed = engine.cleanup(ttl, before=args.before, actor=args.actor, reason=args.reason)
    if args.json:
        say_json(
            {
                "removed": removed,
                "older_than_seconds": args.older_than if args.before is None else None,
                "before": args.before and to_text(args.before),
            }
        )
    elif removed:
        say(f"removed {plural(removed, 'task')} that ended {age}")
    else:
        say(f"nothing to remove: no task ended {age}")
    return Exit.DONE


def _cutoff(args: Namespace, now: datetime) -> datetime:
    """Before which moment a task must have ended to go.

    Raises:
        CommandFailed: The moment is still to come.
    """
    if args.before is None:
        return from_text(later(to_text(now), -args.older_than))
    if args.before > now:
        raise CommandFailed(f"--before must not be later than now: {args.before.isoformat()}", Exit.USAGE)
    cutoff: datetime = args.before
    return cutoff


def _foretell(args: Namespace, monitor: Monitor, before: datetime, age: str) -> Exit:
    """Count what would go, and remove nothing."""
    told = monitor.snapshot(Want(removable=before)).removable
    assert told is not None
    if args.json:
        say_json(document(told))
        return Exit.DONE
    if not (told.tasks or told.events):
        say(f"nothing would be removed: no task ended {age}")
        return Exit.DONE
    least = "at least " if told.capped else ""
    say(
        f"would remove {least}{plural(told.tasks, 'task')} that ended {age} ({number(told.completed)} completed, "
        f"{number(told.failed)} failed, {number(told.cancelled)} cancelled), and {plural(told.events, 'event')}"
    )
    note(
        f"nothing was removed; `dura cleanup {args.path} --before {to_text(before)}` removes what was counted"
    )
    return Exit.DONE


def _terminal(monitor: Monitor) -> int:
    """Tasks that have ended; zero while the store cannot be looked at, which is no reason to stop cleaning."""
    try:
        totals = monitor.snapshot(Want()).totals()
    except StoreError:
        return 0
    return sum(totals.get(state, 0) for state in TERMINAL)


def check(args: Namespace) -> Exit:
    """Look for damage."""
    with opened(args) as engine, progress(f"checking {args.path}"):
        findings = engine.check(repair=args.repair)
        remaining = engine.check() if args.repair and findings else findings
    still = {finding.rule for finding in remaining}
    repaired = tuple(finding for finding in findings if finding.rule not in still)
    if args.json:
        say_json(document(path=args.path, sound=not remaining, findings=remaining, repaired=repaired))
    else:
        _tell(args.path, remaining, repaired)
    if still == {COUNTERS}:
        note(f"only the counters are wrong: `dura check {args.path} --repair` counts anew")
    elif still:
        note("stop the programs that use the store, and keep a copy of it, before anything else")
    return Exit.NOT_DONE if remaining else Exit.DONE


def _tell(path: str, remaining: tuple[Finding, ...], repaired: tuple[Finding, ...]) -> None:
    for finding in repaired:
        say(f"repaired: {finding.rule}")
    for finding in remaining:
        say(f"broken: {finding.rule}")
        for breach in finding.breaches:
            say(f"  {printable(breach)}")
    if not remaining:
        say(f"{printable(path)} is sound: SQLite's integrity check passes and every rule holds")


def upgrade(args: Namespace) -> Exit:
    """Upgrade a store of dura 1.3.0, and rewrite the file compactly if asked."""
    from dura.engine import DurableEngine

    with progress(f"upgrading {args.path}"):
        engine = DurableEngine(
            args.path, busy_timeout_ms=int(args.lock_timeout * 1000), create=False, upgrade=True
        )
    try:
        report = engine.upgrade_report
        if not args.json:
            for line in report or (f"{args.path} is up to date: there was nothing to upgrade",):
                say(printable(line))
        sizes = None
        if args.compact:
            with progress(f"compacting {args.path}"):
                sizes = engine.compact()
    finally:
        engine.close()
    if args.json:
        compacted = None if sizes is None else {"size_before": sizes[0], "size_after": sizes[1]}
        say_json({"path": args.path, "report": list(report), "compacted": compacted})
    elif sizes is not None:
        say(f"compacted {printable(args.path)} from {size(sizes[0])} to {size(sizes[1])}")
    return Exit.DONE
