"""Time-ordered ids: 32 hexadecimal digits that sort by creation within a process.

Ordered ids keep the primary keys of a large store growing at one end, so that an insert touches the pages that the
last one touched. The layout is that of UUID version 7 (RFC 9562): 48 bits of milliseconds, then a counter that breaks
ties within one millisecond, then random bits. The last digits are the random ones, so they are what short forms show.
"""

from __future__ import annotations

import os
import threading
import time

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A fresh id, greater than every id this process made before, also when the clock steps back."""
    global _last
    ticks = time.time_ns() // 1_000_000 << 12
    with _lock:
        _last = ticks = max(ticks, _last + 1)
    random = int.from_bytes(os.urandom(8), "big") >> 2
    value = (ticks >> 12) << 80 | 0x7 << 76 | (ticks & 0xFFF) << 64 | 0x2 << 62 | random
    return f"{value:032x}"


def _forget_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)
