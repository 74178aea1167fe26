"""The pace of upkeep: batches that hold the write lock for a moment, and rests that let others have it.

Threads of the same process stand in one line and come in after each batch. Programs in other processes can only try again.
Engines do so every 0.2 ms; others 1, 3, 8, 18 and more milliseconds after they came (SQLite's busy handler): between batches
that follow each other closely they would hardly ever find the lock free. After batches shorter than 3 ms, and with rests as
long, their second try is in time.

The write-ahead log is emptied in a rest, before it is so long that a commit of somebody would do that, with all others
waiting for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from dura.store.database import Database
from dura.store.retention import empty_log
from dura.store.transaction import Transaction

R = TypeVar("R")

_WORK: Final = 0.001
"""Seconds that a batch should work; its commit takes about half as long again."""

_STRETCH: Final = 0.001
"""Seconds of holding the lock after which there is a rest."""

_REST: Final = 0.003
"""Seconds of a rest, at least; it is as long as the lock was held since the last one, where that was longer."""

_LOG: Final = 0.010
"""Seconds of holding the lock after which the log is emptied in the rest."""

_FIRST: Final = 20
_LEAST: Final = 5
_MOST: Final = 2_000


class Pace:
    """How much one kind of work does in a batch, learnt from how long its batches have taken."""

    def __init__(
        self,
        database: Database,
        *,
        timer: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begin small.

        Args:
            database: The door to the file.
            timer: Returns seconds since some moment, for tests.
            sleep: Waits so many seconds, for tests.
        """
        self._database = database
        self._timer = timer
        self._sleep = sleep
        self._amount = _FIRST
        self._held = 0.0
        """Seconds of holding the lock since the last rest."""
        self._logged = 0.0
        """The same since the log was last emptied."""

    def batch(self, work: Callable[[Transaction, int], R]) -> R:
        """Do a batch of the work in a transaction.

        Args:
            work: Given the transaction and how much it may do: so many rows or pages.

        Returns:
            What `work` returned, once it is committed.
        """
        if self._held >= _STRETCH:
            self._rest()
        began = done = 0.0

        def timed(tx: Transaction) -> R:
            nonlocal began, done
            began = self._timer()
            result = work(tx, self._amount)
            done = self._timer()
            return result

        result = self._database.write(timed)
        held = self._timer() - began
        self._held += held
        self._logged += held
        fitting = self._amount * _WORK / max(done - began, _WORK / 2)
        self._amount = min(max(_LEAST, int(fitting)), _MOST)
        return result

    def _rest(self) -> None:
        began = self._timer()
        length, self._held = max(_REST, self._held), 0.0
        if self._database.inside():
            return
        if self._logged >= _LOG:
            self._logged = 0.0
            self._database.read(empty_log)
        self._sleep(max(0.0, began + length - self._timer()))
