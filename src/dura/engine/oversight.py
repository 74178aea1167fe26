"""Looking after a store: what is in it, what went wrong, what can go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from dura.checks import optional_function, optional_moment, text, whole
from dura.clock import later, to_text
from dura.engine.opened import OpenedStore, actor_of
from dura.engine.pace import Pace
from dura.errors import InvalidValue, shown
from dura.ids import new_id
from dura.records import FailureInfo, Finding, TaskInfo
from dura.store import audit, lookup, retention, upkeep
from dura.store.counts import counts, forget_zeros, rebuild
from dura.store.transaction import Transaction

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
        for _, task_name, state, count in self.database.read(counts):
            by_state = found.setdefault(task_name, {})
            by_state[state] = by_state.get(state, 0) + count
        return found

    def recent_failures(self, *, limit: int = 20) -> list[FailureInfo]:
        """The latest failed attempts, newest first; a task that failed three times is there three times."""
        whole(limit, "limit", least=0)
        return self.database.read(lambda connection: lookup.recent_failures(connection, limit))

    def cleanup(
        self,
        ttl: timedelta = _DEFAULT_RETENTION,
        *,
        before: datetime | None = None,
        actor: str | None = None,
        reason: str | None = None,
        progress: Callable[[int], object] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> int:
        """Remove tasks that have been terminal for longer than `ttl`, with their runs, checkpoints and waits.

        Events older than `ttl` go too, once no wait names them and no live task is as old. State is never touched.
        The work is done in transactions of a few milliseconds with rests in between, so that other writers hardly notice,
        and never by VACUUM. What was removed when it is stopped stays removed; the next call goes on.

        Args:
            ttl: How long a task is kept after its end; 30 days by default.
            before: Remove what ended before this moment instead, whatever `ttl` says.
            actor: The operator who cleans up by hand, for the audit. The entry is written before anything is removed,
                and says at the end how many tasks were.
            reason: Why, for the audit.
            progress: Told after each transaction how many tasks were removed so far.
            stopped: Asked before each transaction whether to end.

        Returns:
            How many tasks were removed.

        Raises:
            InvalidValue: `ttl` is no timedelta, or negative; or `before` is no datetime, or still to come.
        """
        cutoff = self._cutoff(ttl, optional_moment(before, "before"))
        optional_function(progress, "progress")
        optional_function(stopped, "stopped")
        by, entry_id, removed = actor_of(actor, reason), new_id(), 0

        def note(after: str) -> None:
            target = f"tasks that ended before {cutoff}"
            if by.actor is not None:
                self.database.write(
                    lambda tx: audit.record(
                        tx, by, action="cleanup", target=target, after=after, entry_id=entry_id
                    )
                )

        note("begun")
        try:
            for count in self._batches(partial(retention.remove_tasks, cutoff=cutoff), stopped):
                removed += count
                if progress is not None:
                    progress(removed)
            self._all(retention.remove_rest, stopped)
            needless = self.database.read(lambda connection: retention.needless_before(connection, cutoff))
            self._all(partial(retention.remove_events, before=needless), stopped)
            self._forget_zeros()
            self._all(retention.free_pages, stopped)
        finally:
            note(f"removed {removed}")
        return removed

    def _cutoff(self, ttl: timedelta, before: datetime | None) -> str:
        if not isinstance(ttl, timedelta) or ttl < timedelta(0):
            raise InvalidValue(f"ttl must be a timedelta of zero or more, not {shown(ttl)}")
        now = self.database.now()
        if before is None:
            return later(now, -ttl.total_seconds())
        if to_text(before) > now:
            raise InvalidValue(f"before must not be later than now ({now}): {before.isoformat()}")
        return to_text(before)

    def _batches(
        self, work: Callable[[Transaction, int], int], stopped: Callable[[], bool] | None
    ) -> Iterator[int]:
        """Do the work batch by batch, to its end or until it is stopped; how much each batch was."""
        pace = Pace(self.database)
        while not (stopped is not None and stopped()) and (done := pace.batch(work)):
            yield done

    def _all(self, work: Callable[[Transaction, int], int], stopped: Callable[[], bool] | None) -> None:
        for _ in self._batches(work, stopped):
            pass

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
