"""Opening and closing: what every group of engine calls stands on."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from dura.checks import absolute, optional_clock, optional_text, path, permissions, text, whole
from dura.clock import Clock
from dura.codec import decode
from dura.current import CurrentClaim, current_claim
from dura.errors import InvalidValue, StoreError, shown
from dura.log import logger_of
from dura.store.audit import Actor
from dura.store.database import Database
from dura.store.due import Lookout
from dura.store.faults import UNREADABLE, unreadable
from dura.store.schema import prepare
from dura.store.turns import take_turns

logger = logger_of("dura")

_SYNCHRONOUS: Final = ("FULL", "NORMAL")

_LONGEST_BUSY_TIMEOUT: Final = 2**31 - 1
"""Milliseconds; SQLite counts them in 32 bits."""


def actor_of(actor: str | None, reason: str | None) -> Actor:
    """Who acts and why, as a call was told.

    Raises:
        InvalidValue: A reason was given without an actor, or one of them is no text.
    """
    if reason is not None and actor is None:
        raise InvalidValue("a reason goes to the audit together with an actor")
    return Actor(actor=optional_text(actor, "actor"), reason=optional_text(reason, "reason"))


class OpenedStore:
    """An open store file."""

    def __init__(
        self,
        db_path: str | Path,
        *,
        clock: Clock | None = None,
        busy_timeout_ms: int = 30_000,
        synchronous: str = "FULL",
        create: bool = True,
        upgrade: bool = True,
        mode: int | None = None,
    ) -> None:
        """Open a store, making or upgrading it if allowed.

        Args:
            db_path: The store's file, on a local disk.
            clock: Returns the present time, for tests; by default the machine's, in UTC.
            busy_timeout_ms: The longest wait for the write lock, in milliseconds, twice where other threads of this
                process and other processes compete at once.
            synchronous: `FULL` makes each commit survive a power cut; `NORMAL` may lose the last commits in one, never
                consistency, and is faster.
            create: Whether a missing file may be made; else it is an error.
            upgrade: Whether a file of dura 1.3.0 may be upgraded; else it is an error.
            mode: The permissions of a file that is made, and of those beside it, for example `0o660`; by default those
                that the umask grants. A file that exists keeps its own.

        Raises:
            StoreError: The file cannot be used; the subclass and the message say why.
            ValueError: An argument is out of range.
        """
        where = path(db_path, "db_path")
        if where in ("", ":memory:"):
            raise StoreError("a store is a file: give a path, not an empty name or ':memory:'", path=where)
        clock = optional_clock(clock, "clock")
        if not isinstance(synchronous, str) or synchronous not in _SYNCHRONOUS:
            raise InvalidValue(
                f"synchronous must be one of {', '.join(_SYNCHRONOUS)}, not {shown(synchronous)}"
            )
        if whole(busy_timeout_ms, "busy_timeout_ms", least=0) > _LONGEST_BUSY_TIMEOUT:
            raise InvalidValue(
                f"busy_timeout_ms must be at most {_LONGEST_BUSY_TIMEOUT}, not {busy_timeout_ms}"
            )
        if mode is not None:
            permissions(mode, "mode")
        self.database = Database(
            absolute(where),
            clock=clock,
            busy_timeout_ms=busy_timeout_ms,
            synchronous=synchronous,
        )
        """The door to the file; for the worker pool."""
        self._take_turns = partial(take_turns, lookout=Lookout())
        self.upgrade_report: tuple[str, ...] = prepare(
            self.database, create=create, upgrade=upgrade, mode=mode
        )
        """What opening did to a file of dura 1.3.0, a line a change; empty if it was up to date."""
        for line in self.upgrade_report:
            logger.warning("%s: %s", db_path, line)

    @property
    def db_path(self) -> str:
        """The store's file: the path that the engine was opened with, made absolute."""
        return self.database.path

    def now(self) -> datetime:
        """The engine's clock."""
        return datetime.fromisoformat(self.database.now())

    def close(self) -> None:
        """Close the calling thread's connection, and those of threads that have ended.

        The last one to close empties the write-ahead log and removes its files. The engine stays usable: the next call
        opens a connection again.
        """
        self.database.close()

    def _decoded(self, stored: str | None, what: str) -> Any:
        """A stored value; `what` says which, for the error.

        Raises:
            StoreError: It is no JSON: the file is damaged, or was edited by hand.
        """
        try:
            return decode(stored)
        except UNREADABLE as error:
            raise unreadable(error, self.db_path, what) from error

    def _token(self, run_id: str, claim_token: int | None) -> int | None:
        """The caller's token for a run: the one given, else the current claim's, else None (nobody's call)."""
        text(run_id, "run_id")
        if claim_token is not None:
            return whole(claim_token, "claim_token")
        claim = self._claim_on(run_id)
        return None if claim is None else claim.task.claim_token

    def _claim_on(self, run_id: str) -> CurrentClaim | None:
        claim = current_claim(self)
        return claim if claim is not None and claim.task.run_id == run_id else None

    def _end_claim(self, run_id: str) -> None:
        """Note that the current claim was ended by its handler's own call, if it is the run's and is committed."""
        claim = self._claim_on(run_id)
        if claim is not None and not self.database.inside():
            claim.ended = True
