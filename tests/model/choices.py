"""What the machine may choose: values for arguments, and whom among the store's tasks, runs and claims a call is about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from dura import ClaimedTask, RetryStrategy
from model.outside import Operator
from model.rows import NEVER, SLEEP, Run, Task

if TYPE_CHECKING:
    from model.side_by_side import SideBySide

NAMES: Final = st.sampled_from(("a", "b"))
QUEUES: Final = st.sampled_from(("default", "bank", "mail"))
STEPS: Final = st.sampled_from(("s0", "s1", "s2"))
EVENTS: Final = ("e0", "e1", "e2", "e3", "e4", "e5")
VALUES: Final = st.sampled_from((None, 1, "two", [3, None], {"four": 4.5}))
TIMEOUTS: Final = st.sampled_from((None, 5, 30, 0.02, 0, -1))
LEASES: Final = st.sampled_from((10, 60, 1, 0.03))
TICKS: Final = st.sampled_from((1, 0.01, 3, 10, 40, 400, -0.5, -5, -60))
RETENTIONS: Final = st.sampled_from((timedelta(0), timedelta(seconds=30)))

RETRIES: Final = st.sampled_from(
    (
        None,
        RetryStrategy(kind="fixed", base_seconds=5, jitter_factor=0),
        RetryStrategy(kind="fixed", base_seconds=0),
        RetryStrategy(kind="exponential", base_seconds=1, jitter_factor=0),
        RetryStrategy(kind="exponential", base_seconds=2, factor=3, max_seconds=10, jitter_factor=0.5),
    )
)

SPAWNS: Final = st.fixed_dictionaries(
    {"name": NAMES, "params": VALUES},
    optional={
        "idempotency_key": st.sampled_from(("k1", "k2")),
        "retry": RETRIES,
        "max_attempts": st.sampled_from((1, 2, 3)),
        "available_after": st.sampled_from((timedelta(seconds=7), timedelta(seconds=-7), timedelta(0))),
        "priority": st.sampled_from((-1, 5)),
        "queue": QUEUES,
        "steps": st.just(["s0", "s1"]),
        "max_reclaims": st.sampled_from((0, 1)),
    },
)

_ANYTHING: Final = st.fixed_dictionaries({"timeout_secs": LEASES})
WANTED: Final = st.one_of(
    _ANYTHING,
    _ANYTHING,
    st.fixed_dictionaries(
        {"timeout_secs": LEASES},
        optional={
            "queue": st.one_of(QUEUES, st.lists(QUEUES, min_size=1, max_size=2)),
            "max_priority": st.sampled_from((0, -1)),
        },
    ),
)

GHOST: Final = ClaimedTask(run_id="f" * 32, task_id="f" * 32, attempt=1, name="a", params=None, claim_token=1)
"""Of a task that never was."""


@dataclass(frozen=True)
class Who:
    """On whose behalf a call is made, and how the engine is told."""

    task: ClaimedTask
    how: str
    """token, context, nobody, or forged: a token that is one too high."""

    def __repr__(self) -> str:
        task = self.task
        return f"<{task.name} {task.task_id[-5:]}, attempt {task.attempt}, token {task.claim_token}, by {self.how}>"


@st.composite
def callers(draw: st.DrawFn) -> Who:
    """Somebody who holds, or held, or never held a run; holders of live claims are chosen most."""
    machine: SideBySide = draw(st.runner())
    kind = draw(st.sampled_from(("live", "live", "live", "live", "once", "any")))
    chosen = [task for task in machine.claims if machine.is_live(task)] if kind == "live" else []
    if not chosen and kind != "any":
        chosen = machine.claims[::-1]
    if not chosen:
        chosen = [_as_claimed(task, run) for task, run in machine.store.runs()] or [GHOST]
    how = draw(
        st.sampled_from(("token", "token", "token", "context", "context", "nobody", "nobody", "forged"))
    )
    return Who(draw(st.sampled_from(chosen)), how)


def _as_claimed(task: Task, run: Run) -> ClaimedTask:
    return ClaimedTask(
        run_id=run.run_id, task_id=task.task_id, attempt=run.attempt, name=task.name, params=None,
        claim_token=run.token, queue=task.queue,
    )  # fmt: skip


@st.composite
def moments(draw: st.DrawFn) -> datetime:
    """When something is due in the store, to the microsecond, or a little before or after."""
    machine: SideBySide = draw(st.runner())
    due = [
        run.lease_ends or run.available_at
        for _, run in machine.store.runs()
        if run.state in ("running", "sleeping")
    ]
    due += [wait.deadline or NEVER for task in machine.store.live() for wait in task.waits.values()]
    chosen = draw(st.sampled_from(sorted({moment for moment in due if moment != NEVER}) or [machine.now]))
    return chosen + timedelta(microseconds=draw(st.sampled_from((0, 0, 1, -1, 1_000_000))))


@st.composite
def waits(draw: st.DrawFn) -> tuple[Who, str, str]:
    """A step that waits for an event: most often one that has waited before, or an event that was not emitted yet."""
    machine: SideBySide = draw(st.runner())
    who = draw(callers())
    task = machine.store.tasks.get(who.task.task_id)
    known = [(step, wait.event) for step, wait in task.waits.items() if wait.event != SLEEP] if task else []
    if known and draw(st.sampled_from((True, True, False))):
        return who, *draw(st.sampled_from(known))
    to_come = [event for event in EVENTS if event not in machine.store.events]
    names = to_come if draw(st.booleans()) and to_come else EVENTS
    return who, draw(STEPS), draw(st.sampled_from(names))


@st.composite
def events(draw: st.DrawFn) -> str:
    """An event to emit: most often one that somebody waits for."""
    machine: SideBySide = draw(st.runner())
    awaited = [
        wait.event for task in machine.store.live() for wait in task.waits.values() if wait.event != SLEEP
    ]
    wanted = awaited if awaited and draw(st.sampled_from((True, True, False))) else EVENTS
    return draw(st.sampled_from(wanted))


@st.composite
def task_ids(draw: st.DrawFn, *states: str) -> str:
    """A task of the store, one in these states chosen most, or one that never was."""
    machine: SideBySide = draw(st.runner())
    kind = draw(st.sampled_from(("such", "such", "such", "any", "ghost")))
    found = list(machine.store.tasks.values()) if kind != "ghost" else []
    such = [task for task in found if task.state in states] if kind == "such" else []
    return draw(st.sampled_from([task.task_id for task in such or found] or [GHOST.task_id]))


@st.composite
def operators(draw: st.DrawFn, task_id: str, *, tokens: bool = True) -> Operator:
    """Somebody who acts from outside and saw the task as it is, as it was, or not at all."""
    machine: SideBySide = draw(st.runner())
    actor = draw(st.sampled_from((None, "ana")))
    task = machine.store.tasks.get(task_id)
    saw = draw(st.sampled_from(("nothing", "nothing", "nothing", "now", "now", "before")))
    run_id = token = None
    if task is not None and saw != "nothing":
        run = task.latest if saw == "now" else task.runs[0]
        run_id = run.run_id
        token = run.token - (saw == "before") if tokens and draw(st.booleans()) else None
    return Operator(actor, "because" if actor and draw(st.booleans()) else None, run_id, token)
