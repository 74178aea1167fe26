"""The limit of the disk: single-row commits of one thread, with nothing between it and SQLite."""

from __future__ import annotations

import sqlite3
import time

from benchmarks.store import Store

_UPDATES = 20
"""Between two looks at the clock."""


def run(store: Store, *, seconds: float) -> dict[str, float]:
    store.begin()
    store.watch.synchronous = store.synchronous
    connection = sqlite3.connect(store.path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)")
    connection.execute("INSERT INTO counter VALUES (1, 0)")
    commits, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        for _ in range(_UPDATES):
            connection.execute("UPDATE counter SET value = value + 1 WHERE id = 1")
        commits += _UPDATES
    store.watch.read_back(mine=True)
    connection.close()
    return {"rate": commits / took}
