"""Every command of `dura`: what it is for, what it takes, what it runs, and its help.

A command is parsed by a parser of its own, so that options may stand between its positional arguments.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from dura.cli import acting, arguments, detail, emitting, overview, reading, remembering, upkeep
from dura.cli.exits import MEANINGS, CommandFailed, Exit
from dura.command_line import Parser, advised, without_value

_WIDTH: Final = 79


class _Parser(Parser):
    """A parser that tells errors in two lines."""

    _words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        message = advised(message, self._words)
        raise CommandFailed(f"{message}\n`{self.prog} --help` shows what it takes", Exit.USAGE)

    def parse_words(self, words: list[str]) -> argparse.Namespace:
        """Parse a command line, options anywhere."""
        self._words = words
        if (word := without_value(words)) is not None:
            self.error(f"{word!r} gives no value")
        # Mixed, options and names are told apart in two passes, of which the second has forgotten the `--`.
        return self.parse_args(words) if "--" in words else self.parse_intermixed_args(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One thing that `dura` does."""

    name: str
    summary: str
    """One line for the list of commands."""
    about: str
    """What its own help says first."""
    takes: str = ""
    """Its positional arguments after PATH, as its usage shows them."""
    arguments: Callable[[argparse.ArgumentParser], None]
    """Adds its arguments; PATH is there already."""
    run: Callable[[argparse.Namespace], Exit]
    examples: tuple[str, ...]

    def parser(self) -> _Parser:
        """Its parser."""
        parser = _Parser(
            prog=f"dura {self.name}",
            usage=" ".join(("%(prog)s PATH", self.takes, "[OPTIONS]")).replace("  ", " "),
            description=textwrap.fill(self.about, _WIDTH),
            epilog="examples:\n" + "\n".join(f"  {example}" for example in self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.add_argument("path", metavar="PATH", help="the store's file")
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON document instead")
        return parser


_LOOKING: Final = (
    Command(
        name="status",
        summary="how the store is doing, on one page",
        about=(
            "Tasks by queue, name and state, what is due, who works, the leases that end first, the "
            "sleepers that are due first, what is awaited, what failed, and the size of the file."
        ),
        arguments=arguments.status,
        run=overview.status,
        examples=("dura status orders.db", "dura status orders.db --json | jq .totals"),
    ),
    Command(
        name="tasks",
        summary="list tasks",
        about=(
            "Tasks that match every option given. With --sort due, and no --state, only sleeping and "
            "running tasks are listed, by when they are due or their lease ends."
        ),
        arguments=arguments.tasks,
        run=reading.tasks,
        examples=(
            "dura tasks orders.db --state failed --name 'charge_*'",
            "dura tasks orders.db --text ord_17",
            "dura tasks orders.db --filter 'name:import_* -queue:mail error:timeout age>5m'",
            "dura tasks orders.db --state failed --limit 1000 --json | jq -r '.tasks[].task_id'",
        ),
    ),
    Command(
        name="task",
        summary="everything about one task",
        about="Parameters, attempts, finished steps, waits, the latest failures and the result of one task.",
        takes="ID",
        arguments=arguments.task,
        run=detail.task,
        examples=("dura task orders.db 7f3a9c12", "dura task orders.db 7f3a9c12 --failures 5"),
    ),
    Command(
        name="leases",
        summary="what runs, by when its lease ends",
        about="Running runs with their workers, the lease that ends first at the top.",
        arguments=arguments.leases,
        run=reading.leases,
        examples=("dura leases orders.db",),
    ),
    Command(
        name="sleeping",
        summary="what sleeps, by when it is due",
        about="Sleeping runs and what ends their sleep, the one that is due first at the top.",
        arguments=arguments.leases,
        run=reading.sleeping,
        examples=("dura sleeping orders.db",),
    ),
    Command(
        name="events",
        summary="awaited events with who waits, and emitted events",
        about=(
            "Events that runs sleep on, the soonest deadline first, with the waiting tasks; then events "
            "that were emitted, the latest first."
        ),
        arguments=arguments.events,
        run=reading.events,
        examples=("dura events orders.db", "dura events orders.db --like approved:"),
    ),
    Command(
        name="state",
        summary="the key-value memory: namespaces, keys, a value",
        about=(
            "Without NAMESPACE the namespaces, with it its keys and values, with KEY that one value as "
            "JSON. Namespaces that begin with dura. are the engine's own."
        ),
        takes="[NAMESPACE [KEY]]",
        arguments=arguments.state,
        run=reading.state,
        examples=(
            "dura state orders.db",
            "dura state orders.db poller",
            "dura state orders.db poller cursor | jq .since",
        ),
    ),
    Command(
        name="audit",
        summary="what operators did, to what, when and why",
        about="What was done by hand, from this command or the terminal monitor, the latest first.",
        arguments=arguments.audit,
        run=reading.audit,
        examples=("dura audit orders.db", "dura audit orders.db --json | jq '.audit[].value'"),
    ),
)

_ACTING: Final = (
    Command(
        name="emit",
        summary="emit an event and wake who waits for it",
        about=(
            "An event is emitted once and for all: the first emit of a name counts. If the name was "
            "emitted before, nothing changes and the exit code is 1."
        ),
        takes="EVENT",
        arguments=arguments.emit,
        run=emitting.emit,
        examples=(
            """dura emit orders.db approved:ord_1 --payload '{"by": "ana"}' --reason 'phoned'""",
            "fetch-rates | dura emit orders.db rates:2026-01-05 --payload-file -",
        ),
    ),
    Command(
        name="extend",
        summary="let a running task's lease end later",
        about=(
            "The time is counted from now, not added to what is left: a lease that ends later already stays "
            "as it is."
        ),
        takes="ID [ID ...] (--by SECONDS | --until TIME)",
        arguments=arguments.extend,
        run=acting.extend,
        examples=("dura extend orders.db 7f3a9c12 --by 600", "dura extend orders.db 7f3a9c12 --by 15m"),
    ),
    Command(
        name="requeue",
        summary="give failed or cancelled tasks a new attempt, due now",
        about=(
            "At least one more attempt is granted, whatever the task's limit. Finished steps are kept and "
            "not run again, unless an option says otherwise."
        ),
        takes="ID [ID ...]",
        arguments=arguments.requeue,
        run=acting.requeue,
        examples=(
            "dura requeue orders.db 7f3a9c12 --reason 'bank is back'",
            "dura requeue orders.db 7f3a9c12 --from-step charge",
            "dura tasks orders.db --state failed --json | jq -r '.tasks[].task_id' |\n"
            "    xargs dura requeue orders.db",
        ),
    ),
    Command(
        name="cancel",
        summary="cancel tasks that have not ended",
        about="The handler of a running task learns of it at its next call; nothing it does then is kept.",
        takes="ID [ID ...]",
        arguments=arguments.cancel,
        run=acting.cancel,
        examples=("dura cancel orders.db 7f3a9c12 0b6de2f4 --reason 'ordered twice'",),
    ),
    Command(
        name="wake",
        summary="make delayed, backed-off or deferred tasks due now",
        about=(
            "Cuts short a delay, a backoff or a deferral. A task that waits for an event is woken by "
            "emitting the event; one that sleeps in a step, by its own deadline alone."
        ),
        takes="ID [ID ...]",
        arguments=arguments.wake,
        run=acting.wake,
        examples=("dura wake orders.db 7f3a9c12",),
    ),
    Command(
        name="set-state",
        summary="set a key of the key-value memory",
        about=(
            "Sets a key to a JSON value, whether it was there or not. With --seen-at, only if nobody has written or "
            "deleted it since."
        ),
        takes="NAMESPACE KEY (--value JSON | --value-file FILE)",
        arguments=arguments.set_state,
        run=remembering.set_state,
        examples=("""dura set-state orders.db poller cursor --value '{"page": 3}' --reason 'skip page 2'""",),
    ),
    Command(
        name="delete-state",
        summary="delete a key of the key-value memory",
        about="Deletes a key. With --seen-at, only if nobody has written it since.",
        takes="NAMESPACE KEY",
        arguments=arguments.delete_state,
        run=remembering.delete_state,
        examples=("dura delete-state orders.db poller cursor --reason 'read from the beginning'",),
    ),
)

_UPKEEP: Final = (
    Command(
        name="cleanup",
        summary="remove tasks that ended long ago",
        about=(
            "Tasks that ended longer ago go, with their attempts, steps and waits, and events that nobody "
            "can need any more. State is never touched. Done in short transactions: workers go on working."
        ),
        arguments=arguments.cleanup,
        run=upkeep.cleanup,
        examples=(
            "dura cleanup orders.db --dry-run",
            "dura cleanup orders.db",
            "dura cleanup orders.db --older-than 12h",
        ),
    ),
    Command(
        name="check",
        summary="look for damage",
        about=(
            "SQLite's own integrity check, then every rule of the store. Reads the whole file. The exit "
            "code is 1 if anything is wrong."
        ),
        arguments=arguments.check,
        run=upkeep.check,
        examples=("dura check orders.db", "dura check orders.db --repair"),
    ),
    Command(
        name="upgrade",
        summary="upgrade a store of dura 1.3.0; compact the file",
        about=(
            "Upgrades the file in one transaction and says what it put right. A store that is up to date "
            "stays as it is. Stop the programs that use the store first."
        ),
        arguments=arguments.upgrade,
        run=upkeep.upgrade,
        examples=("dura upgrade orders.db", "dura upgrade orders.db --compact"),
    ),
)

_GROUPS: Final = (
    ("look (nothing is ever made, changed or upgraded)", _LOOKING),
    ("act (each action is written to the audit)", _ACTING),
    ("look after the file", _UPKEEP),
)

COMMANDS: Final = {command.name: command for _, group in _GROUPS for command in group}
"""Every command by its name."""


def overall_help() -> str:
    """The text of `dura --help`."""
    lines = [
        "usage: dura COMMAND PATH ...",
        "       dura COMMAND --help | dura --help | dura --version",
        "",
        "Look at a dura store and act on it. PATH is the store's file, which must exist.",
    ]
    for title, group in _GROUPS:
        lines += ["", f"{title}:", *(f"  {command.name:<12} {command.summary}" for command in group)]
    lines += [
        "",
        "Tables are for people: on a terminal they are cut to its width, and ids shown by",
        "their last eight characters, which every command takes. In a pipe nothing is cut.",
        "--json is for scripts. Results go to standard output, notes and errors to",
        "standard error.",
        "",
        "exit codes:",
        *(f"  {int(code):>3}  {meaning}" for code, meaning in MEANINGS.items()),
    ]
    return "\n".join(lines)
