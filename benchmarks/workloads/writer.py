"""Another process that spawns every few milliseconds, and tells its longest wait."""

from __future__ import annotations

import json
import sys
import threading
import time

from benchmarks.store import Store

_PAUSE = 0.005


def run(store: Store) -> dict[str, float]:
    ended = threading.Event()
    with store.open() as system:
        system.spawn(0)
        print(json.dumps("ready"), flush=True)
        sys.stdin.readline()
        threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
        worst = 0.0
        while not ended.is_set():
            began = time.perf_counter()
            system.spawn(0)
            worst = max(worst, time.perf_counter() - began)
            time.sleep(_PAUSE)
    print(json.dumps(worst), flush=True)
    return {}


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.readline()
    ended.set()
