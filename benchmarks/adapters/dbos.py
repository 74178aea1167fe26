"""DBOS on its SQLite backend: workflows from a queue, on as many executor threads as a pool has workers.

Its schema needs SQLite 3.42 (`unixepoch('subsec')`); where Python's own is older, that of the pysqlite3 package stands in.
The queue is polled every 10 ms instead of every second, which is to its advantage; a limit on the queue's concurrency, in
place of one on the threads, makes it slower.
"""

from __future__ import annotations

import sqlite3
import sys

if sqlite3.sqlite_version_info < (3, 42):
    import pysqlite3  # type: ignore[import-not-found]
    import pysqlite3.dbapi2  # type: ignore[import-not-found]

    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from dbos import DBOS  # type: ignore[import-not-found]

from benchmarks.adapters import Job

_QUEUE = "bench"
_POLL_SECONDS = 0.01
_jobs: list[Job] = []


@DBOS.step()  # type: ignore[untyped-decorator]
def _step(name: str, compute: Any) -> Any:
    return compute()


@DBOS.workflow()  # type: ignore[untyped-decorator]
def _task(params: Any) -> None:
    _jobs[-1](params, _step)


class System:
    """DBOS."""

    fastest: ClassVar[str] = "OFF"

    def __init__(self, path: str, synchronous: str, workers: int) -> None:
        self.file = path
        DBOS(
            config={
                "name": "bench",
                "system_database_url": f"sqlite:///{path}",
                "application_version": "1",
                "log_level": "ERROR",
                "max_executor_threads": workers,
            }
        )
        DBOS.launch()

    def spawn(self, params: Any, *, steps: bool = False) -> None:
        DBOS.enqueue_workflow(_QUEUE, _task, params)

    @contextmanager
    def pool(self, workers: int, job: Job) -> Iterator[None]:
        _jobs.append(job)
        DBOS.register_queue(_QUEUE, polling_interval_sec=_POLL_SECONDS)
        yield

    def close(self) -> None:
        DBOS.destroy()
