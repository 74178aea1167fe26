"""A store that is the same wherever and whenever it is made: a shop at night, with something for every view.

Ids, times and chance are fixed; what a file or a process would differ in is told by `Fixed` instead.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import ManualClock, claim
from dura import ClaimedTask, DurableEngine, RetryStrategy, WorkflowSuspended, ids
from dura.monitor import Monitor
from dura.records import Snapshot, Want
from dura.redaction import BUILT_IN

NOW = datetime(2026, 3, 2, 3, 12, tzinfo=UTC)
"""When the pictures are taken."""

SHOWN_PATH = "/srv/shop/orders.db"
"""What the monitor takes for the file's path."""

_PRESENCES = {"web1": "alive", "web2": "gone"}
"""Whether the workers of a host are there; of others nobody knows."""


class Fixed:
    """What the monitor reads: the store as it is, with the file's sizes and the workers' presence made up."""

    def __init__(self, path: Path) -> None:
        self.asked: Want | None = None
        """What the latest look was to hold."""
        self.given: Snapshot | None = None
        """The latest look."""
        self._monitor = Monitor(path, clock=lambda: NOW, redaction=BUILT_IN)

    def snapshot(self, want: Want = Want()) -> Snapshot:  # noqa: B008 - frozen
        found = self._monitor.snapshot(want)
        workers = tuple(
            replace(worker, presence=_PRESENCES.get(worker.worker_id.partition(":")[0], "unknown"))
            for worker in found.workers
        )
        file = replace(found.file, path=SHOWN_PATH, size=1_204_224, wal_size=412_032, reading="live")
        self.given = replace(found, file=file, workers=workers, read_seconds=0.0)
        self.asked = want
        return self.given

    def changed(self) -> bool:
        return self._monitor.changed()

    def close(self) -> None:
        self._monitor.close()


class _Moments:
    """What the ids take for the module `time`."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def time_ns(self) -> int:
        return int(self._clock().timestamp()) * 1_000_000_000


@contextmanager
def _same_every_time(clock: ManualClock) -> Iterator[None]:
    state = random.getstate()
    random.seed(7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "time", _Moments(clock))
        patch.setattr(ids, "_last", 0)
        patch.setattr(ids, "_random", random.Random(7))
        yield
    random.setstate(state)


class _Night:
    """Plays the night, a call a happening."""

    def __init__(self, engine: DurableEngine, clock: ManualClock) -> None:
        self.engine = engine
        self.clock = clock

    def at(self, time: str) -> None:
        """Go on to a time of day."""
        hours, minutes, seconds = map(int, time.split(":"))
        moment = NOW.replace(hour=hours, minute=minutes, second=seconds)
        assert moment >= self.clock.moment
        self.clock.moment = moment

    def begin(self, name: str, worker: str, *, lease: float = 60, **options: Any) -> ClaimedTask:
        """Spawn a task and let a worker have it at once."""
        ref = self.engine.spawn_task(**{"name": name, "params": {"sku": f"sku-{len(name)}"}, **options})
        task = claim(self.engine, worker_id=worker, timeout_secs=lease, queue=options.get("queue", "default"))
        assert task.run_id == ref.run_id, name
        return task

    def step(self, task: ClaimedTask, name: str, value: object, *, took: float = 1) -> None:
        self.clock.advance(took)
        self.engine.checkpoint(
            task_id=task.task_id, step_name=name, fn=lambda: value, owner_run_id=task.run_id,
            claim_token=task.claim_token,
        )  # fmt: skip

    def complete(self, task: ClaimedTask, result: object = None) -> None:
        self.engine.complete_run(run_id=task.run_id, result=result, claim_token=task.claim_token)

    def fail(self, task: ClaimedTask, kind: str, message: str, *, step: str | None = None) -> None:
        reason = {"type": kind, "message": message, "traceback": f"  File shop.py, line 88, in {task.name}\n{kind}: {message}"}  # fmt: skip
        if step:
            reason["step"] = step
        self.engine.fail_run(run_id=task.run_id, reason=reason, claim_token=task.claim_token)

    def wait(self, task: ClaimedTask, event: str, timeout: float | None) -> None:
        with suppress(WorkflowSuspended):
            self.engine.wait_for_event(
                run_id=task.run_id, task_id=task.task_id, step_name="approval", event_name=event,
                timeout_secs=timeout, claim_token=task.claim_token,
            )  # fmt: skip


_ORDER: Any = {"steps": ["reserve", "charge", "approval", "receipt"]}
_IMPORT: Any = {"queue": "imports", "steps": ["load", "parse", "store"], "max_attempts": 2}


def _play(night: _Night) -> None:
    engine = night.engine
    for place in range(5):
        night.at(f"02:{20 + 9 * place}:00")
        task = night.begin("send_receipt", f"web1:4711:{1 + place % 2}", params={"to": f"ann+{place}@shop"})
        night.step(task, "render", {"pages": 1 + place})
        night.step(task, "send", f"msg_{place}", took=2)
        night.complete(task, {"sent": True})

    night.at("02:58:00")
    quick = RetryStrategy(kind="fixed", base_seconds=30, jitter_factor=0)
    for place in range(3):
        task = night.begin("import_catalog", "batch:77:1", retry=quick, **_IMPORT)
        night.step(task, "load", {"rows": 7 + place}, took=3)
        night.step(task, "parse", ["ok"] * place, took=2)
        night.fail(task, "TimeoutError", "no answer from the warehouse", step="store")
        night.clock.advance(30)
        again = claim(engine, worker_id="batch:77:1", queue="imports")
        night.clock.advance(4)
        night.fail(again, "ValueError", f"row {7 + place} has no price", step="store")
    lost = night.begin("resize_image", "web1:4711:1", queue="media", max_attempts=1)
    night.fail(lost, "MemoryError", "photo of 412 MB")

    night.at("03:04:00")
    for order, amount, timeout in (("ord_17", 7200, 900.0), ("ord_18", 310, 482.0), ("ord_21", 95, None)):
        task = night.begin(
            "charge_order", "web1:4711:2", params={"order": order, "amount": amount},
            idempotency_key=f"charge:{order}", **_ORDER,
        )  # fmt: skip
        night.step(task, "reserve", {"shelf": "A4"})
        night.step(task, "charge", {"charge": f"ch_{order}"}, took=4)
        night.wait(task, f"approved:{order}", timeout)
    engine.emit_event(event_name="catalog.ready", payload={"rows": 3120})
    engine.emit_event(
        event_name="approved:ord_16",
        payload={"approved": True, "by": "ann"},
        actor="ann@desk",
        reason="she rang",
    )

    night.at("03:08:00")
    dropped = engine.spawn_task(name="remind", params={"to": "bob"})
    engine.cancel_task(dropped.task_id, actor="ann@desk (ssh from 10.0.0.7)", reason="paid meanwhile")
    slow = RetryStrategy(kind="exponential", base_seconds=300, jitter_factor=0)
    task = night.begin("sync_crm", "web2:90:1", retry=slow, max_attempts=6)
    night.fail(task, "ConnectionError", "the CRM does not answer")
    engine.spawn_task(name="remind", params={"to": "cy"}, available_after=timedelta(hours=6))
    task = night.begin("nightly_report", "web1:4711:1", steps=["collect", "rest", "print"])
    night.step(task, "collect", {"orders": 41}, took=6)
    with suppress(WorkflowSuspended):
        engine.sleep(
            run_id=task.run_id,
            task_id=task.task_id,
            step_name="rest",
            seconds=1800,
            claim_token=task.claim_token,
        )
    task = night.begin("from_next_release", "web1:4711:1")
    engine.defer_run(run_id=task.run_id, claim_token=task.claim_token)
    engine.wake_task(task.task_id, actor="ann@desk", reason="deployed")
    again = claim(engine, worker_id="web1:4711:1")
    engine.defer_run(run_id=again.run_id, claim_token=again.claim_token)
    for place in range(9):
        night.at(f"03:{8 + place // 3:02}:{20 + place % 3 * 15}")
        task = night.begin("send_receipt", "web1:4711:2", params={"to": f"eve+{place}@shop"}, queue="mail")
        night.step(task, "render", {"pages": 1})
        night.step(task, "send", f"msg_{place}", took=2)
        night.complete(task, {"sent": True})

    night.at("03:11:20")
    task = night.begin("resize_image", "web2:90:1", lease=33, queue="media", max_reclaims=0)
    night.step(task, "fetch", {"bytes": 5_242_880})
    night.begin("resize_image", "web2:90:2", lease=57, queue="media")
    task = night.begin("import_catalog", "batch:77:2", lease=900, **_IMPORT)
    night.step(task, "load", {"rows": 512}, took=12)
    engine.extend_claim(run_id=task.run_id, by_secs=1200, claim_token=task.claim_token, actor="ann@desk")

    night.at("03:11:48")
    for place in range(2):
        engine.spawn_task(
            name="send_receipt", params={"to": f"dee+{place}@shop"}, priority=place, queue="mail"
        )
    engine.set_state(namespace="feeds.crm", key="cursor", value={"page": 12, "since": "2026-03-01"})
    engine.set_state(namespace="feeds.shop", key="cursor", value=48213)
    engine.set_state(namespace="feeds.shop", key="token", value={"api_key": "sk-not-to-be-seen"})
    engine.set_state(
        namespace="limits", key="photo", value={"bytes": 300_000_000}, actor="ann@desk", reason="too slow"
    )
    engine.set_state(namespace="templates", key="approved", value={"approved": True, "by": ""})


def make(path: Path) -> None:
    """Make the store."""
    clock = ManualClock()
    clock.moment = NOW - timedelta(hours=1)
    with _same_every_time(clock):
        engine = DurableEngine(path, clock=clock, synchronous="NORMAL")
        _play(_Night(engine, clock))
        clock.moment = NOW
        assert engine.check() == ()
        engine.close()
