"""The machine: every call of the engine in any order, and after each all that can be seen is what the rules say."""

from __future__ import annotations

import shutil
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant

from model import laws
from model.choices import EVENTS, SPAWNS, TICKS, moments
from model.crowd_moves import CrowdMoves
from model.outside_moves import MemoryMoves
from model.reading import read
from model.rows import SLEEP, Store
from model.shown import check_reads, check_views
from model.side_by_side import move
from model.step_moves import StepMoves

RELEASE_1_3_0: Final = Path(__file__).parents[1] / "fixtures" / "store-1.3.0.db"


class Machine(CrowdMoves, StepMoves, MemoryMoves):
    """A store from its first day, or from its upgrade, to its last task."""

    @initialize(old=st.sampled_from((False,) * 7 + (True,)), wanted=st.lists(SPAWNS, max_size=5))
    def begin(self, old: bool, wanted: list[dict[str, Any]]) -> None:
        """A new store, or one that dura 1.3.0 wrote and that is upgraded by opening it."""
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        shutil.copy(RELEASE_1_3_0 if old else self.blank, self.path)
        if old:
            self.clock.moment = self.latest_moment = datetime(2026, 1, 5, 9, 8, tzinfo=UTC)
        self.doors = [self.opened(), self.opened()]
        if old:
            with self.reading() as connection:
                self.store = read(connection)
            self.store.births = 1 + max(run.born for _, run in self.store.runs())
            self.granted = {
                task.task_id: task.max_attempts for task in self.store.tasks.values() if task.max_attempts
            }
        self.before = deepcopy(self.store)
        self.spawn_many(wanted, spoilt=False)

    @move(3, seconds=TICKS)
    def tick(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.latest_moment = max(self.latest_moment, self.now)

    @move(6, moment=moments())
    def let_something_be_due(self, moment: datetime) -> None:
        self.clock.moment = moment
        self.latest_moment = max(self.latest_moment, self.now)

    @move(1)
    def use_the_other_door(self) -> None:
        if not self.inside:
            self.door = 1 - self.door

    @move(1)
    def reopen(self) -> None:
        if self.depth:
            return
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        self.monitor.close()
        for engine in self.doors:
            engine.close()
        assert not self.path.with_name("store.db-wal").exists(), "the log stays though everything is closed"
        self.doors = [self.opened(), self.opened()]
        self.asked_at = {0: set(), 1: set()}

    @invariant()
    def the_store_is_what_the_rules_say(self) -> None:
        with self.reading() as connection:
            found = read(connection)
        assert found == self.store, _difference(found, self.store)
        for task_id, task in found.tasks.items():
            assert task.finished_order() == self.store.tasks[task_id].finished_order()
        laws.check(
            self.before,
            found,
            requeued=self.requeued,
            cleaned=self.cleaned,
            alone=self.calls <= 1,
            granted=self.granted,
        )
        assert self.engine.check() == ()
        check_reads(self.engine, self.store, self.now)
        chosen = next(
            (key for key in self.store.tasks if self.before.tasks.get(key) != self.store.tasks[key]), None
        )
        check_views(self.monitor, self.store, self.now, chosen)
        self.before, self.requeued, self.cleaned, self.calls = found, set(), False, 0
        self.sound = True

    def teardown(self) -> None:
        """Once the clock has caught up, all that can end does end: nothing is lost."""
        try:
            if self.sound:
                self.drain()
        finally:
            if self.connection is not None:
                self.connection.close()
            self.monitor.close()
            for engine in self.doors:
                engine.close()

    def drain(self) -> None:
        """Follow the engine's own word for when something is due, and complete what can be claimed."""
        self.clock.moment = self.latest_moment
        for event in (*EVENTS, *(run.event for _, run in self.store.runs() if run.event)):
            if event != SLEEP:
                self.engine.emit_event(event_name=event)
        for _ in range(20 + 4 * len(self.store.tasks)):
            while (task := self.engine.claim_task(worker_id="drain")) is not None:
                self.engine.complete_run(run_id=task.run_id, claim_token=task.claim_token)
            left = self.engine.seconds_until_due()
            if left is None:
                break
            self.clock.advance(max(left, 0))
        live = set(self.engine.task_counts_by_state()) & {"pending", "running", "sleeping"}
        assert not live, "what can finish does not finish"
        assert self.engine.check() == ()


def _difference(found: Store, expected: Store) -> str:
    """Where two stores differ, thing by thing."""
    lines = []
    for what in ("tasks", "events", "memory"):
        real, model = getattr(found, what), getattr(expected, what)
        for key in sorted(real.keys() | model.keys()):
            if real.get(key) != model.get(key):
                lines += [f"{what} {key}:", f"  engine {real.get(key)}", f"  rules  {model.get(key)}"]
    if found.audit != expected.audit:
        lines += ["audit:", f"  engine {found.audit}", f"  rules  {expected.audit}"]
    return "\n".join(lines)
