"""How commands see the store: for reading only, and without secrets unless those are asked for."""

from __future__ import annotations

from argparse import Namespace

from dura.cli.output import note
from dura.monitor import Monitor
from dura.records import Snapshot, Want
from dura.redaction import MARK, Redaction


def watched(args: Namespace) -> Monitor:
    """The store of the command line; what is in it is shown as `--reveal` and the environment say.

    Raises:
        InvalidValue: A variable of the environment has a pattern that matches no name.
    """
    reveal = getattr(args, "reveal", False)
    return Monitor(args.path, redaction=None if reveal else Redaction.from_environment())


def look(args: Namespace, want: Want) -> Snapshot:
    """One consistent look at the store, with notes of what it does not show."""
    with watched(args) as monitor:
        snapshot = monitor.snapshot(want)
    tell_shortened(snapshot)
    tell_hidden(snapshot)
    return snapshot


def tell_shortened(snapshot: Snapshot) -> None:
    """Say which parts hold less than there is."""
    names = ", ".join(snapshot.truncated)
    if names:
        note(f"note: reading took too long, so there is more than is shown of: {names}")


def tell_hidden(snapshot: Snapshot) -> None:
    """Say so if something is hidden."""
    if snapshot.hidden:
        note(f"note: {MARK} stands for what may be secret; --reveal shows it")
