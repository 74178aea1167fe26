"""Engine and model side by side: one call on both at a time, whose results must be the same."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from conftest import ManualClock
from dura import ClaimedTask, DurableEngine, EngineError
from dura.current import holding
from dura.monitor import Monitor
from model import tasks
from model.choices import GHOST, Who
from model.rows import Store

R = TypeVar("R")
M = TypeVar("M")
F = TypeVar("F", bound=Callable[..., None])

MOVES: Final[dict[str, st.SearchStrategy[Move]]] = {}
_WEIGHTED: Final[list[str]] = []


@dataclass(frozen=True)
class Move:
    """One call with its arguments."""

    name: str
    arguments: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.arguments.items())})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


class BoomError(Exception):
    """What a user's function raises."""


def move(weight: int = 2, /, **chosen: st.SearchStrategy[Any]) -> Callable[[F], F]:
    """A call that the machine may make, also while a step's function runs or a state update is open."""

    def mark(function: F) -> F:
        name = function.__name__
        MOVES[name] = st.fixed_dictionaries(chosen).map(lambda arguments: Move(name, arguments))
        # Hypothesis likes the first of a list: let that be a call from which others follow.
        _WEIGHTED[:] = sorted([*_WEIGHTED, *[name] * weight], key=lambda name: name != "claim")
        return function

    return mark


@st.composite
def moves(draw: st.DrawFn) -> Move:
    """Any call; more claims where nobody holds anything and something could be claimed."""
    machine: SideBySide = draw(st.runner())
    idle = tasks.best(machine.store, None, None) is not None and not any(map(machine.is_live, machine.claims))
    return draw(MOVES["claim" if idle and draw(st.booleans()) else draw(st.sampled_from(_WEIGHTED))])


class SideBySide(RuleBasedStateMachine):
    """Two engines on one file, the holders that claimed from it, and the model of the file."""

    def __init__(self, folder: Path, done: Counter[str]) -> None:
        super().__init__()
        self.done = done
        """How many calls were made, by name."""
        self.done["machines"] += 1
        self.path = folder / "store.db"
        self.blank = folder / "blank.db"
        self.clock = ManualClock()
        self.store = Store()
        self.claims: list[ClaimedTask] = []
        self.granted: dict[str, int] = {}
        self.requeued: set[str] = set()
        self.cleaned = False
        self.before = Store()
        self.doors: list[DurableEngine] = []
        self.door = 0
        self.asked_at: dict[int, set[datetime]] = {0: set(), 1: set()}
        self.due_between: dict[tuple[str, int], tuple[datetime, datetime]] = {}
        self.holding: list[tuple[DurableEngine, ClaimedTask]] = []
        self.depth = self.inside = self.calls = 0
        self.sound = False
        self.latest_moment = self.clock.moment
        self.connection: sqlite3.Connection | None = None
        self.monitor = Monitor(self.path, clock=self.clock)

    def opened(self) -> DurableEngine:
        return DurableEngine(self.path, clock=self.clock, synchronous="NORMAL", busy_timeout_ms=20_000)

    @property
    def engine(self) -> DurableEngine:
        return self.doors[self.door]

    @property
    def now(self) -> datetime:
        return self.clock.moment

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        if self.connection is None:
            self.connection = sqlite3.connect(self.path, isolation_level=None)
        yield self.connection

    @rule(what=moves())
    def step(self, what: Move) -> None:
        self.done[what.name] += 1
        getattr(self, what.name)(**what.arguments)

    def both(self, real: Callable[[], R], model: Callable[[], M]) -> tuple[R, M] | None:
        """Make the call on both. Returns what they returned; None if both raised the same error."""
        self.sound = False
        self.calls += 1
        got, raised = _outcome(real)
        expected, ruled = _outcome(model)
        assert type(raised) is type(ruled), (
            f"the engine: {raised!r} {got!r}, the rules: {ruled!r} {expected!r}"
        )
        self.learn()
        return None if raised is not None else (got, expected)  # type: ignore[return-value]

    def learn(self) -> None:
        """Learn the ids of runs that the engine made by itself, and the due times that it chose within the rules."""
        for task, run in self.store.runs():
            if run.run_id:
                continue
            found = self.asked(
                "SELECT run_id, available_at FROM runs WHERE task_id = ? AND attempt = ?",
                task.task_id,
                run.attempt,
            )
            assert found is not None, f"there is no attempt {run.attempt} of task {task.task_id}"
            run.run_id, run.available_at = found[0], datetime.fromisoformat(found[1])
            earliest, latest = self.due_between.pop((task.task_id, run.attempt))
            assert earliest <= run.available_at <= latest, (
                f"due at {found[1]}, the rules say {earliest} to {latest}"
            )
            for entry in self.store.audit:
                entry["run"] = run.run_id if entry["run"] is run else entry["run"]

    def asked(self, sql: str, *values: object) -> Any:
        """A row, as the engine sees it in the transaction that it may have open."""
        return self.engine.database.read(lambda connection: connection.execute(sql, values).fetchone())

    def is_live(self, task: ClaimedTask) -> bool:
        """Whether the claim is the one that holds its run."""
        try:
            tasks.held(self.store, task.run_id, task.claim_token)
        except EngineError:
            return False
        return True

    @contextmanager
    def acting(self, who: Who) -> Iterator[tuple[dict[str, Any], int | None]]:
        """The arguments by which the engine is told who calls, and the token that the model should see."""
        token = who.task.claim_token
        if who.how == "context":
            with holding(self.engine, who.task):
                self.holding.append((self.engine, who.task))
                try:
                    yield {}, token
                finally:
                    self.holding.pop()
        elif who.how == "nobody":
            engine, claim = self.holding[-1] if self.holding else (None, GHOST)
            current = engine is self.engine and claim.run_id == who.task.run_id
            yield {}, claim.claim_token if current else None
        else:
            assert token is not None
            token += who.how == "forged"
            yield {"claim_token": token}, token

    def meanwhile(self, data: st.DataObject) -> None:
        """What others do while a function runs."""
        if self.depth > 2:
            return
        self.depth += 1
        try:
            for _ in range(data.draw(st.integers(0, 3), label="moves meanwhile")):
                self.step(data.draw(moves(), label="meanwhile"))
        finally:
            self.depth -= 1


def _outcome(call: Callable[[], R]) -> tuple[R | None, EngineError | None]:
    try:
        return call(), None
    except EngineError as error:
        return None, error
