"""The arguments of the commands: what each takes, and what a value must look like."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from dura.actor import present_actor
from dura.checks import RESERVED
from dura.durations import parse_duration
from dura.errors import InvalidFilter
from dura.filters import marked, parse
from dura.records import TASK_SORTS, Condition
from dura.states import State

# --- kinds of values --------------------------------------------------------------------------------------------------


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise argparse.ArgumentTypeError("this is no UTF-8 text") from error
    return value


def _count(value: str) -> int:
    try:
        count = int(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{value!r} is no whole number") from error
    if not 0 < count < 1_000_000_000:
        raise argparse.ArgumentTypeError(f"{value} is no number between 1 and 999999999")
    return count


def _count_or_none(value: str) -> int:
    return 0 if value == "0" else _count(value)


def _age(value: str) -> float:
    return _duration(value, bare_seconds=False)


def _seconds(value: str) -> float:
    return _duration(value, bare_seconds=True)


def _some_seconds(value: str) -> float:
    seconds = _seconds(value)
    if not seconds:
        raise argparse.ArgumentTypeError("a lease is extended by more than nothing")
    return seconds


def _moment(value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{value!r} is no time as ISO text, such as 2026-01-31T09:30:00+00:00"
        ) from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _filter(value: str) -> tuple[Condition, ...]:
    try:
        return parse(value)
    except InvalidFilter as error:
        raise argparse.ArgumentTypeError(marked(value, error)) from error


def _sort(value: str) -> str:
    if value.removeprefix("-") not in TASK_SORTS:
        raise argparse.ArgumentTypeError(f"there is no order {value!r}: use one of {', '.join(TASK_SORTS)}")
    return value


def _duration(value: str, *, bare_seconds: bool) -> float:
    try:
        return parse_duration(value, bare_seconds=bare_seconds)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


# --- arguments of several commands ------------------------------------------------------------------------------------


def _limit(parser: argparse.ArgumentParser, what: str, default: int) -> None:
    parser.add_argument(
        "--limit",
        metavar="N",
        type=_count,
        default=default,
        help=f"at most so many {what} (default {default})",
    )


def _reveal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reveal", action="store_true", help="show also what may be secret")


def _lock_timeout(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--lock-timeout",
        metavar="DURATION",
        type=_seconds,
        default=parse_duration(default),
        help=f"how long to wait for other writers (default {default})",
    )


def _operator(parser: argparse.ArgumentParser, lock_timeout: str = "5s") -> None:
    parser.add_argument("--reason", metavar="TEXT", type=_text, help="why, for the audit")
    parser.add_argument(
        "--actor",
        metavar="WHO",
        type=_text,
        default=present_actor(),
        help="who acts, for the audit (default: user@host, and the client's address over SSH)",
    )
    _lock_timeout(parser, lock_timeout)


def _ids(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ids",
        metavar="ID",
        nargs="+",
        type=_text,
        help="a task: any part of its id, of 4 characters or more, that no other has; or the whole id of its run",
    )


def _yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask before acting on several tasks")


# --- arguments of one command -----------------------------------------------------------------------------------------


def status(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura status`."""
    _limit(parser, "rows a list", 5)
    _reveal(parser)


def tasks(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura tasks`."""
    parser.add_argument("--state", choices=[state.value for state in State], help="only tasks in this state")
    parser.add_argument(
        "--name", metavar="NAME", type=_text, help="only tasks of this name; * matches anything"
    )
    parser.add_argument("--queue", metavar="QUEUE", type=_text, help="only tasks of this queue")
    parser.add_argument(
        "--text", metavar="TEXT", type=_text, help="only tasks with this in id, idempotency key or parameters"
    )
    parser.add_argument(
        "--filter",
        metavar="LINE",
        type=_filter,
        default=(),
        help="only tasks that match, for example 'name:import_*,export_* error:timeout age>5m'",
    )
    parser.add_argument(
        "--sort",
        metavar="ORDER",
        type=_sort,
        default="newest",
        help=f"{', '.join(TASK_SORTS)}; the other way round: --sort=-ORDER (default newest)",
    )
    _limit(parser, "tasks", 50)
    parser.add_argument("--after", metavar="PAGE", type=_text, help="go on where the page before ended")
    _reveal(parser)


def task(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura task`."""
    parser.add_argument(
        "id",
        metavar="ID",
        type=_text,
        help="any part of its id, of 4 characters or more, that no other has; or the whole id of one of its runs",
    )
    parser.add_argument(
        "--failures",
        metavar="N",
        type=_count_or_none,
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
    parser.add_argument("--like", metavar="TEXT", type=_text, help="only events with this in their names")
    _limit(parser, "events of each kind", 50)
    _reveal(parser)


def state(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura state`."""
    parser.add_argument(
        "namespace", metavar="NAMESPACE", nargs="?", type=_text, help="list the keys of this one"
    )
    parser.add_argument("key", metavar="KEY", nargs="?", type=_text, help="print the value of this key")
    _limit(parser, "keys", 500)
    _reveal(parser)


def audit(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura audit`."""
    _limit(parser, "entries", 50)
    _reveal(parser)


def emit(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura emit`."""
    parser.add_argument(
        "event", metavar="EVENT", type=_text, help=f"its name; those that begin with {RESERVED} are reserved"
    )
    payload = parser.add_mutually_exclusive_group()
    payload.add_argument(
        "--payload", metavar="JSON", type=_text, help="what waiters are given (default null)"
    )
    payload.add_argument(
        "--payload-file", metavar="FILE", help="read the payload from a file; - is standard input"
    )
    parser.add_argument(
        "--run",
        metavar="RUN",
        type=_text,
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
        type=_some_seconds,
        help="how long from now the lease lasts: seconds, or a duration such as 15m",
    )
    until.add_argument("--until", metavar="TIME", type=_moment, help="when the lease ends, as ISO text")
    _operator(parser)


def requeue(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura requeue`."""
    _ids(parser)
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument(
        "--from-step",
        metavar="STEP",
        type=_text,
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
    value.add_argument("--value", metavar="JSON", type=_text, help="what the key is to hold")
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
        type=_text,
        help=f"its namespace; those that begin with {RESERVED} are reserved",
    )
    parser.add_argument("key", metavar="KEY", type=_text, help="the key")


def _seen_at(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seen-at",
        metavar="TIME",
        type=_moment,
        help="when the value that was seen was written (its updated_at): refused if it was written or deleted since",
    )


def cleanup(parser: argparse.ArgumentParser) -> None:
    """Arguments of `dura cleanup`."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--older-than",
        metavar="DURATION",
        type=_age,
        default=parse_duration("30d"),
        help="only tasks that ended longer ago: 90s, 15m, 12h, 30d (default 30d)",
    )
    which.add_argument(
        "--before", metavar="TIME", type=_moment, help="only tasks that ended before this time, as ISO text"
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
