"""Calls from outside a task, and the memory that outlives tasks, on engine and model."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from dura import NotStorable, StoreBusy
from model import outside
from model.choices import LEASES, NAMES, RETENTIONS, VALUES, Who, callers, events, operators, task_ids
from model.outside import Operator
from model.rows import LIVE, Run, Value
from model.side_by_side import BoomError, SideBySide, move


class OutsideMoves(SideBySide):
    """Emit, extend, cancel, requeue, wake, cleanup."""

    @move(4, data=st.data(), event=events(), value=VALUES, seen=st.sampled_from((False, False, True)))
    def emit(self, data: st.DataObject, event: str, value: Any, seen: bool) -> None:
        by = data.draw(operators(data.draw(task_ids("sleeping")), tokens=False)) if seen else Operator()
        done = self.both(
            lambda: self.engine.emit_event(
                event_name=event, payload=value, actor=by.actor, reason=by.reason, seen_run_id=by.run_id
            ),
            lambda: outside.emit_as(self.store, self.now, event, json.dumps(value), by),
        )
        if done is not None:
            assert (done[0].first, set(done[0].woken)) == done[1]
            assert len(set(done[0].woken)) == len(done[0].woken)

    @move(3, data=st.data(), who=callers(), seconds=LEASES)
    def extend(self, data: st.DataObject, who: Who, seconds: float) -> None:
        run_id = who.task.run_id
        by = data.draw(operators(who.task.task_id))
        with self.acting(who) as (told, token):
            done = self.both(
                lambda: self.engine.extend_claim(
                    run_id=run_id,
                    by_secs=seconds,
                    actor=by.actor,
                    reason=by.reason,
                    seen_claim_token=by.token,
                    **told,
                ),
                lambda: outside.extend(self.store, self.now, run_id, token, seconds, by),
            )
        assert done is None or done[0] == done[1]

    @move(2, data=st.data(), task_id=task_ids(*LIVE))
    def cancel(self, data: st.DataObject, task_id: str) -> None:
        by = data.draw(operators(task_id))
        self.both(
            lambda: self.engine.cancel_task(
                task_id, actor=by.actor, reason=by.reason, seen_run_id=by.run_id, seen_claim_token=by.token
            ),
            lambda: outside.cancel(self.store, self.now, task_id, by),
        )

    @move(1, name=NAMES)
    def cancel_duplicates(self, name: str) -> None:
        done = self.both(
            lambda: self.engine.cancel_duplicate_tasks(name),
            lambda: outside.cancel_duplicates(self.store, self.now, name),
        )
        assert done is not None
        assert done[0] == done[1]

    @move(
        5,
        data=st.data(),
        task_id=task_ids("failed", "cancelled"),
        how=st.sampled_from(("keep", "scratch", "from", "odd")),
    )
    def requeue(self, data: st.DataObject, task_id: str, how: str) -> None:
        by = data.draw(operators(task_id, tokens=False))
        task = self.store.tasks.get(task_id)
        finished = list(task.checkpoints) if task and how == "from" else []
        step = data.draw(st.sampled_from(finished or ["s0"])) if how in ("from", "odd") else None

        self.requeued_by(by, task_id, keep=how != "scratch", from_step=step)

    def requeued_by(self, by: Operator, task_id: str, *, keep: bool, from_step: str | None) -> None:
        def model() -> Run:
            run = outside.requeue(self.store, self.now, task_id, by, keep=keep, from_step=from_step)
            self.due_between[task_id, run.attempt] = (self.now, self.now)
            self.requeued.add(task_id)
            if task_id in self.granted:
                self.granted[task_id] = max(self.granted[task_id], run.attempt)
            return run

        done = self.both(
            lambda: self.engine.requeue_task(
                task_id, keep_checkpoints=keep, from_step=from_step, actor=by.actor, reason=by.reason,
                seen_run_id=by.run_id,
            ),
            model,
        )  # fmt: skip
        if done is not None:
            assert (done[0].run_id, done[0].attempt, done[0].created) == (
                done[1].run_id,
                done[1].attempt,
                True,
            )

    @move(2, data=st.data(), task_id=task_ids("sleeping"))
    def wake(self, data: st.DataObject, task_id: str) -> None:
        by = data.draw(operators(task_id, tokens=False))
        done = self.both(
            lambda: self.engine.wake_task(task_id, actor=by.actor, reason=by.reason, seen_run_id=by.run_id),
            lambda: outside.wake(self.store, self.now, task_id, by),
        )
        assert done is None or (done[0].run_id, done[0].created) == (done[1].run_id, False)

    @move(1, retention=RETENTIONS)
    def cleanup(self, retention: timedelta) -> None:
        self.cleaned = True
        done = self.both(
            lambda: self.engine.cleanup(retention), lambda: outside.cleanup(self.store, self.now, retention)
        )
        assert done is not None
        assert done[0] == done[1]

    @move(1)
    def compact(self) -> None:
        """It changes nothing that can be seen, or is refused to who does not have the store to itself."""
        if not self.inside:
            with suppress(StoreBusy):
                self.engine.compact()


class MemoryMoves(SideBySide):
    """State."""

    @move(1, key=st.sampled_from("xy"), value=VALUES)
    def set_state(self, key: str, value: Any) -> None:
        self.engine.set_state(namespace="n", key=key, value=value)
        self.store.memory["n", key] = Value(json.dumps(value), self.now)

    @move(1, key=st.sampled_from("xy"))
    def delete_state(self, key: str) -> None:
        assert self.engine.delete_state(namespace="n", key=key) is (("n", key) in self.store.memory)
        self.store.memory.pop(("n", key), None)

    @move(
        3,
        data=st.data(),
        key=st.sampled_from("xy"),
        value=VALUES,
        ending=st.sampled_from(("value", "value", "raise", "set")),
    )
    def update_state(self, data: st.DataObject, key: str, value: Any, ending: str) -> None:
        """What the function does on the engine joins the transaction, and is undone with it."""
        began, known = self.now, self.store.memory.get(("n", key))
        saved = deepcopy((self.store, self.granted)), list(self.claims)

        def fn(present: Any) -> Any:
            assert present == (json.loads(known.value) if known else "none")
            self.inside += 1
            try:
                self.meanwhile(data)
                assert self.engine.check() == ()
            finally:
                self.inside -= 1
            if ending == "raise":
                raise BoomError
            return {1} if ending == "set" else value

        def real() -> Any:
            try:
                return self.engine.update_state(namespace="n", key=key, fn=fn, default="none")
            except BoomError:
                return BoomError

        def model() -> Any:
            if ending != "value":
                (self.store, self.granted), self.claims = saved
                if ending == "raise":
                    return BoomError
                raise NotStorable
            self.store.memory["n", key] = Value(json.dumps(value), began)
            return value

        done = self.both(real, model)
        assert done is None or done[0] == done[1]
