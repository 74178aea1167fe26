"""Who meets whom, and what each player does then. The seed's own chance varies it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from dura import ClaimedTask
from interleavings import calls, scenes, step_calls
from interleavings.call import Call
from interleavings.stage import Stage

Scripts = list[list[Call]]
"""What each player does, one call after the other."""


@dataclass(frozen=True)
class Group:
    """A meeting."""

    prepare: Callable[[Stage], Any]
    """Makes what is in the store before, and returns what the calls need to know of it."""
    scripts: Callable[[Stage, Any, Random], Scripts]
    idle: bool = False
    """Whether the engines have pools with idle workers."""


GROUPS: Final[dict[str, Group]] = {}


def _group(
    name: str, prepare: Callable[[Stage], Any], *, idle: bool = False
) -> Callable[[Callable[[Stage, Any, Random], Scripts]], None]:
    def add(scripts: Callable[[Stage, Any, Random], Scripts]) -> None:
        GROUPS[name] = Group(prepare, scripts, idle)

    return add


def _some(chance: Random, *scripts: list[Call]) -> Scripts:
    """None, one or more of these."""
    return [script for script in scripts if chance.random() < 0.4]


@_group("emit against wait", scenes.held)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    timeout = chance.choice((None, 30, 0))
    return [
        [step_calls.wait(task, "s", "e", timeout)],
        [calls.emit("e", 1)],
        *_some(chance, [calls.claim("w2")], [calls.emit("e", 2)]),
    ]


@_group("emit against a deadline", scenes.at_the_deadline)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [calls.emit("e", 1)],
        [step_calls.claim_and_wait("w2", "s", "e", 10)],
        *_some(chance, [calls.tick(stage, 0.001)], [calls.claim("w3")]),
    ]


@_group("claim against claim", scenes.two_pending)
def _(stage: Stage, _: list[str], chance: Random) -> Scripts:
    lane = chance.choice(({}, {"max_priority": 0}))
    return [
        [calls.claim("w1")],
        [calls.claim("w2", **lane)],
        *_some(chance, [calls.claim("w3"), calls.claim("w4")]),
    ]


@_group("extend against reclaim", scenes.expired)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [calls.extend(task)],
        [calls.claim("w2")],
        *_some(chance, [calls.complete(task)], [calls.claim("w3")]),
    ]


@_group("extend against a lease that runs out", scenes.about_to_expire)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [calls.extend(task, chance.choice((0.1, 20)))],
        [calls.tick(stage, 0.5)],
        [calls.claim("w2")],
        *_some(chance, [calls.give_back(task)]),
    ]


@_group("complete against cancel", scenes.held)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    first = chance.choice((calls.complete(task), calls.fail(task), calls.give_back(task)))
    return [
        [first],
        [calls.cancel(task.task_id)],
        *_some(chance, [calls.complete(task, 2, forged=1)], [calls.claim("w2")]),
    ]


@_group("requeue against cleanup", scenes.failed_long_ago)
def _(stage: Stage, task_id: str, chance: Random) -> Scripts:
    return [
        [calls.requeue(task_id, keep=chance.random() < 0.5)],
        [calls.cleanup(1)],
        *_some(chance, [step_calls.claim_and_wait("w2", "t", "old")], [calls.spawn("k")]),
    ]


@_group("step against cancel", scenes.held)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    how = chance.choice(("token", "context", "context", "nobody"))
    return [
        step_calls.checkpoints(stage, task, ["s1", "s2", "s3"][: chance.choice((1, 2, 3))], 1, how),
        [calls.cancel(task.task_id)],
        *_some(
            chance,
            [calls.requeue(task.task_id)],
            step_calls.checkpoints(stage, task, ["s1", "s2"], 2, "token"),
        ),
    ]


@_group("step against reclaim", scenes.expired)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    how = chance.choice(("token", "context", "nobody"))
    return [
        step_calls.checkpoints(stage, task, ["s1", "s2"], 1, how),
        step_calls.claim_and_steps(stage, "w2", ["s1"], 3),
        *_some(chance, [calls.complete(task)], step_calls.checkpoints(stage, task, ["s1"], 2, "nobody")),
    ]


@_group("first step of a claim", scenes.two_pending)
def _(stage: Stage, task_ids: list[str], chance: Random) -> Scripts:
    task_id = task_ids[1]
    return [
        step_calls.claim_and_steps(stage, "w1", ["s1", "s2"], 1),
        [chance.choice((calls.cancel(task_id), step_calls.step_of_nobody(stage, task_id, "s1", 2)))],
        *_some(chance, step_calls.claim_and_steps(stage, "w2", ["s1"], 3), [calls.requeue(task_id)]),
    ]


@_group("first step of a later claim", scenes.given_back)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        step_calls.claim_and_steps(stage, "w2", ["s1", "s2"], 2),
        step_calls.checkpoints(stage, task, ["s1", "s2"], 3, chance.choice(("token", "nobody"))),
        *_some(chance, [calls.cancel(task.task_id)], [calls.claim("w3")]),
    ]


@_group("steps of one claim in two threads", scenes.held)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    how = chance.choice(("token", "context", "nobody"))
    # Threads of one handler that do the same step at once may both do it.
    others = ["t1", "t2"] if how == "context" else ["s3", "s2", "s1"]
    return [
        step_calls.checkpoints(stage, task, ["s1", "s2", "s3"], 1, "context"),
        step_calls.checkpoints(stage, task, others, 2, how),
    ]


@_group("steps against cancel in company", scenes.held)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        step_calls.checkpoints(stage, task, ["s1", "s2", "s3"], 1, "context"),
        [calls.spawn(), chance.choice((calls.cancel(task.task_id), calls.complete(task)))],
        [calls.spawn(), calls.spawn()],
    ]


@_group("step against the same step", scenes.held)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    hows = chance.sample(("token", "context", "nobody"), 3)
    several = [
        step_calls.checkpoints(stage, task, ["s1", "s2"], number, how) for number, how in enumerate(hows)
    ]
    return several[: chance.choice((2, 3))] + _some(chance, [step_calls.wait(task, "s2", "e")])


@_group("spawn against spawn of one key", scenes.failed_long_ago)
def _(stage: Stage, task_id: str, chance: Random) -> Scripts:
    key = chance.choice(("k", "k2"))
    return [
        [calls.spawn(key), calls.spawn()],
        [calls.spawn(key, name="b")],
        *_some(chance, [calls.claim("w1")], [calls.cleanup(1)]),
    ]


@_group("update against update", scenes.nothing)
def _(stage: Stage, _: None, chance: Random) -> Scripts:
    def script() -> list[Call]:
        return [
            calls.update(stage, "x", nested=chance.random() < 0.3, fails=chance.random() < 0.2)
            for _ in range(chance.choice((1, 2)))
        ]

    return [script(), script(), *_some(chance, script(), [calls.spawn()])]


@_group("wake against emit", scenes.backed_off)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [calls.wake(task.task_id)],
        [calls.emit("e", 1)],
        *_some(chance, [step_calls.claim_and_wait("w2", "s", "e", 10)], [calls.wake(task.task_id)]),
    ]


@_group("wake and cancel against emit", scenes.waits)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [calls.wake(task.task_id)],
        [calls.emit("e", 1)],
        *_some(chance, [calls.cancel(task.task_id)], [step_calls.claim_and_wait("w2", "s", "e", 10)]),
    ]


@_group("turn against turn", scenes.two_held)
def _(stage: Stage, tasks: list[ClaimedTask], chance: Random) -> Scripts:
    left, right = (chance.choice((1, 1, "fails")) for _ in range(2))
    return [
        [calls.turn(tasks[0], left, "w1")],
        [calls.turn(tasks[1], right, "w2")],
        *_some(chance, [calls.cancel(tasks[0].task_id)], [calls.claim("w3")]),
    ]


@_group("settling for all against turn and cancel", scenes.two_held)
def _(stage: Stage, tasks: list[ClaimedTask], chance: Random) -> Scripts:
    return [
        [calls.settle_all(tasks, [chance.choice((1, "fails")) for _ in tasks])],
        [calls.cancel(tasks[chance.choice((0, 1))].task_id)],
        *_some(chance, [calls.turn(tasks[1], 2, "w2")], [calls.claim("w3")]),
    ]


@_group("turns against reclaim", scenes.expired)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [calls.turn(task, chance.choice((1, "fails")), "w1")],
        [calls.claim("w2"), *([calls.spawn()] if chance.random() < 0.5 else [])],
        *_some(chance, [calls.turn(task, 2, "w1 again")], [calls.extend(task)]),
    ]


@_group("idle workers against spawn", scenes.nothing, idle=True)
def _(stage: Stage, _: None, chance: Random) -> Scripts:
    return [
        [calls.idle_worker(stage, "w1")],
        [calls.spawn() for _ in range(chance.choice((1, 2)))],
        *_some(chance, [calls.idle_worker(stage, "w2")], [calls.spawn()]),
    ]


@_group("idle worker against emit", scenes.waits, idle=True)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [calls.idle_worker(stage, "w1")],
        [calls.emit("e")],
        *_some(chance, [calls.idle_worker(stage, "w2")], [calls.cancel(task.task_id)]),
    ]


@_group("wait, emit, cancel and claim", scenes.held)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [step_calls.wait(task, "s", "e", chance.choice((None, 0, 10)))],
        [calls.emit("e", 1)],
        [calls.cancel(task.task_id), *([calls.requeue(task.task_id)] if chance.random() < 0.5 else [])],
        [step_calls.claim_and_wait("w2", "s", "e")],
    ]


@_group("complete, extend, cancel and reclaim", scenes.expired)
def _(stage: Stage, task: ClaimedTask, chance: Random) -> Scripts:
    return [
        [chance.choice((calls.complete(task), calls.fail(task)))],
        [calls.extend(task)],
        [calls.cancel(task.task_id)],
        [calls.claim("w2"), calls.claim("w3")],
    ]


@_group("turns, cancel and spawn with idle workers", scenes.two_held, idle=True)
def _(stage: Stage, tasks: list[ClaimedTask], chance: Random) -> Scripts:
    return [
        [calls.turn(tasks[0], chance.choice((1, "fails")), "w1")],
        [calls.cancel(tasks[0].task_id), calls.requeue(tasks[0].task_id)],
        [calls.idle_worker(stage, "w3")],
        [chance.choice((calls.spawn(), calls.give_back(tasks[1])))],
    ]
