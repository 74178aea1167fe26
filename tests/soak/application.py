"""The program that gives the workers their orders, and is killed too: `python application.py STORE LEDGER ORDERS SECONDS`.

It spawns the orders over so many seconds, each under a key of its own, and emits what some of them wait for, of some before
they wait. Started again it goes on a little before what it was told last: what it does twice counts once.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from dura import DurableEngine, RetryStrategy
from soak.ledger import Ledger
from soak.worker import WAITS

_AT_ONCE: Final = 10
_BEHIND: Final = 40
"""How far the events are behind the orders; every other one is before its order instead."""


def main(store: str, path: str, orders: str, seconds: str) -> None:
    engine, ledger = DurableEngine(store, create=False), Ledger(Path(path))
    told = [int(number) for number, *_ in ledger.lines("told")]
    first = max([0, *(number - number % _AT_ONCE - _BEHIND - _AT_ONCE for number in told)])
    pause = float(seconds) * _AT_ONCE / int(orders)
    for start in range(first, int(orders) + _BEHIND, _AT_ONCE):
        numbers = range(start, start + _AT_ONCE)
        approve(engine, ledger, [number for number in numbers if number % 8], int(orders))
        spawn(engine, ledger, [number for number in numbers if number < int(orders)], path)
        approve(engine, ledger, [number - _BEHIND for number in numbers], int(orders))
        if start not in told:
            time.sleep(pause)
    engine.close()


def spawn(engine: DurableEngine, ledger: Ledger, numbers: list[int], path: str) -> None:
    retry = RetryStrategy(kind="fixed", base_seconds=0.05, jitter_factor=0)
    refs = engine.spawn_many(
        {
            "name": "order",
            "params": {"number": number, "ledger": path},
            "idempotency_key": f"order:{number}",
            "retry": retry,
            "max_attempts": 3,
        }
        for number in numbers
    )
    for number, ref in zip(numbers, refs, strict=True):
        ledger.write("told", number, ref.task_id, os.getpid())


def approve(engine: DurableEngine, ledger: Ledger, numbers: list[int], orders: int) -> None:
    for number in numbers:
        if number % WAITS == 0 and 0 <= number < orders:
            engine.emit_event(event_name=f"approved:{number}", payload=number)
            ledger.write("emitted", number, os.getpid())


if __name__ == "__main__":
    main(*sys.argv[1:])
