"""Commands that change the key-value memory by hand: set a key, delete one."""

from __future__ import annotations

from argparse import Namespace

from dura.cli.acting import opened
from dura.cli.emitting import given_value
from dura.cli.exits import CommandFailed, Exit
from dura.cli.output import say, say_json
from dura.display import printable


def set_state(args: Namespace) -> Exit:
    """Set a key."""
    value = given_value("value", args.value, args.value_file)
    with opened(args) as engine:
        engine.set_state(
            namespace=args.namespace,
            key=args.key,
            value=value,
            actor=args.actor,
            reason=args.reason,
            seen_at=args.seen_at,
        )
    return _done(args, "set")


def delete_state(args: Namespace) -> Exit:
    """Delete a key."""
    with opened(args) as engine:
        existed = engine.delete_state(
            namespace=args.namespace,
            key=args.key,
            actor=args.actor,
            reason=args.reason,
            seen_at=args.seen_at,
        )
    if not existed:
        raise CommandFailed(f"{args.path} has no state {_title(args)!r}: there was nothing to delete")
    return _done(args, "deleted")


def _done(args: Namespace, what: str) -> Exit:
    if args.json:
        say_json({"namespace": args.namespace, "key": args.key, "done": what})
    else:
        say(f"{what} {printable(_title(args))}")
    return Exit.DONE


def _title(args: Namespace) -> str:
    return f"{args.namespace}/{args.key}"
