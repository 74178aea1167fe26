"""Tasks through their life: spawn, claim, and the ways to settle a claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from dura.checks import name as check_name
from dura.checks import names, optional_text, optional_whole, seconds, several, whole
from dura.clock import seconds_between
from dura.codec import decode, encode
from dura.current import saw_fresh
from dura.engine.opened import OpenedStore
from dura.errors import EngineError, InvalidValue, StoreError, shown
from dura.ids import new_ids
from dura.records import ClaimedTask, TaskRef, maker
from dura.retry import RetryStrategy
from dura.store import claim as claiming
from dura.store import settle
from dura.store.claim import Claim, Granted
from dura.store.commits import disturbances
from dura.store.faults import UNREADABLE, unreadable
from dura.store.idle import IdleWorkers
from dura.store.settle import Settlement
from dura.store.spawn import Spawn, spawn
from dura.store.turns import Turn

_claimed: Final = maker(ClaimedTask)


class TaskCalls(OpenedStore):
    """Spawning, claiming and settling."""

    def spawn_task(
        self,
        *,
        name: str,
        params: Any,
        idempotency_key: str | None = None,
        retry: RetryStrategy | None = None,
        max_attempts: int | None = None,
        available_after: timedelta | None = None,
        priority: int = 0,
        queue: str = "default",
        steps: Sequence[str] | None = None,
        max_reclaims: int | None = None,
    ) -> TaskRef:
        """Create a task and its first run.

        Args:
            name: Which handler runs it.
            params: What the handler is given; any JSON value.
            idempotency_key: At most one task is ever made for a key, as long as that task is in the store.
            retry: How long to wait after a failed attempt; by default not at all.
            max_attempts: Attempts before the task fails for good; by default no limit.
            available_after: How long before the first attempt may start.
            priority: Higher is claimed first; retries keep it.
            queue: Which workers may claim it: those that serve this queue.
            steps: The names of the handler's steps in order, from which a monitor can show progress.
            max_reclaims: How often an attempt's lease may run out before the task fails as a poison run; by default
                without limit.

        Returns:
            The new task, or with `created=False` the one that the idempotency key names already.

        Raises:
            InvalidValue: An argument is out of range, or `params` is no JSON value (`NotStorable`).
            StoreError: The file cannot be written.
        """
        task = _spec(
            new_ids(2), name=name, params=params, idempotency_key=idempotency_key, retry=retry, max_attempts=max_attempts,
            available_after=available_after, priority=priority, queue=queue, steps=steps, max_reclaims=max_reclaims,
        )  # fmt: skip
        return self.database.write_together(spawn, [task])[0]

    def spawn_many(self, tasks: Iterable[Mapping[str, Any]]) -> list[TaskRef]:
        """Create many tasks in one transaction: all of them, or none if one is refused.

        One commit serves them all, so this is many times faster than spawning one by one. The transaction holds the
        write lock for about 10 ms a thousand tasks: spawn more in several calls.

        Args:
            tasks: The arguments of `spawn_task`, a mapping for each task.

        Returns:
            The tasks, in the order given.

        Raises:
            InvalidValue: An argument is unknown, missing or out of range; it is said of which task.
            StoreError: The file cannot be written.
        """
        if isinstance(tasks, Mapping) or not isinstance(tasks, Iterable):
            raise InvalidValue(f"tasks must be a list of mappings, not {type(tasks).__name__}")
        several_tasks = list(tasks)
        ids = new_ids(2 * len(several_tasks))
        specs = []
        for number, arguments in enumerate(several_tasks):
            try:
                specs.append(_spec(ids[2 * number : 2 * number + 2], **arguments))
            except (TypeError, InvalidValue) as error:
                what = str(error).replace("_spec()", "spawn_task()")
                raise InvalidValue(f"task {number} of the list cannot be spawned: {what}") from error
        return self.database.write_together(spawn, specs)

    def claim_task(
        self,
        *,
        worker_id: str,
        timeout_secs: float = 120,
        max_priority: int | None = None,
        queue: str | Sequence[str] | None = None,
    ) -> ClaimedTask | None:
        """Take the best run that is due, or None if there is none.

        The best has the highest priority, then the earliest due time, then was inserted first. Runs whose lease has run
        out are taken back first, with the same attempt. An empty queue costs a read, not the write lock.

        Args:
            worker_id: Who claims; shown by monitors.
            timeout_secs: The lease's length, in seconds.
            max_priority: Only runs of at most this priority.
            queue: Only runs of this queue, or of these; by default of any.

        Raises:
            InvalidValue: An argument is out of range.
            StoreError: The file cannot be read or written.
        """
        wanted = Claim(
            worker_id=check_name(worker_id, "worker_id"),
            lease_seconds=seconds(timeout_secs, "timeout_secs", positive=True),
            queues=names(queue, "queue"),
            max_priority=None if max_priority is None else whole(max_priority, "max_priority"),
        )
        return self.claim_next(wanted)

    def wait_for_claim(
        self, wanted: Claim, idle: IdleWorkers, seconds: float, stirs: int
    ) -> ClaimedTask | None:
        """Wait among a pool's idle workers; see `IdleWorkers.wait`. Returns the next run if there is one already."""
        before = disturbances()
        granted = idle.wait(wanted, seconds, stirs)
        return None if granted is None else self._readable(granted, before)

    def claim_next(self, wanted: Claim) -> ClaimedTask | None:
        """`claim_task`, for a pool that has checked its terms once."""
        again = True
        while again and self._anything_due(wanted):
            _, task, again = self._take_turn(Turn(None, wanted))
            if task is not None:
                return task
        return None

    def settle_and_claim(
        self, settlement: Settlement, wanted: Claim
    ) -> tuple[EngineError | None, ClaimedTask | None]:
        """Settle a run and claim the next in one transaction, for a pool.

        Returns:
            Why the run could not be settled (it is no longer the caller's), or None; and the next run, or None.
        """
        lost, task, again = self._take_turn(Turn(settlement, wanted))
        if again and task is None:
            # If that fails, the run is settled all the same; who asks again learns what it was.
            with suppress(StoreError):
                task = self.claim_next(wanted)
        return lost, task

    def take_turns(
        self, turns: Sequence[Turn]
    ) -> list[tuple[EngineError | None, ClaimedTask | None] | Exception]:
        """Settle and claim for several workers in one transaction, for a pool.

        Returns:
            For each what `settle_and_claim` returns, or the error that kept its run from being settled.
        """
        taken: list[tuple[EngineError | None, ClaimedTask | None] | Exception] = []
        for ticket in self.database.write_all_together(self._take_turns, turns):
            try:
                lost, granted, _ = ticket.outcome()
            except Exception as error:  # noqa: BLE001 - it is this worker's; the others have their runs
                taken.append(error)
            else:
                taken.append((lost, None if granted is None else self._readable(granted)))
        return taken

    def settle(self, settlement: Settlement) -> EngineError | None:
        """Complete or fail a run as its handler ended, whatever else of its task the caller believes.

        Returns:
            Why it could not be settled: it is no longer the caller's.
        """
        run_id, token, result = settlement.run_id, settlement.token, settlement.result
        try:
            if result is None:
                reason, retryable = settlement.reason, settlement.retryable
                self.database.write(lambda tx: settle.fail(tx, run_id, token, reason, retryable=retryable))
            else:
                self.database.write(lambda tx: settle.complete(tx, run_id, token, result))
        except settle.NO_LONGER_HELD as error:
            return error
        return None

    def _take_turn(self, turn: Turn) -> tuple[EngineError | None, ClaimedTask | None, bool]:
        """Why the run in hand was lost, the next run, and whether it may help to ask again if there is none."""
        before = disturbances()
        lost, granted, more = self.database.write_together(self._take_turns, turn)
        if granted is None:
            return lost, None, more
        task = self._readable(granted, before)
        return lost, task, task is None

    def _anything_due(self, wanted: Claim) -> bool:
        now = self.database.now()
        return self.database.read(lambda connection: claiming.anything_due(connection, now, wanted))

    def _readable(self, granted: Granted, before: int | None = None) -> ClaimedTask | None:
        """The claimed task with its params; None if they cannot be read, which fails it: a retry could not help.

        Args:
            granted: The claim.
            before: What `disturbances` was before it was made; None, where the caller's thread claims for others too.
        """
        try:
            params = decode(granted.params)
        except UNREADABLE as error:
            reason = {"type": "UnreadableParams", "message": f"the stored params are no JSON: {error}"}
            # If that fails too, the run comes back when its lease runs out. Other runs were claimed with it.
            with suppress(EngineError):
                self.fail_run(
                    run_id=granted.run_id, reason=reason, retryable=False, claim_token=granted.claim_token
                )
            return None
        if granted.fresh and before is not None:
            saw_fresh(self, granted.run_id, granted.claim_token, disturbances=before)
        return _claimed(*granted[:4], params, *granted[5:9])

    def seconds_until_due(self) -> float | None:
        """Seconds until the next sleeper is due or the next lease runs out, below zero if overdue; None if neither."""
        due = self.database.read(claiming.next_due)
        try:
            return None if due is None else seconds_between(self.database.now(), due)
        except UNREADABLE as error:
            raise unreadable(error, self.db_path, "the next due time") from error

    def complete_run(self, *, run_id: str, result: Any = None, claim_token: int | None = None) -> None:
        """Complete the run and its task.

        Args:
            run_id: The claimed run.
            result: What the task produced; any JSON value.
            claim_token: The token of the claim; inside a handler it is known.

        Raises:
            NotStorable: The result is no JSON value; the run goes on running.
            LeaseLost: The claim is no longer live.
            TaskCancelledError, TaskNotFound, InvalidRunState: The run is cancelled, unknown or not running.
        """
        token = self._token(run_id, claim_token)
        text = encode(result, f"the result of run {run_id}")
        self.database.write(lambda tx: settle.complete(tx, run_id, token, text))
        self._end_claim(run_id)

    def fail_run(
        self, *, run_id: str, reason: dict[str, Any], retryable: bool = True, claim_token: int | None = None
    ) -> None:
        """Fail the attempt, and schedule the next one if attempts remain.

        Args:
            run_id: The claimed run.
            reason: Why, as a JSON object; kept verbatim.
            retryable: False fails the task for good: a retry could not help.
            claim_token: The token of the claim; inside a handler it is known.

        Raises:
            NotStorable: The reason is no JSON value; the run goes on running.
            LeaseLost: The claim is no longer live.
            TaskCancelledError, TaskNotFound, InvalidRunState: The run is cancelled, unknown or not running.
        """
        token = self._token(run_id, claim_token)
        text = encode(reason, f"the failure reason of run {run_id}")
        self.database.write(lambda tx: settle.fail(tx, run_id, token, text, retryable=retryable))
        self._end_claim(run_id)

    def give_back_run(self, *, run_id: str, claim_token: int | None = None) -> None:
        """End the claim without having worked: the run is due now, and no attempt is charged.

        Raises:
            LeaseLost: The claim is no longer live.
            TaskCancelledError, TaskNotFound, InvalidRunState: The run is cancelled, unknown or not running.
        """
        token = self._token(run_id, claim_token)
        self.database.write(lambda tx: settle.give_back(tx, run_id, token))
        self._end_claim(run_id)

    def defer_run(self, *, run_id: str, claim_token: int | None = None) -> float:
        """Leave the run to other workers for a while: this one has no handler of its name.

        The while is 1 s, doubled by each deferral of the run up to 30 s, less up to a fifth at random.

        Returns:
            The while, in seconds.

        Raises:
            LeaseLost: The claim is no longer live.
            TaskCancelledError, TaskNotFound, InvalidRunState: The run is cancelled, unknown or not running.
        """
        token = self._token(run_id, claim_token)
        delay = self.database.write(lambda tx: settle.defer(tx, run_id, token))
        self._end_claim(run_id)
        return delay


def _spec(
    ids: list[str],
    /,
    *,
    name: str,
    params: Any,
    idempotency_key: str | None = None,
    retry: RetryStrategy | None = None,
    max_attempts: int | None = None,
    available_after: timedelta | None = None,
    priority: int = 0,
    queue: str = "default",
    steps: Sequence[str] | None = None,
    max_reclaims: int | None = None,
) -> Spawn:
    """The arguments of `spawn_task`, checked and encoded."""
    check_name(name, "a task's name")
    if retry is not None and not isinstance(retry, RetryStrategy):
        raise InvalidValue(f"retry must be a RetryStrategy, not {shown(retry)}")
    if available_after is not None and not isinstance(available_after, timedelta):
        raise InvalidValue(f"available_after must be a timedelta, not {shown(available_after)}")
    task_id, run_id = ids
    return Spawn(
        task_id,
        run_id,
        name,
        encode(params, f"the params of {name!r}"),
        optional_text(idempotency_key, "idempotency_key"),
        None if retry is None else encode(retry.to_dict(), "retry"),
        optional_whole(max_attempts, "max_attempts", least=1),
        0.0 if available_after is None else available_after.total_seconds(),
        whole(priority, "priority"),
        check_name(queue, "queue"),
        encode(several(steps, "steps"), "steps") if steps is not None else None,
        optional_whole(max_reclaims, "max_reclaims", least=0),
    )
