"""The store's past: some minutes of the shop, really run, in a moment.

One thread plays the pool on a clock that is behind. Whatever takes time moves that clock instead of waiting, until it
shows the present: by then the store holds finished, failed, parked and waiting tasks with plausible times, and what is
still due goes on under the real pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from dura import DurableEngine, process_task
from dura.workers.worker import default_worker_id
from dura_tui.demo.clock import CatchingUpClock
from dura_tui.demo.feeder import QUEUES, Feeder
from dura_tui.demo.handlers import LEASE_SECONDS, Handler

LENGTH: Final = timedelta(minutes=11)
"""How far back the past goes."""

_TURN_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 40.0
"""How often somebody answers a waiting order; the user answers those of the present."""


_TOO_BIG: Final = 7_000
"""Orders from this amount on were declined."""


def play(
    engine: DurableEngine,
    clock: CatchingUpClock,
    feeder: Feeder,
    handlers: Mapping[str, Handler],
    *,
    worker_count: int,
) -> None:
    """Run the shop until the clock has caught up.

    Args:
        engine: The store, on that clock.
        clock: The clock.
        feeder: Spawns the work.
        handlers: Carry it out; their work must advance the clock.
        worker_count: How many workers' names the runs are claimed under.
    """
    workers = [default_worker_id(f"worker_{number}") for number in range(worker_count)]
    turn = 0
    next_answer = engine.now()
    while not clock.caught_up:
        feeder.tick()
        if engine.now() >= next_answer:
            _answer(engine, feeder)
            next_answer = engine.now() + timedelta(seconds=_ANSWER_SECONDS)
        turn += 1
        while not clock.caught_up and _work(engine, handlers, workers[turn % worker_count]):
            turn += 1
        clock.advance(_TURN_SECONDS)


def _work(engine: DurableEngine, handlers: Mapping[str, Handler], worker_id: str) -> bool:
    """What a worker of a pool does in one turn. Returns whether there was work."""
    task = engine.claim_task(worker_id=worker_id, timeout_secs=LEASE_SECONDS, queue=QUEUES)
    if task is None:
        return False
    if task.name in handlers:
        process_task(engine, handlers=handlers, task=task, worker_id=worker_id)
    else:
        engine.defer_run(run_id=task.run_id, claim_token=task.claim_token)
    return True


def _answer(engine: DurableEngine, feeder: Feeder) -> None:
    """Approve the oldest waiting order, or decline it if it is very big."""
    if feeder.big_orders:
        order_id, amount = feeder.big_orders.popleft()
        engine.emit_event(
            event_name=f"approved:{order_id}",
            payload={"approved": amount < _TOO_BIG, "amount": amount},
            actor="the shop's accountant",
            reason="history of the demo",
        )
