"""The arguments of the commands: what each takes."""

from __future__ import annotations

import argparse

from dura.actor import present_actor
from dura.checks import RESERVED
from dura.cli import values
from dura.durations import parse_duration
from dura.records import TASK_SORTS
from dura.states import State

# --- arguments of several commands ------------------------------------------------------------------------------------


def _limit(parser: argparse.ArgumentParser, what: str, default: int) -> None:
    parser.add_argument(
        "--limit",
        metavar="N",
        type=values.count,
        default=default,
        help=f"at most so many {what} (default {default})",
    )


def _reveal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reveal", action="store_true", help="show also what may be secret")


def _lock_timeout(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--lock-timeout",
        metavar="DURATION",
        type=values.lock_timeout,
        default=parse_duration(default),
        help=f"how long to wait for other writers (default {default})",
    )


def _operator(parser: argparse.ArgumentParser, lock_timeout: str = "5s") -> None:
    parser.add_argument("--reason", metavar="TEXT", type=values.text, help="why, for the audit")
    parser.add_argument(
        "--actor",
        metavar="WHO",
        type=values.text,
        default=present_actor(),
        help="who acts, for the audit (default: user@host, and the client's address over SSH)",
    )
    _lock_timeout(parser, lock_timeout)


def _ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids",
        metavar="ID",
        nargs="+",
        type=values.text,
        help="a task: any part of its id, of 4 characters or more, that no other has; or the whole id of its run",
    )


def _yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask before acting on several tasks")


# --- arguments of one command -----------------------------------------------------------------------------------------


def status(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura status`."""
    _limit(parser, "leases, sleepers, awaited events and failed attempts", 5)
    _reveal(parser)


def tasks(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura tasks`."""
    parser.add_argument("--state", choices=[state.value for state in State], help="only tasks in this state")
    parser.add_argument(
        "--name", metavar="NAME", type=values.text, help="only tasks of this name; * matches anything"
    )
    parser.add_argument("--queue", metavar="QUEUE", type=values.text, help="only tasks of this queue")
    parser.add_argument(
        "--text",
        metavar="TEXT",
        type=values.text,
        help="only tasks with this in id, idempotency key or parameters",
    )
    parser.add_argument(
        "--filter",
        metavar="LINE",
        type=values.conditions,
        default=(),
        help="only tasks that match, for example 'name:import_*,export_* error:timeout age>5m'",
    )
    parser.add_argument(
        "--sort",
        metavar="ORDER",
        type=values.sort,
        default="newest",
        help=f"{', '.join(TASK_SORTS)}; the other way round: --sort=-ORDER (default newest)",
    )
    _limit(parser, "tasks", 50)
    parser.add_argument("--after", metavar="PAGE", type=values.text, help="go on where the page before ended")
    _reveal(parser)


def task(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura task`."""
    parser.add_argument(
        "id",
        metavar="ID",
        type=values.text,
        help="any part of its id, of 4 characters or more, that no other has; or the whole id of one of its runs",
    )
    parser.add_argument(
        "--failures",
        metavar="N",
        type=values.count_or_none,
        default=1,
        help="how many of the latest failures to print with their tracebacks (default 1)",
    )
    _reveal(parser)


def leases(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura leases` and `dura sleeping`."""
    _limit(parser, "runs", 50)
    _reveal(parser)


def events(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura events`."""
    parser.add_argument(
        "--like", metavar="TEXT", type=values.text, help="only events with this in their names"
    )
    _limit(parser, "events of each kind", 50)
    _reveal(parser)


def state(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura state`."""
    parser.add_argument(
        "namespace", metavar="NAMESPACE", nargs="?", type=values.text, help="list the keys of this one"
    )
    parser.add_argument("key", metavar="KEY", nargs="?", type=values.text, help="print the value of this key")
    _limit(parser, "keys", 500)
    _reveal(parser)


def audit(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura audit`."""
    _limit(parser, "entries", 50)
    _reveal(parser)


def emit(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura emit`."""
    parser.add_argument(
        "event",
        metavar="EVENT",
        type=values.text,
        help=f"its name; those that begin with {RESERVED} are reserved",
    )
    payload = parser.add_mutually_exclusive_group()
    payload.add_argument(
        "--payload", metavar="JSON", type=values.text, help="what waiters are given (default null)"
    )
    payload.add_argument(
        "--payload-file", metavar="FILE", help="read the payload from a file; - is standard input"
    )
    parser.add_argument(
        "--run",
        metavar="RUN",
        type=values.text,
        help="the run that was seen waiting: refused if it waits for the event no more",
    )
    _operator(parser)


def extend(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura extend`."""
    _ids(parser)
    until = parser.add_mutually_exclusive_group(required=True)
    until.add_argument(
        "--by",
        metavar="SECONDS",
        type=values.some_seconds,
        help="how long the lease lasts, counted from now: seconds, or a duration such as 15m",
    )
    until.add_argument("--until", metavar="TIME", type=values.moment, help="when the lease ends, as ISO text")
    _operator(parser)


def requeue(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura requeue`."""
    _ids(parser)
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument(
        "--from-step",
        metavar="STEP",
        type=values.text,
        help="run this step and those that finished after it again (default: keep every finished step)",
    )
    steps.add_argument("--from-scratch", action="store_true", help="run every step again")
    _yes(parser)
    _operator(parser)


def cancel(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura cancel`."""
    _ids(parser)
    _yes(parser)
    _operator(parser)


def wake(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura wake`."""
    _ids(parser)
    _operator(parser)


def set_state(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura set-state`."""
    _namespace_and_key(parser)
    value = parser.add_mutually_exclusive_group(required=True)
    value.add_argument("--value", metavar="JSON", type=values.text, help="what the key is to hold")
    value.add_argument("--value-file", metavar="FILE", help="read the value from a file; - is standard input")
    _seen_at(parser)
    _operator(parser)


def delete_state(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura delete-state`."""
    _namespace_and_key(parser)
    _seen_at(parser)
    _operator(parser)


def _namespace_and_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "namespace",
        metavar="NAMESPACE",
        type=values.text,
        help=f"its namespace; those that begin with {RESERVED} are reserved",
    )
    parser.add_argument("key", metavar="KEY", type=values.text, help="the key")


def _seen_at(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seen-at",
        metavar="TIME",
        type=values.moment,
        help="when the value that was seen was written (its updated_at): refused if it was written or deleted since",
    )


def cleanup(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura cleanup`."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--older-than",
        metavar="DURATION",
        type=values.age,
        default=parse_duration("30d"),
        help="only tasks that ended longer ago: 90s, 15m, 12h, 30d (default 30d)",
    )
    which.add_argument(
        "--before",
        metavar="TIME",
        type=values.moment,
        help="only tasks that ended before this time, as ISO text",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="count what would be removed, and remove nothing"
    )
    _operator(parser, lock_timeout="30s")


def check(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura check`."""
    parser.add_argument("--repair", action="store_true", help="count anew if the counters are wrong")
    _lock_timeout(parser, "30s")


def upgrade(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura upgrade`."""
    parser.add_argument(
        "--compact",
        action="store_true",
        help="then rewrite the file without its free pages; needs the store to itself",
    )
    _lock_timeout(parser, "30s")
