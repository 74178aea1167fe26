"""Calls that several threads make at the same moment, which the engine may serve in one transaction and in few statements.

Whatever it does, each must have gone as if they had come one after the other in some order. Workers' turns may part: all
of them may settle before the first of them claims.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Final
from unittest.mock import patch

from hypothesis import strategies as st

from conftest import wait_until
from dura import ClaimedTask, EngineError, current
from dura.store import events as event_store
from dura.store.claim import Claim
from dura.store.settle import Settlement
from model import outside, steps, tasks
from model.choices import VALUES, WANTED, callers, events, waits
from model.outside import Operator
from model.reading import read
from model.rows import TIMED_OUT
from model.side_by_side import move
from model.task_moves import TaskMoves, as_returned, terms

_LONG: Final = 1.234567
"""Seconds after which a claim looks after what is due, whenever the last one did."""


@dataclass(frozen=True)
class Part:
    """One thread's call."""

    what: str
    arguments: dict[str, Any]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self.what}({', '.join(f'{key}={value!r}' for key, value in self.arguments.items())})")


def _parts(what: str, /, **chosen: st.SearchStrategy[Any]) -> st.SearchStrategy[Part]:
    return st.fixed_dictionaries(chosen).map(lambda arguments: Part(what, arguments))


PARTS: Final = st.one_of(
    _parts("turn", who=callers(), result=st.one_of(VALUES, st.just("fails")), wanted=WANTED),
    _parts("turn", who=callers(), result=st.one_of(VALUES, st.just("fails")), wanted=WANTED),
    _parts("complete", who=callers(), result=VALUES),
    _parts("fail", who=callers(), result=VALUES),
    _parts("wait", what=waits()),
    _parts("emit", event=events()),
    _parts("cancel", who=callers()),
)


class CrowdMoves(TaskMoves):
    """Threads that stand in line at the door together."""

    @move(3, parts=st.lists(PARTS, min_size=2, max_size=3))
    def at_once(self, parts: list[Part]) -> None:
        if self.depth:
            return
        self.sound = False
        self.clock.advance(_LONG)
        self.latest_moment = max(self.latest_moment, self.now)
        self.asked_at[self.door].add(self.now)
        with patch.object(event_store, "_WAKE_BATCH", 500):  # an emit is one transaction here
            got = self.crowded([lambda part=part: self.real(part) for part in parts])  # type: ignore[misc]
        before = self.store
        for order in _orders(parts):
            self.store = deepcopy(before)
            if self.follow(order, parts, got):
                break
        else:
            self.store = before
            said = "\n".join(f"{part.what}: {outcome!r}" for part, outcome in zip(parts, got, strict=True))
            raise AssertionError(f"no order of the calls explains what they returned or left behind:\n{said}")
        for outcome in got:
            if isinstance(outcome, tuple) and isinstance(outcome[1], ClaimedTask):
                self.claims.append(outcome[1])
        if any(part.what == "turn" for part in parts):
            # A worker takes its turn when its handler has ended: nobody holds that claim again.
            current._last.run_id = ""

    def crowded(self, calls: list[Callable[[], Any]]) -> list[Any]:
        """What the calls return or raise, made by threads that stand in line one behind the other."""
        got: list[Any] = [None] * len(calls)

        def call(place: int) -> None:
            try:
                got[place] = calls[place]()
            except EngineError as error:
                got[place] = type(error)

        line = self.engine.database._door._line
        other = sqlite3.connect(self.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        threads = [threading.Thread(target=call, args=(place,)) for place in range(len(calls))]
        for place, thread in enumerate(threads):
            thread.start()
            wait_until(lambda place=place: len(line) == place + 1)  # type: ignore[misc]
        other.execute("ROLLBACK")
        other.close()
        for thread in threads:
            thread.join()
        return got

    def real(self, part: Part) -> Any:
        """Make the call on the engine."""
        engine, chosen = self.engine, part.arguments
        if part.what == "emit":
            emitted = engine.emit_event(event_name=chosen["event"])
            return emitted.first, set(emitted.woken)
        if part.what == "wait":
            who, step, event = chosen["what"]
            return engine.await_event(
                run_id=who.task.run_id, task_id=who.task.task_id, step_name=step, event_name=event, timeout_secs=30,
                claim_token=who.task.claim_token, on_timeout="late",
            )  # fmt: skip
        task = chosen["who"].task
        run: dict[str, Any] = {"run_id": task.run_id, "claim_token": task.claim_token}
        if part.what == "cancel":
            return engine.cancel_task(task.task_id)
        if part.what == "complete":
            return engine.complete_run(**run, result=chosen["result"])
        if part.what == "fail":
            return engine.fail_run(**run, reason={"n": chosen["result"]})
        result = chosen["result"]
        settlement = Settlement.of(
            task, result=None if result == "fails" else json.dumps(result), reason="{}"
        )
        queues, ceiling = terms(chosen["wanted"])
        lease = chosen["wanted"]["timeout_secs"]
        wanted = Claim(worker_id="w", lease_seconds=lease, queues=queues, max_priority=ceiling)
        lost, claimed = engine.settle_and_claim(settlement, wanted)
        return None if lost is None else type(lost), claimed

    def follow(self, order: list[tuple[int, str]], parts: list[Part], got: list[Any]) -> bool:
        """Whether the calls, made in this order, give what they gave and leave what they left."""
        settled: dict[int, Any] = {}
        for place, half in order:
            if half == "settle":
                settled[place] = self.ruled(lambda place=place: self.settle(parts[place]))  # type: ignore[misc]
            elif half == "claim":
                lost, claimed = got[place]
                if lost != settled[place] or claimed != self.claim_for(
                    parts[place].arguments["wanted"], claimed
                ):
                    return False
            elif self.ruled(lambda place=place: self.rule(parts[place])) != got[place]:  # type: ignore[misc]
                return False
        try:
            self.learn()
        except AssertionError:
            return False
        with self.reading() as connection:
            return read(connection) == self.store

    def ruled(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except EngineError as error:
            return type(error)

    def settle(self, part: Part) -> None:
        """The first half of a turn."""
        task, result = part.arguments["who"].task, part.arguments["result"]
        if result == "fails":
            self.failed(task.run_id, task.claim_token, "{}", retryable=True)
        else:
            tasks.complete(self.store, self.now, task.run_id, task.claim_token, json.dumps(result))

    def claim_for(self, wanted: dict[str, Any], claimed: ClaimedTask | None) -> ClaimedTask | None:
        """The second half of a turn. A run that another's failure has just made is known by what was claimed."""
        queues, ceiling = terms(wanted)
        lease = wanted["timeout_secs"]
        found = tasks.claim(
            self.store, self.now, worker="w", lease=lease, queues=queues, ceiling=ceiling, look=True
        )
        if found is None:
            return None
        task, run = found
        if claimed is not None and (task.task_id, run.attempt) == (claimed.task_id, claimed.attempt):
            run.run_id = run.run_id or claimed.run_id
        return as_returned(task, run)

    def rule(self, part: Part) -> Any:
        """What the rules say of a call that is no turn."""
        store, now, chosen = self.store, self.now, part.arguments
        if part.what == "emit":
            return outside.emit_as(store, now, chosen["event"], "null", Operator())
        if part.what == "wait":
            who, step, event = chosen["what"]
            task = who.task
            outcome = steps.wait(store, now, task.run_id, task.claim_token, task.task_id, step, event, 30)
            return (True, None) if outcome is None else (False, _decoded(outcome))
        task = chosen["who"].task
        if part.what == "cancel":
            return outside.cancel(store, now, task.task_id, Operator())
        if part.what == "complete":
            return tasks.complete(store, now, task.run_id, task.claim_token, json.dumps(chosen["result"]))
        return self.failed(task.run_id, task.claim_token, json.dumps({"n": chosen["result"]}), retryable=True)


def _orders(parts: list[Part]) -> Iterator[list[tuple[int, str]]]:
    """Every order of the calls, turns parted in two; first that in which they came, all settling before all claiming."""
    halves = [(place, "settle" if part.what == "turn" else "whole") for place, part in enumerate(parts)]
    halves += [(place, "claim") for place, part in enumerate(parts) if part.what == "turn"]
    for order in permutations(halves):
        if all(
            order.index((place, "settle")) < order.index((place, half))
            for place, half in order
            if half == "claim"
        ):
            yield list(order)


def _decoded(outcome: str) -> Any:
    return "late" if outcome == TIMED_OUT else json.loads(outcome)
