"""Looking after a store: what is in it, what went wrong, what can go."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final

from dura.checks import text, whole
from dura.clock import later
from dura.engine.opened import OpenedStore
from dura.engine.pace import Pace
from dura.errors import InvalidValue
from dura.records import FailureInfo, Finding, TaskInfo
from dura.store import lookup, retention, upkeep
from dura.store.connections import Transaction
from dura.store.counts import counts, forget_zeros, rebuild

_DEFAULT_RETENTION: Final = timedelta(days=30)


class OversightCalls(OpenedStore):
    """Reads over the whole store, and its upkeep."""

    def get_task(self, task_id: str) -> TaskInfo:
        """A task's present state.

        Raises:
            TaskNotFound: There is no such task.
        """
        text(task_id, "task_id")
        return self.database.read(lambda connection: lookup.task_info(connection, task_id))

    def ready_run_count(self) -> int:
        """How many runs could be claimed now: pending ones, and sleepers that are due."""
        now = self.database.now()
        return self.database.read(lambda connection: lookup.ready_runs(connection, now))

    def task_counts_by_state(self) -> dict[str, int]:
        """Tasks in each state; states without tasks are left out. Costs the same at any size."""
        found: dict[str, int] = {}
        for _, _, state, count in self.database.read(counts):
            found[state] = found.get(state, 0) + count
        return found

    def task_counts_by_name_and_state(self) -> dict[str, dict[str, int]]:
        """Tasks by name, then by state; what has no tasks is left out. Costs the same at any size."""
        found: dict[str, dict[str, int]] = {}
        for _, name, state, count in self.database.read(counts):
            by_state = found.setdefault(name, {})
            by_state[state] = by_state.get(state, 0) + count
        return found

    def recent_failures(self, *, limit: int = 20) -> list[FailureInfo]:
        """The latest failed attempts, newest first; a task that failed three times is there three times."""
        whole(limit, "limit", least=0)
        return self.database.read(lambda connection: lookup.recent_failures(connection, limit))

    def cleanup(self, ttl: timedelta = _DEFAULT_RETENTION) -> int:
        """Remove tasks that have been terminal for longer than `ttl`, with their runs, checkpoints and waits.

        Events older than `ttl` go too, once no wait names them and no live task is as old. State is never touched.
        The work is done in transactions of a few milliseconds with rests in between, so that other writers hardly notice,
        and never by VACUUM. What was removed when it is stopped stays removed; the next call goes on.

        Returns:
            How many tasks were removed.

        Raises:
            InvalidValue: `ttl` is no timedelta, or negative.
        """
        if not isinstance(ttl, timedelta) or ttl < timedelta(0):
            raise InvalidValue(f"ttl must be a timedelta of zero or more, not {ttl!r}")
        cutoff = later(self.database.now(), -ttl.total_seconds())
        removed = self._all(partial(retention.remove_tasks, cutoff=cutoff))
        self._all(retention.remove_rest)
        before = self.database.read(lambda connection: retention.needless_before(connection, cutoff))
        self._all(partial(retention.remove_events, before=before))
        self._forget_zeros()
        self._all(retention.free_pages)
        return removed

    def _all(self, work: Callable[[Transaction, int], int]) -> int:
        """Do all of the work, batch by batch. Returns how much it was."""
        pace = Pace(self.database)
        total = 0
        while done := pace.batch(work):
            total += done
        return total

    def _forget_zeros(self) -> None:
        pace = Pace(self.database)
        last: str | None = ""
        while last is not None:
            last = pace.batch(partial(forget_zeros, after=last))

    def check(self, *, repair: bool = False) -> tuple[Finding, ...]:
        """Look for damage: SQLite's own integrity check, then every invariant of the store. Reads the whole file.

        Args:
            repair: Whether to count anew if only the counters are wrong; nothing else is ever changed.

        Returns:
            What is wrong, as found before any repair; empty for a sound store.
        """
        found = self.database.read(upkeep.findings)
        if repair and any(finding.rule == upkeep.COUNTERS for finding in found):
            self.database.write(rebuild)
        return found

    def compact(self) -> tuple[int, int]:
        """Rewrite the file without its free pages, and let later cleanups give pages back. Needs the store to itself.

        Returns:
            The file's size before and after, in bytes.

        Raises:
            StoreBusy: Somebody else has the store open and is using it.
        """
        return self.database.read(upkeep.compact)
