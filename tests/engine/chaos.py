"""Random holders on a moving clock, and what must be true after each of their steps.

`Chaos` does one random thing at a time to a real store. Before each it reads from the file what the rules say about it
(whose claim is live, which run is best), and after it compares.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from conftest import ManualClock, dump, rows
from dura import (
    ClaimedTask,
    DurableEngine,
    EngineError,
    LeaseLost,
    RetryStrategy,
    StepConflict,
    TaskCancelledError,
    TaskNotFound,
    WorkflowSuspended,
)

QUEUES = ("default", "bank", "mail")
EVENTS = ("e0", "e1", "e2")
STEPS = ("s0", "s1", "s2", "s3")
TERMINAL = ("completed", "failed", "cancelled")


class Chaos:
    """A store, the claims that its holders believe to have, and the facts of the step before."""

    def __init__(self, engine: DurableEngine, clock: ManualClock, path: Path, seed: int) -> None:
        self.engine, self.clock, self.path = engine, clock, path
        self.chance = random.Random(seed)
        self.holders: list[ClaimedTask] = []
        self.task_ids: list[str] = []
        self.log: list[str] = []
        self.facts = self._facts()

    def step(self) -> None:
        """Do one thing and check what must be true after anything."""
        what: Callable[[], None] = self.chance.choices(
            [self._spawn, self._claim, self._hold, self._operate, self._emit, self._tick, self._clean],
            [4, 8, 14, 4, 3, 6, 1],
        )[0]
        self.log.append(what.__name__)
        what()
        findings = self.engine.check()
        assert findings == (), findings
        before, self.facts = self.facts, self._facts()
        self._compare(before, requeued=what == self._operate, removed=what == self._clean)

    # --- the things that are done --------------------------------------------------------------------------------------

    def _spawn(self) -> None:
        pick = self.chance.choice
        ref = self.engine.spawn_task(
            name=pick("ab"), params=len(self.task_ids), queue=pick(QUEUES), priority=pick((-1, 0, 0, 5)),
            idempotency_key=pick((None, None, "k1", "k2")), max_attempts=pick((None, 1, 3)),
            max_reclaims=pick((None, 0, 2)), available_after=pick((None, None, timedelta(seconds=7))),
            retry=pick((None, RetryStrategy(kind="fixed", base_seconds=5), RetryStrategy(kind="exponential", base_seconds=1))),
        )  # fmt: skip
        if ref.created:
            self.task_ids.append(ref.task_id)

    def _claim(self) -> None:
        queue: Any = self.chance.choice((None, None, "bank", ("mail", "default")))
        lane = self.chance.choice((None, None, 0))
        tokens = dict(rows(self.path, "SELECT run_id, claim_token FROM runs"))
        task = self.engine.claim_task(
            worker_id="w", timeout_secs=self.chance.choice((1, 10, 60)), queue=queue, max_priority=lane
        )
        names = QUEUES if queue is None else (queue,) if isinstance(queue, str) else queue
        left = rows(
            self.path,
            "SELECT -priority, available_at, rowid FROM runs WHERE state = 'pending' AND priority <= ? "
            f"AND queue IN ({', '.join(repr(name) for name in names)})",
            2**62 if lane is None else lane,
        )
        if task is None:
            assert left == []
            return
        taken = rows(
            self.path, "SELECT -priority, available_at, rowid FROM runs WHERE run_id = ?", task.run_id
        )
        assert all(taken[0] < other for other in left), "a better run was left"
        assert task.queue in names
        assert task.claim_token == tokens[task.run_id] + 1
        self.holders.append(task)

    def _hold(self) -> None:
        """A call of a holder, who may long have lost its claim."""
        if not self.holders:
            return
        task = self.chance.choice(self.holders[-6:])
        expected = self._standing(task)
        name, call = self.chance.choice(self._calls(task))
        self.log[-1] = f"{name} by a holder that is {expected.__name__ if expected else 'live'}"
        before = dump(self.path)
        outcome: type[EngineError] | None = None
        try:
            call()
        except (StepConflict, WorkflowSuspended):
            pass  # how a live holder's call may end too
        except EngineError as error:
            outcome = type(error)
        assert outcome is expected, f"{name} ended in {outcome}, the rules say {expected}"
        if expected is not None:
            assert dump(self.path) == before

    def _calls(self, task: ClaimedTask) -> list[tuple[str, Callable[[], object]]]:
        engine, pick = self.engine, self.chance.choice
        run: dict[str, Any] = {"run_id": task.run_id, "claim_token": task.claim_token}
        step: dict[str, Any] = {"task_id": task.task_id, "step_name": pick(STEPS)}
        value, seconds, event = pick((1, None, [1])), pick((None, -1, 0, 4, 30)), pick(EVENTS)
        token = task.claim_token
        return [
            ("complete", lambda: engine.complete_run(**run, result=value)),
            ("fail", lambda: engine.fail_run(**run, reason={"n": value})),
            ("fail for good", lambda: engine.fail_run(**run, reason={}, retryable=False)),
            ("give back", lambda: engine.give_back_run(**run)),
            ("defer", lambda: engine.defer_run(**run)),
            ("extend", lambda: engine.extend_claim(**run, by_secs=20)),
            ("wait", lambda: engine.wait_for_event(**run, **step, event_name=event, timeout_secs=seconds)),
            ("wait", lambda: engine.wait_for_event(**run, **step, event_name=event, timeout_secs=seconds)),
            ("sleep", lambda: engine.sleep(**run, **step, seconds=seconds or 0)),
            ("step", lambda: engine.checkpoint(**step, fn=lambda: value, owner_run_id=task.run_id, claim_token=token)),
        ]  # fmt: skip

    def _standing(self, task: ClaimedTask) -> type[EngineError] | None:
        """The error that the rules have for the holder; None if its claim is live."""
        found = rows(self.path, "SELECT state, claim_token FROM runs WHERE run_id = ?", task.run_id)
        if not found:
            return TaskNotFound
        if found[0][0] == "cancelled":
            return TaskCancelledError
        return None if found == [("running", task.claim_token)] else LeaseLost

    def _operate(self) -> None:
        if not self.task_ids:
            return
        task_id, pick = self.chance.choice(self.task_ids), self.chance.choice
        seen = pick((None, *(task.run_id for task in self.holders[-3:])))
        calls: list[Callable[[], object]] = [
            lambda: self.engine.cancel_task(task_id, actor=pick((None, "ana")), seen_run_id=seen),
            lambda: self.engine.requeue_task(task_id, keep_checkpoints=pick((True, False)), seen_run_id=seen),
            lambda: self.engine.requeue_task(task_id, from_step=pick(STEPS), actor="ana"),
            lambda: self.engine.wake_task(task_id, seen_run_id=seen),
            lambda: self.engine.cancel_duplicate_tasks("a") if pick((False, False, True)) else None,
        ]
        before = dump(self.path)
        try:
            pick(calls)()
        except EngineError:
            assert dump(self.path) == before, "a refused action changed something"

    def _emit(self) -> None:
        event = self.chance.choice(EVENTS)
        known = bool(rows(self.path, "SELECT 1 FROM events WHERE event_name = ?", event))
        parked = rows(
            self.path,
            "SELECT r.task_id FROM runs r JOIN waits w ON w.run_id = r.run_id AND w.event_name = r.wake_event "
            "WHERE r.wake_event = ? AND (w.timeout_at IS NULL OR w.timeout_at >= ?) ORDER BY w.rowid",
            event,
            self.clock.moment.isoformat(timespec="microseconds"),
        )
        emitted = self.engine.emit_event(event_name=event, payload=self.chance.choice((None, 1)))
        assert emitted.first is not known
        assert set(emitted.woken) == (set() if known else {task_id for (task_id,) in parked})
        assert len(set(emitted.woken)) == len(emitted.woken)

    def _tick(self) -> None:
        self.clock.advance(self.chance.choice((0, 0.5, 1, 3, 10, 40, -5)))

    def _clean(self) -> None:
        self.engine.cleanup(timedelta(seconds=self.chance.choice((0, 30))))

    # --- what stays ----------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, dict[Any, Any]]:
        return {
            "tasks": {row[0]: row[1:] for row in rows(self.path, "SELECT task_id, state, attempts FROM tasks")},
            "runs": {row[0]: row[1:] for row in rows(self.path, "SELECT run_id, state, claim_token, reclaims FROM runs")},
            "steps": {row[:2]: row[2:] for row in rows(self.path, "SELECT * FROM checkpoints")},
            "waits": {row[1:3]: row[3:] for row in rows(self.path, "SELECT * FROM waits")},
            "events": {row[0]: row[1:] for row in rows(self.path, "SELECT * FROM events")},
        }  # fmt: skip

    def _compare(self, before: dict[str, dict[Any, Any]], *, requeued: bool, removed: bool) -> None:
        now = self.facts
        for task_id, (state, attempts) in before["tasks"].items():
            if task_id in now["tasks"]:
                assert now["tasks"][task_id][1] >= attempts
                if state in TERMINAL and not requeued:
                    assert now["tasks"][task_id] == (state, attempts), "a final task came back"
                if state == "completed":
                    assert now["tasks"][task_id] == (state, attempts), "a completed task changed"
            else:
                assert removed
                assert state in TERMINAL
        for run_id, (state, token, reclaims) in before["runs"].items():
            if run_id in now["runs"]:
                assert now["runs"][run_id][1:] >= (token, reclaims)
                if state in TERMINAL:
                    assert now["runs"][run_id][0] == state, "a final run came back"
        for key in ("steps", "events"):
            for name, found in before[key].items():
                if name in now[key] or not (requeued or removed):
                    assert now[key].get(name) == found, f"{key} are written once"
        for step, found in before["waits"].items():
            if step in now["waits"] and not requeued:
                assert now["waits"][step] == found, "a deadline moved"
