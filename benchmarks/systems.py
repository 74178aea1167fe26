"""What is compared: each system with its pins, how durable it is as it comes, and what a crash does to its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class System:
    """A queue on SQLite."""

    id: str
    title: str
    adapter: str
    """The module in `adapters`."""
    pace: int
    """About how many no-op tasks a second it drains at FULL; decides how many a store is filled with."""
    requirements: tuple[str, ...] = ()
    """What its environment is made of; empty: the standard library, and this tree."""
    least_python: tuple[int, int] = (3, 11)
    ignores_python: bool = False
    """Whether its sources run on older interpreters than its package admits."""
    level: str = "FULL"
    """The `synchronous` level that it comes with."""
    promise: str = ""
    """What its users get that others do not, or lack: equal speed is not equal service."""
    starts_slowly: bool = False
    """Whether it takes seconds to start, so that it is left out of most rows at the quick scale."""
    release: str | None = None
    """The system whose engine builds this one's large stores, which are upgraded on opening."""
    without: str | None = None
    """The mechanism of dura's that is switched off (`mechanisms`); None: it is as it comes."""


BARE: Final = System(
    "bare", "bare loop", "dura", 0, promise="one thread's single-row commits; no queue at all"
)
OURS: Final = System(
    "dura", "dura", "dura", 12_000, promise="leases with fencing, retries, durable steps, full history"
)
UPGRADED: Final = System("dura-upgraded", "dura, upgraded file", "dura", 12_000, release="dura-1.3.0")
RELEASE: Final = System(
    "dura-1.3.0",
    "dura 1.3.0",
    "dura_1_3_0",
    4_000,
    requirements=("dura==1.3.0",),
    ignores_python=True,
    promise="leases without fencing, retries, durable steps, full history",
)
HUEY: Final = System(
    "huey",
    "huey 3.5.4",
    "huey",
    5_000,
    requirements=("huey==3.5.4",),
    promise="a task leaves the file when it is dequeued: a crash loses it; no steps, no history",
)
PERSIST_QUEUE: Final = System(
    "persist-queue",
    "persist-queue 1.1.0",
    "persistqueue",
    5_000,
    requirements=("persist-queue==1.1.0",),
    promise="acknowledged items, no leases, retries, steps or results; one process",
)
LITEQUEUE: Final = System(
    "litequeue",
    "litequeue 0.14",
    "litequeue",
    8_000,
    requirements=("litequeue==0.14",),
    least_python=(3, 12),
    level="NORMAL",
    promise="acknowledged items with claim ids, no retries, steps or results",
)
DBOS: Final = System(
    "dbos",
    "DBOS 3.4.0",
    "dbos",
    300,
    requirements=("dbos==3.4.0", "sqlalchemy==2.1.9", "pysqlite3==0.6.1"),
    promise="workflows with durable steps, recovery when a process starts, full history",
    starts_slowly=True,
)

EVERYONE: Final = (OURS, RELEASE, HUEY, PERSIST_QUEUE, LITEQUEUE, DBOS)
ALL: Final = (*EVERYONE, UPGRADED, BARE)
BY_ID: Final = {system.id: system for system in ALL}
