"""Calls that spawn, claim and settle, on engine and model."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

from hypothesis import strategies as st

from dura import ClaimedTask, EngineError, InvalidValue, NotStorable
from model import tasks
from model.choices import SPAWNS, VALUES, WANTED, Who, callers
from model.rows import Run, Task
from model.side_by_side import SideBySide, move

_WITHIN: Final = timedelta(seconds=0.05)
"""While there is pending work, what is due is looked after this often."""


class TaskMoves(SideBySide):
    """Spawn, claim, and the ways to settle a claim."""

    @move(5, wanted=SPAWNS)
    def spawn(self, wanted: dict[str, Any]) -> None:
        done = self.both(lambda: self.engine.spawn_task(**wanted), lambda: self.now)
        assert done is not None
        self.spawned(wanted, done[0])

    @move(1, wanted=st.lists(SPAWNS, max_size=4), spoilt=st.sampled_from((False, False, True)))
    def spawn_many(self, wanted: list[dict[str, Any]], spoilt: bool) -> None:
        if spoilt:
            bad = [*wanted, {"name": "a", "params": float("nan")}]
            assert self.both(lambda: self.engine.spawn_many(bad), lambda: _raise(InvalidValue)) is None
            return
        for arguments, ref in zip(wanted, self.engine.spawn_many(wanted), strict=True):
            self.spawned(arguments, ref)

    def spawned(self, wanted: dict[str, Any], ref: Any) -> None:
        """Check what the engine returned, one task at a time."""
        retry = wanted.get("retry")
        spec = tasks.Spawn(
            name=wanted["name"], params=json.dumps(wanted["params"]), queue=wanted.get("queue", "default"),
            priority=wanted.get("priority", 0), key=wanted.get("idempotency_key"), steps=wanted.get("steps"),
            retry=None if retry is None else retry.to_dict(), max_attempts=wanted.get("max_attempts"),
            max_reclaims=wanted.get("max_reclaims"), delay=wanted.get("available_after") or timedelta(0),
        )  # fmt: skip
        task, created = tasks.spawn(self.store, self.now, spec, ref.task_id, ref.run_id)
        expected = (task.task_id, task.latest.run_id, task.latest.attempt, created)
        assert (ref.task_id, ref.run_id, ref.attempt, ref.created) == expected
        if created and spec.max_attempts is not None:
            self.granted[task.task_id] = spec.max_attempts

    @move(12, wanted=WANTED)
    def claim(self, wanted: dict[str, Any]) -> None:
        due = self.due(wanted)
        done = self.both(
            lambda: self.engine.claim_task(worker_id="w", **wanted), lambda: self.claimed(wanted, due)
        )
        assert done is not None
        self.took(*done)

    def due(self, wanted: dict[str, Any]) -> tuple[bool, list[tuple[Run, str, int]]]:
        """Whether a claim must look after what is due, and that."""
        pending = tasks.best(self.store, *terms(wanted))
        lately = any(at <= self.now < at + _WITHIN for at in self.asked_at[self.door])
        must = pending is None or not lately
        self.asked_at[self.door].add(self.now)
        return must, [(run, run.state, run.token) for _, run in tasks.overdue(self.store, self.now)]

    def claimed(
        self, wanted: dict[str, Any], due: tuple[bool, list[tuple[Run, str, int]]]
    ) -> tuple[Task, Run] | None:
        must, overdue = due
        look = must
        if not must and overdue:
            run, *was = overdue[0]
            found = self.asked("SELECT state, claim_token FROM runs WHERE run_id = ?", run.run_id)
            look = list(found) != was
        queues, ceiling = terms(wanted)
        lease = wanted["timeout_secs"]
        return tasks.claim(
            self.store, self.now, worker="w", lease=lease, queues=queues, ceiling=ceiling, look=look
        )

    def took(self, got: ClaimedTask | None, expected: tuple[Task, Run] | None) -> None:
        assert (got is None) is (expected is None), f"the engine claimed {got}, the rules say {expected}"
        if got is None or expected is None:
            return
        task, run = expected
        assert got == as_returned(task, run)
        assert all(
            (got.run_id, got.claim_token) != (claim.run_id, claim.claim_token) for claim in self.claims
        )
        self.claims.append(got)

    @move(2, who=callers(), value=VALUES)
    def complete(self, who: Who, value: Any) -> None:
        run_id = who.task.run_id
        with self.acting(who) as (told, token):
            self.both(
                lambda: self.engine.complete_run(run_id=run_id, result=value, **told),
                lambda: tasks.complete(self.store, self.now, run_id, token, json.dumps(value)),
            )

    @move(1, who=callers())
    def complete_with_what_cannot_be_stored(self, who: Who) -> None:
        with self.acting(who) as (told, _):
            self.both(
                lambda: self.engine.complete_run(run_id=who.task.run_id, result={1, 2}, **told),
                lambda: _raise(NotStorable),
            )

    @move(6, who=callers(), value=VALUES, retryable=st.sampled_from((True, True, True, False)))
    def fail(self, who: Who, value: Any, retryable: bool) -> None:
        run_id, reason = who.task.run_id, {"message": value}
        with self.acting(who) as (told, token):
            self.both(
                lambda: self.engine.fail_run(run_id=run_id, reason=reason, retryable=retryable, **told),
                lambda: self.failed(run_id, token, json.dumps(reason), retryable=retryable),
            )

    @move(2, times=st.integers(1, 10), pause=st.sampled_from((0, 11)))
    def wear_out(self, times: int, pause: float) -> None:
        """Fail whatever is held, claim again, and so on, until backoffs reach their caps and hot loops are slowed down."""
        for _ in range(times):
            for task in filter(self.is_live, list(self.claims)):
                self.fail(Who(task, "token"), None, retryable=True)
            self.clock.advance(pause)
            self.latest_moment = max(self.latest_moment, self.now)
            self.claim({"timeout_secs": 60})

    def failed(self, run_id: str, token: int | None, reason: str, *, retryable: bool) -> None:
        between = tasks.fail(self.store, self.now, run_id, token, reason, retryable=retryable)
        if between is not None:
            task, run = self.store.run(run_id)
            self.due_between[task.task_id, run.attempt + 1] = between

    @move(2, who=callers())
    def give_back(self, who: Who) -> None:
        run_id = who.task.run_id
        with self.acting(who) as (told, token):
            self.both(
                lambda: self.engine.give_back_run(run_id=run_id, **told),
                lambda: tasks.give_back(self.store, self.now, run_id, token),
            )

    @move(2, who=callers())
    def defer(self, who: Who) -> None:
        run_id = who.task.run_id
        with self.acting(who) as (told, token):
            done = self.both(
                lambda: self.engine.defer_run(run_id=run_id, **told),
                lambda: tasks.defer(self.store, self.now, run_id, token),
            )
        if done is not None:
            seconds, (run, shortest, longest) = done
            assert shortest <= seconds <= longest
            run.available_at = self.now + timedelta(seconds=seconds)


def _raise(error: type[EngineError]) -> None:
    raise error


def terms(wanted: dict[str, Any]) -> tuple[tuple[str, ...] | None, int | None]:
    """Which queues, each once as the public calls pass them on, and up to which priority."""
    queue = wanted.get("queue")
    queues = (queue,) if isinstance(queue, str) else queue and tuple(dict.fromkeys(queue))
    return queues, wanted.get("max_priority")


def as_returned(task: Task, run: Run) -> ClaimedTask:
    """The run as a claim hands it out."""
    return ClaimedTask(
        run_id=run.run_id, task_id=task.task_id, attempt=run.attempt, name=task.name, params=json.loads(task.params),
        claim_token=run.token, queue=task.queue, reclaims=run.reclaims, deferrals=run.deferrals,
    )  # fmt: skip
