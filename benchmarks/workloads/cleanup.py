"""Cleanup of a long history: how long it keeps another writer waiting, and whether the file shrinks."""

from __future__ import annotations

import threading
import time

from benchmarks.store import Store

_KEPT = 100
"""Live tasks that stay."""

_PAUSE = 0.002


def run(store: Store, *, tasks: int) -> dict[str, float]:
    store.build({"completed": tasks, "pending": _KEPT})
    waits: list[float] = []
    ended = threading.Event()
    before = sum(store.files())
    with store.open() as system, store.second("writer") as other:
        other.hear()

        def write() -> None:
            while not ended.is_set():
                began = time.perf_counter()
                system.spawn(0)
                waits.append(time.perf_counter() - began)
                time.sleep(_PAUSE)
            store.watch.read_back(mine=True)

        writer = threading.Thread(target=write)
        writer.start()
        time.sleep(0.1)
        other.say("begin")
        began = time.perf_counter()
        removed = system.cleanup()
        took = time.perf_counter() - began
        ended.set()
        writer.join()
        other.say("end")
        outside = other.hear()
        assert removed == tasks, f"{removed} of {tasks} tasks were removed"
    # Only now has the other process closed the file, and the log gone into it.
    return {
        "worst": max(waits),
        "outside": outside,
        "seconds": took,
        "before": before,
        "after": sum(store.files()),
    }
