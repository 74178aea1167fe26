"""The other process: it spawns when it is told to, and the task carries the time of the call."""

from __future__ import annotations

import json
import sys
import time

from benchmarks.store import Store


def run(store: Store) -> dict[str, float]:
    with store.open() as system:
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            if json.loads(line) != "spawn":
                break
            system.spawn(time.perf_counter())
    return {}
