"""Eight threads that spawn as fast as they can: how often the luckiest comes through for the unluckiest's once."""

from __future__ import annotations

import threading
import time

from benchmarks.store import Store

_THREADS = 8


def run(store: Store, *, seconds: float) -> dict[str, float]:
    counts = [0] * _THREADS
    ended = threading.Event()
    with store.open() as system:
        start = threading.Barrier(_THREADS + 1)

        def write(number: int) -> None:
            system.spawn(number)
            start.wait()
            while not ended.is_set():
                system.spawn(number)
                counts[number] += 1
            store.watch.read_back(mine=True)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(_THREADS)]
        for thread in threads:
            thread.start()
        start.wait()
        began = time.perf_counter()
        time.sleep(seconds)
        ended.set()
        took = time.perf_counter() - began
        total = sum(counts)
        for thread in threads:
            thread.join()
    return {"luck": max(counts) / max(1, min(counts)), "rate": total / took}
