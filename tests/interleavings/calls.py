"""What players do to tasks, from inside a worker and from outside, and to the memory that outlives tasks."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from dura import ClaimedTask, DurableEngine, EngineError, NotStorable, StoreBusy
from dura.store.claim import Claim
from dura.store.idle import IdleWorkers
from dura.store.settle import Settlement
from dura.store.turns import Turn
from interleavings.call import LEASE, Call, Moment, OtherwiseError, World, claims_by, either_way, one
from interleavings.stage import Stage
from model import outside, tasks
from model.outside import Operator
from model.rows import Value


def claim(worker: str, *, lease: float = LEASE, **lane: Any) -> Call:
    claims = claims_by(worker, lease, lane.get("max_priority"))
    return Call(
        f"claim by {worker}",
        lambda engine: engine.claim_task(worker_id=worker, timeout_secs=lease, **lane),
        (either_way(lambda world, got, look: claims(world, look)),),
    )


def complete(task: ClaimedTask, value: Any = 1, *, forged: int = 0) -> Call:
    token = (task.claim_token or 0) + forged
    return one(
        f"complete with token {token}",
        lambda engine: engine.complete_run(run_id=task.run_id, claim_token=token, result=value),
        lambda world, _: tasks.complete(world.store, world.now, task.run_id, token, json.dumps(value)),
    )


def fail(task: ClaimedTask) -> Call:
    def rules(world: World, _: Any) -> None:
        tasks.fail(world.store, world.now, task.run_id, task.claim_token, "{}", retryable=True)

    return one(
        "fail",
        lambda engine: engine.fail_run(run_id=task.run_id, claim_token=task.claim_token, reason={}),
        rules,
    )


def give_back(task: ClaimedTask) -> Call:
    return one(
        "give back",
        lambda engine: engine.give_back_run(run_id=task.run_id, claim_token=task.claim_token),
        lambda world, _: tasks.give_back(world.store, world.now, task.run_id, task.claim_token),
    )


def extend(task: ClaimedTask, seconds: float = 20) -> Call:
    return one(
        "extend",
        lambda engine: engine.extend_claim(run_id=task.run_id, claim_token=task.claim_token, by_secs=seconds),
        lambda world, _: outside.extend(
            world.store, world.now, task.run_id, task.claim_token, seconds, Operator()
        ),
    )


def cancel(task_id: str) -> Call:
    return one(
        "cancel",
        lambda engine: engine.cancel_task(task_id),
        lambda world, _: outside.cancel(world.store, world.now, task_id, Operator()),
    )


def requeue(task_id: str, *, keep: bool = True) -> Call:
    def rules(world: World, got: Any) -> str:
        run = outside.requeue(world.store, world.now, task_id, Operator(), keep=keep, from_step=None)
        run.run_id = got if isinstance(got, str) else ""
        return run.run_id

    return one("requeue", lambda engine: engine.requeue_task(task_id, keep_checkpoints=keep).run_id, rules)


def wake(task_id: str) -> Call:
    return one(
        "wake",
        lambda engine: engine.wake_task(task_id).run_id,
        lambda world, _: outside.wake(world.store, world.now, task_id, Operator()).run_id,
    )


def emit(event: str, payload: Any = None) -> Call:
    def real(engine: DurableEngine) -> tuple[bool, set[str]]:
        emitted = engine.emit_event(event_name=event, payload=payload)
        return emitted.first, set(emitted.woken)

    return one(
        f"emit {event}",
        real,
        lambda world, _: outside.emit_as(world.store, world.now, event, json.dumps(payload), Operator()),
    )


def spawn(key: str | None = None, *, name: str = "a", **options: Any) -> Call:
    def real(engine: DurableEngine) -> tuple[str, str, int, bool]:
        ref = engine.spawn_task(name=name, params=None, idempotency_key=key, **options)
        return ref.task_id, ref.run_id, ref.attempt, ref.created

    def rules(world: World, got: Any) -> Any:
        wanted = tasks.Spawn(
            name=name, params="null", queue="default", priority=options.get("priority", 0), key=key, retry=None,
            max_attempts=None, max_reclaims=None, steps=None, delay=timedelta(0),
        )  # fmt: skip
        task, created = tasks.spawn(world.store, world.now, wanted, got[0], got[1])
        return task.task_id, task.latest.run_id, task.latest.attempt, created

    return one(f"spawn {key or ''}", real, rules)


def update(stage: Stage, key: str, *, nested: bool = False, fails: bool = False) -> Call:
    """Add one to a number, maybe with another one that is set inside, maybe in vain."""

    def real(engine: DurableEngine) -> Any:
        def fn(value: int) -> Any:
            stage.scheduler.give_way("in the update")
            if nested:
                engine.set_state(namespace="n", key=f"{key}-nested", value=value)
            return {1} if fails else value + 1

        return engine.update_state(namespace="n", key=key, fn=fn, default=0)

    def rules(world: World, _: Any) -> Any:
        memory = world.store.memory
        known = int(memory["n", key].value) if ("n", key) in memory else 0
        if fails:
            raise NotStorable
        if nested:
            memory["n", f"{key}-nested"] = Value(str(known), world.now)
        memory["n", key] = Value(str(known + 1), world.now)
        return known + 1

    return one(f"update {key}", real, rules)


def cleanup(hours: float) -> Call:
    """It takes effect when the tasks go, when it is seen which events are needed, and when the others go."""
    ttl = timedelta(hours=hours)

    def tasks_go(world: World, got: Any) -> None:
        events = world.store.events
        world.notes["removed"] = outside.cleanup(world.store, world.now, ttl)
        world.store.events = events

    def looked(world: World, got: Any) -> None:
        world.notes["before"] = min([world.now - ttl, *(task.spawned_at for task in world.store.live())])

    def events_go(world: World, got: Any) -> int:
        awaited = {wait.event for task in world.store.tasks.values() for wait in task.waits.values()}
        world.store.events = {
            name: event
            for name, event in world.store.events.items()
            if event.at >= world.notes["before"] or name in awaited
        }
        return int(world.notes["removed"])

    return Call(
        "clean up",
        lambda engine: engine.cleanup(ttl),
        (Moment(tasks_go), Moment(looked), Moment(events_go)),
        busy=(0, 1, 2, 3),
    )


def _settlement(task: ClaimedTask, value: Any) -> Settlement:
    return Settlement.of(task, result=None if value == "fails" else json.dumps(value), reason="{}")


def _settled(world: World, task: ClaimedTask, value: Any) -> type[EngineError] | None:
    """Settle the run as the rules say. Returns why it could not be."""
    token = task.claim_token
    try:
        if value == "fails":
            tasks.fail(world.store, world.now, task.run_id, token, "{}", retryable=True)
        else:
            tasks.complete(world.store, world.now, task.run_id, token, json.dumps(value))
    except EngineError as error:
        return type(error)
    return None


def settle_all(held: list[ClaimedTask], values: list[Any]) -> Call:
    """What one thread does for several workers: settle the runs that they have in hand.

    Each is told by itself. One that could not have the lock is not settled, though another leader may settle the next.
    """
    turns = [Turn(_settlement(task, value), None) for task, value in zip(held, values, strict=True)]

    def real(engine: DurableEngine) -> Any:
        taken = engine.take_turns(turns)
        whys = [turn[0] if isinstance(turn, tuple) else turn for turn in taken]
        return [None if why is None else type(why) for why in whys]

    def settled(place: int) -> Moment:
        def rules(world: World, got: Any) -> Any:
            if got[place] is not StoreBusy and got[place] is not _settled(world, held[place], values[place]):
                raise OtherwiseError
            return got if place + 1 == len(held) else None

        return Moment(rules)

    moments = tuple(settled(place) for place in range(len(held)))
    return Call(f"settle {values}", real, moments)


def turn(task: ClaimedTask, value: Any, worker: str) -> Call:
    """A worker's turn: settle the run in hand and have the next. All who take turns at once may settle before one claims."""
    settlement = _settlement(task, value)
    wanted = Claim(worker_id=worker, lease_seconds=LEASE, queues=None, max_priority=None)

    def real(engine: DurableEngine) -> Any:
        lost, claimed = engine.settle_and_claim(settlement, wanted)
        return None if lost is None else type(lost), claimed

    def settled(world: World, got: Any) -> None:
        lost = _settled(world, task, value)
        if isinstance(got, tuple) and got[0] is not lost:
            raise OtherwiseError
        world.notes[worker] = lost

    def claimed(world: World, got: Any, look: bool) -> Any:
        return world.notes[worker], claims(world, look)

    claims = claims_by(worker, LEASE, None)
    return Call(f"turn of {worker}", real, (Moment(settled), either_way(claimed)))


def tick(stage: Stage, seconds: float) -> Call:
    def real(engine: DurableEngine) -> None:
        stage.clock.advance(seconds)

    def rules(world: World, _: Any) -> None:
        world.now += timedelta(seconds=seconds)

    return one(f"{seconds} s pass", real, rules)


def idle_worker(stage: Stage, worker: str) -> Call:
    """A worker of a pool that looks, waits among the idle, and so on, until it has a run or the pool ends."""
    wanted = Claim(worker_id=worker, lease_seconds=LEASE, queues=None, max_priority=None)

    def real(engine: DurableEngine) -> ClaimedTask | None:
        [idle] = (pool for pool in engine.database.idle if isinstance(pool, IdleWorkers))
        while not idle._closed:
            stirs = idle.stirs
            task = engine.claim_next(wanted)
            if task is not None:
                idle.stir()
            else:
                task = engine.wait_for_claim(wanted, idle, 3600, stirs)
            if task is not None:
                return task
        return None

    def rules(world: World, got: Any, look: bool) -> Any:
        return None if got is None else claims(world, look)

    claims = claims_by(worker, LEASE, None)
    return Call(f"idle worker {worker}", real, (either_way(rules),))
