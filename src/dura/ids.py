"""Time-ordered ids: 32 hexadecimal digits that sort by creation within a process.

Ordered ids keep the primary keys of a large store growing at one end, so that an insert touches the pages that the
last one touched. The layout is that of UUID version 7 (RFC 9562): 48 bits of milliseconds, then a counter that breaks
ties within one millisecond, then random bits. The last digits are the random ones, so they are what short forms show.
"""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Final

_VERSION_7: Final = 0x7 << 76 | 0x2 << 62
"""The bits that say so."""

_lock = threading.Lock()
_last = 0
_random = random.Random()
"""Seeded by the system, once a process: asking the system each time takes as long as inserting a row."""


def new_id() -> str:
    """A fresh id, greater than every id this process made before, also when the clock steps back."""
    return new_ids(1)[0]


def new_ids(count: int) -> list[str]:
    """So many fresh ids, in order."""
    global _last
    ticks = time.time_ns() // 1_000_000 << 12
    with _lock:
        first = max(ticks, _last + 1)
        _last = first + count - 1
    return [
        (each >> 12 << 80 | _VERSION_7 | (each & 0xFFF) << 64 | _random.getrandbits(62)).to_bytes(16).hex()
        for each in range(first, first + count)
    ]


def _begin_anew() -> None:
    """In a forked child: the lock may be held by a thread that is not here, and the parent draws the same numbers."""
    global _lock
    _lock = threading.Lock()
    _random.seed()


os.register_at_fork(after_in_child=_begin_anew)
