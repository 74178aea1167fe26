"""The terms of a pool, for tests of what works by them."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from dura import DurableEngine
from dura.workers.executor import Handler
from dura.workers.worker import Terms


def terms_of(
    engine: DurableEngine, handlers: Mapping[str, Handler] | None = None, *, lease: float = 3600
) -> Terms:
    """Those of a pool that looks for work every second; by default it carries out jobs that do nothing."""
    return Terms(
        engine=engine,
        handlers={"job": lambda *_: None} if handlers is None else handlers,
        stop_event=threading.Event(),
        heartbeat=None,
        claim_timeout_secs=lease,
        poll_interval=1,
        queues=None,
    )
