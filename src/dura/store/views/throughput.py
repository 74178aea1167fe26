"""How many tasks were settled lately, in equal stretches of time that end now.

On our files each stretch is counted along the index on final tasks, the newest first, until the time is over. A 1.3.0 file
has no such index: the tasks of each kind that were spawned last are sampled, and the sample reaches back as far as the
earliest end in it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Final

from dura.clock import later
from dura.records import Throughput
from dura.states import State
from dura.store.views.look import Look

BUCKETS: Final = 60
BUCKET_SECONDS: Final = 10.0

_SAMPLE: Final = 5_000
"""Tasks of each kind that are sampled on a file without the index."""


def throughput(look: Look, buckets: int = BUCKETS, seconds: float = BUCKET_SECONDS) -> Throughput:
    """Completed and failed tasks over time."""
    edges = [later(look.now, -seconds * number) for number in range(buckets + 1)]
    count = _counted if "tasks_terminal" in look.indexes else _sampled
    return Throughput(
        bucket_seconds=seconds,
        ends_at=look.moment,
        completed=tuple(reversed(count(look, State.COMPLETED, edges))),
        failed=tuple(reversed(count(look, State.FAILED, edges))),
    )


def _counted(look: Look, state: State, edges: list[str]) -> list[int | None]:
    """Tasks that ended in the state, after each edge and up to the one before it."""
    found: list[int | None] = []
    for end, start in pairwise(edges):
        row = look.first(
            "SELECT COUNT(*) FROM tasks WHERE state = ? AND state IN ('completed', 'failed', 'cancelled') "
            "AND terminal_at > ? AND terminal_at <= ?",
            (state.value, start, end),
        )
        found.append(row[0] if row else None)
    return found


def _sampled(look: Look, state: State, edges: list[str]) -> list[int | None]:
    rows = look.rows(
        "SELECT terminal_at FROM tasks WHERE state = ? ORDER BY rowid DESC LIMIT ?", (state.value, _SAMPLE)
    )
    ends = sorted(row[0] for row in rows if row[0] is not None)
    reach = min(ends, default=edges[0]) if look.cut or len(rows) == _SAMPLE else ""
    return [
        bisect_right(ends, end) - bisect_right(ends, start) if start >= reach else None
        for end, start in pairwise(edges)
    ]
