"""What an operation is given to work on: the open transaction, and what it says there for the time after the commit."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dura.store.connections import Link


class ServeAlone(Exception):  # noqa: N818 - no error: a request to the door
    """Raised by an operation that cannot serve several requests together: what it did is undone, each is served alone."""


class Transaction:
    """An open write transaction, as operations see it."""

    __slots__ = ("announces", "connection", "disturbs", "execute", "executemany", "link", "moves", "now")

    def __init__(self, link: Link, now: str) -> None:
        assert link.connection is not None
        self.link = link
        self.connection = link.connection
        self.execute = link.connection.execute
        self.executemany = link.connection.executemany
        self.now = now
        """The time of the operation, in the store's format."""
        self.announces = 0
        """How many runs have become due, or will by themselves; idle workers are granted them, or told."""
        self.disturbs = False
        """Set where a claim may have ended, or a step been used, otherwise than by the holder's own call."""
        self.moves: defaultdict[tuple[str, str, str | None, str | None], int] = defaultdict(int)
        """By queue, name, the state before and the state after: how many tasks have gone so."""

    def moved(self, queue: str, name: str, before: str | None, after: str | None, tasks: int = 1) -> None:
        """Note that tasks have gone from one state to another; None before: they are new, None after: they are gone."""
        self.moves[queue, name, before, after] += tasks

    def changes(self, sql: str, values: tuple[Any, ...] = ()) -> int:
        """Execute a statement and return how many rows it changed."""
        return self.execute(sql, values).rowcount
