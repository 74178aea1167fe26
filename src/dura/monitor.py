"""The read-only door to a store: for the terminal monitor, the command line's tables, and anyone's dashboard.

A `Monitor` changes nothing in the file it looks at, creates and upgrades nothing, and holds no transaction between two
looks, so that it never keeps a writer's log from being emptied. It reads files of this version and of dura 1.3.0 as they
are. Everything in one `Snapshot` was read in one transaction.

    with Monitor("orders.db") as monitor:
        snapshot = monitor.snapshot(Want(leases=20, tasks=TaskQuery(state="failed")))
        print(snapshot.totals(), [lease.worker_id for lease in snapshot.leases])
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Final, Self, TypeVar

from dura.checks import absolute, optional_clock, text, whole
from dura.checks import path as check_path
from dura.clock import Clock
from dura.errors import InvalidValue, shown
from dura.records import Snapshot, TaskRow, Want
from dura.records.misfits import misfit
from dura.records.redacted import redacted
from dura.redaction import Redaction
from dura.store.faults import damaged
from dura.store.reading import Reader, Source
from dura.store.views import asked
from dura.store.views.find import find_tasks
from dura.store.views.look import Look, through
from dura.store.views.progress import Progress
from dura.store.views.snapshot import snapshot

R = TypeVar("R")

_JUST_THE_COUNTS: Final = Want()


class Monitor:
    """Looks at one store, whoever writes it. Usable from any thread, one look at a time; opens at the first look.

    Args:
        path: The store's file.
        clock: The engine's clock, for what is due and how long something lasts; default the machine's.
        redaction: What of values and messages is not shown; by default all of it is.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self.path: Final = absolute(check_path(path, "path"))
        """The store's file."""
        self._clock = optional_clock(clock, "clock")
        if redaction is not None and not isinstance(redaction, Redaction):
            raise InvalidValue(f"redaction must be a dura.redaction.Redaction, not {shown(redaction)}")
        self._redaction = redaction
        self._reader = Reader(self.path)
        self._progress = Progress()

    def snapshot(self, want: Want = _JUST_THE_COUNTS) -> Snapshot:
        """One consistent look at the store.

        Args:
            want: Which parts to read besides the counts; default none.

        Raises:
            StoreNotFound: There is no file, or none any more. As for all of these, a later call tries anew.
            NotADuraStore: The file is no store.
            StoreTooNew: A newer dura wrote it.
            StoreBusy: It is locked, or changes too fast to be read.
            StoreError: It cannot be read for another reason, which the message gives.
            InvalidValue: Something in `want` cannot be asked; the message names the field.
        """
        asked.check(want, Want, "want")
        began = time.perf_counter()
        taken = self._look(lambda look, source: snapshot(look, self.path, source, want, self._progress))
        found = self._shown(taken)
        return replace(found, hidden=found is not taken, read_seconds=time.perf_counter() - began)

    def changed(self) -> bool:
        """Whether anything was committed since the last look, or the next one will fail: one `PRAGMA data_version`.

        While it is false a new snapshot differs from the last only in what the passing of time makes due.
        """
        return self._reader.changed()

    def find_tasks(self, part: str, limit: int = 20) -> tuple[TaskRow, ...]:
        """Tasks by id: the one whose id, or whose run's id, this is; else those whose ids hold it.

        Args:
            part: An id, or any part of a task's id.
            limit: How many at most; the latest ids come first.

        Raises:
            InvalidValue: `part` is no text, or `limit` no number of zero or more.
            StoreError: As from `snapshot`.
        """
        text(part, "part")
        whole(limit, "limit", least=0)
        return self._shown(self._look(lambda look, _: find_tasks(look, part, limit, self._progress)))

    def close(self) -> None:
        """Close the file; a later look opens it again."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _shown(self, found: R) -> R:
        return found if self._redaction is None else redacted(found, self._redaction)

    def _look(self, view: Callable[[Look, Source], R]) -> R:
        found = self._reader.read(through(view, self.path, self._clock))
        if (place := misfit(found)) is not None:
            raise damaged(self.path, f"{place} holds a value of a wrong type")
        return found
