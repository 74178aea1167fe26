"""The feed: cheap looks, reads that never overlap, and a thread that ends when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from textual.message import Message

import dura_tui.feed
from conftest import wait_until
from dura.records import Snapshot, StoreFile, Want
from dura_tui.feed import Feed
from dura_tui.messages import NothingChanged, ReadFailed, SnapshotArrived

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EMPTY = Snapshot(
    taken_at=NOW,
    file=StoreFile(path="x", origin="dura", size=0, wal_size=0, reading="live"),
    counts=(),
    counts_exact=True,
    ready=0,
    oldest_due=None,
)


@pytest.fixture(autouse=True)
def hurried_by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No read because a while has passed, however busy the machine is."""
    monkeypatch.setattr(dura_tui.feed, "FULL_READ_SECONDS", 3600.0)


class Scripted:
    """A source that counts, and does what the test says."""

    def __init__(self) -> None:
        self.reads: list[Want] = []
        self.looks = 0
        self.dirty = False
        self.closed = 0
        self.inside = 0
        self.hold: Callable[[], object] = lambda: None

    def snapshot(self, want: Want = Want()) -> Snapshot:  # noqa: B008
        self.inside += 1
        assert self.inside == 1, "two reads overlap"
        self.hold()
        self.reads.append(want)
        self.dirty = False
        self.inside -= 1
        return EMPTY

    def changed(self) -> bool:
        self.looks += 1
        return self.dirty

    def close(self) -> None:
        self.closed += 1


def started(source: Scripted, refresh: float = 0.01) -> tuple[Feed, list[Message]]:
    posted: list[Message] = []
    feed = Feed(lambda: source, posted.append, refresh=refresh, clock=lambda: NOW)
    feed.start()
    return feed, posted


def test_a_quiet_store_is_looked_at_but_not_read() -> None:
    source = Scripted()
    feed, posted = started(source)
    wait_until(lambda: source.looks >= 5)
    feed.stop()
    wait_until(lambda: source.closed)
    assert len(source.reads) == 1
    assert isinstance(posted[0], SnapshotArrived)
    assert all(isinstance(message, NothingChanged) for message in posted[1:])
    assert source.closed == 1


def test_a_commit_another_want_and_a_request_are_each_read_at_once() -> None:
    source = Scripted()
    feed, _ = started(source, refresh=60)
    wait_until(lambda: len(source.reads) == 1)
    feed.want(Want(leases=5))
    wait_until(lambda: source.reads[-1] == Want(leases=5))
    feed.want(Want(leases=5))
    feed.read_now()
    wait_until(lambda: len(source.reads) == 3)
    feed.stop()
    source = Scripted()
    feed, _ = started(source)
    wait_until(lambda: source.looks)
    source.dirty = True
    wait_until(lambda: len(source.reads) == 2)
    feed.stop()


def test_a_slow_read_stretches_the_period_and_wants_meanwhile_become_one_read() -> None:
    source = Scripted()
    gate = threading.Event()
    source.hold = lambda: gate.wait(60)
    feed, _ = started(source)
    for count in range(1, 20):
        feed.want(Want(leases=count))
    gate.set()
    wait_until(lambda: source.reads and source.reads[-1] == Want(leases=19))
    feed.stop()
    assert len(source.reads) <= 3


def test_a_pause_stops_the_looks_and_what_is_asked_for_is_still_read() -> None:
    source = Scripted()
    feed, _ = started(source)
    wait_until(lambda: source.looks)
    feed.pause(True)
    feed.want(Want(leases=1))
    wait_until(lambda: source.reads[-1] == Want(leases=1))
    looks = source.looks
    feed.read_now()
    wait_until(lambda: len(source.reads) == 3)
    assert source.looks == looks
    feed.pause(False)
    wait_until(lambda: source.looks > looks)
    feed.stop()


def test_a_source_that_cannot_be_opened_is_tried_again() -> None:
    tries: list[int] = []
    source = Scripted()
    posted: list[Message] = []

    def open_source() -> Scripted:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("not\nyet")
        return source

    feed = Feed(open_source, posted.append, refresh=0.01, clock=lambda: NOW)
    feed.start()
    wait_until(lambda: source.reads)
    feed.stop()
    reasons = [message.reason for message in posted if isinstance(message, ReadFailed)]
    assert reasons == ["not\\nyet"] * 2
