"""A store in a bad world, at every door: locked, half gone, replaced, no file at all, on a full disk, on one that is read-only."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.shop import Shop, stock
from conftest import plain
from dura import DurableEngine, StoreError
from world.doors import (
    Door,
    acting_command,
    engine,
    feed,
    looking_command,
    once,
    once_as_json,
    snapshot,
    told,
)
from world.mutations import age, trace

LOOKS: tuple[Door, ...] = (snapshot, feed, once, once_as_json, *map(looking_command, range(10)))
ACTS: tuple[Door, ...] = (engine, *map(acting_command, range(9)))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    folder = tmp_path / "world"
    folder.mkdir()
    return stock(folder / "store.db")


def look(shop: Shop) -> list[str]:
    """How every door that looks ended. None of them leaves a trace."""
    folder = shop.path.parent
    before = trace(folder)
    ends = []
    for door in LOOKS:
        ends.append(door(shop.path, shop.failed))
        assert trace(folder) == before, f"{door.__name__} left a trace: {os.listdir(folder)}"
    return ends


def act(shop: Shop) -> list[str]:
    """How every door that acts ended."""
    return [door(shop.path, shop.pending) for door in ACTS]


def kinds(ends: list[str]) -> set[str]:
    return {end.partition(":")[0] for end in ends}


ANSWERED = {"answered", "exit 0", "exit 1"}


# --- locked -----------------------------------------------------------------------------------------------------------


def test_a_foreign_writer_that_keeps_the_lock_hinders_no_look_and_is_named_to_who_acts(shop: Shop) -> None:
    with plain(shop.path) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM events")
        assert kinds(look(shop)) <= ANSWERED
        ends = act(shop)
        assert all("locked" in end for end in ends if end.startswith(("exit 3", "StoreBusy"))), ends
        assert kinds(ends) <= {"exit 0", "exit 3", "worked in part", "StoreBusy"}
        assert sum(end.startswith("exit 3") for end in ends) >= 6
        writer.execute("ROLLBACK")
    assert kinds(act(shop)) <= {"worked", "worked in part", "exit 0", "exit 1"}


def test_a_foreign_program_that_lets_nobody_in_is_waited_for_with_a_bound_and_named(shop: Shop) -> None:
    with closing(sqlite3.connect(shop.path, isolation_level=None)) as writer:
        writer.execute("PRAGMA locking_mode=EXCLUSIVE")
        writer.execute("DELETE FROM events WHERE 0")
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("INSERT INTO state VALUES ('n', 'k', '1', '2026')")
        # It keeps no index of its log, so that what is committed can still be read in a copy.
        assert kinds(look(shop)) <= ANSWERED
        ends = act(shop)
        assert kinds(ends) <= {"StoreBusy", "exit 3"}, ends
        assert all("locked" in end for end in ends), ends


# --- half gone --------------------------------------------------------------------------------------------------------


@pytest.fixture
def killed(shop: Shop) -> Shop:
    """A store whose writer was killed: what it did last is in the log alone."""
    folder = shop.path.parent
    opened = DurableEngine(shop.path)
    for number in range(3):
        opened.spawn_task(name="last", params={"n": number})
    kept = {file.name: file.read_bytes() for file in folder.iterdir()}
    opened.close()
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    age(folder)
    return shop


def count(shop: Shop) -> int:
    with closing(DurableEngine(shop.path)) as opened:
        assert opened.check() == ()
        return sum(opened.task_counts_by_state().values())


def test_a_log_without_its_index_is_not_overlooked(killed: Shop) -> None:
    killed.path.with_name("store.db-shm").unlink()
    assert kinds(look(killed)) <= ANSWERED
    assert count(killed) == 11


def test_a_store_whose_log_was_deleted_is_as_it_was_before_the_log(killed: Shop) -> None:
    killed.path.with_name("store.db-wal").unlink()
    assert kinds(look(killed)) <= ANSWERED
    assert count(killed) == 8


def test_a_stale_log_of_an_earlier_day_is_not_taken_for_the_stores(killed: Shop) -> None:
    stale = killed.path.with_name("store.db-wal").read_bytes()
    with closing(DurableEngine(killed.path)) as opened:
        for number in range(200):
            opened.spawn_task(name="newer", params={"n": number})
    killed.path.with_name("store.db-wal").write_bytes(stale)
    age(killed.path.parent)
    ends = look(killed)
    assert kinds(ends) <= {*ANSWERED, "StoreError", "exit 3", "a reason"}
    acted = act(killed)
    assert kinds(acted) <= {*ANSWERED, "worked", "worked in part", "StoreError", "exit 3"}


@pytest.mark.parametrize("what", ["empty log", "log of zeros", "log of another store", "folder for a log"])
def test_a_log_that_is_none_is_ignored_or_named(shop: Shop, tmp_path: Path, what: str) -> None:
    log = shop.path.with_name("store.db-wal")
    match what:
        case "empty log":
            log.touch()
        case "log of zeros":
            log.write_bytes(bytes(40_000))
        case "log of another store":
            with closing(DurableEngine(tmp_path / "other.db")) as other:
                other.spawn_task(name="other", params=None)
                shutil.copy(tmp_path / "other.db-wal", log)
        case _:
            log.mkdir()
    if log.is_file():
        age(shop.path.parent)
    before = {file.name for file in shop.path.parent.iterdir()}
    for door in LOOKS:
        assert door(shop.path, shop.failed).partition(":")[0] in {
            *ANSWERED,
            "StoreError",
            "exit 3",
            "a reason",
        }
    assert {file.name for file in shop.path.parent.iterdir()} == before
    assert kinds(act(shop)) <= {*ANSWERED, "worked", "worked in part", "StoreError", "exit 3"}


# --- no file ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["pipe", "socket", "folder", "nothing", "link to nothing", "loop of links", "empty", "one byte"]
)
def test_what_is_no_file_is_named_at_every_door_and_waited_for_at_none(shop: Shop, what: str) -> None:
    path = shop.path
    path.unlink()
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        match what:
            case "pipe":
                os.mkfifo(path)
            case "socket":
                listener.bind(str(path))
            case "folder":
                path.mkdir()
            case "link to nothing":
                path.symlink_to(path.with_name("nothing"))
            case "loop of links":
                path.symlink_to(path)
            case "empty":
                path.touch()
            case "one byte":
                path.write_bytes(b"x")
            case _:
                pass
        there = sorted(os.listdir(path.parent))
        refused = {"StoreNotFound", "NotADuraStore", "StoreError", "exit 3", "exit 1", "a reason"}
        for door in (*LOOKS, *ACTS):
            end = door(path, shop.failed)
            assert end.partition(":")[0] in refused, (door.__name__, end)
            assert any(word in end for word in ("Check", "Name", "no dura store")), (door.__name__, end)
        assert sorted(os.listdir(path.parent)) == there


# --- while it is open -------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(shop: Shop) -> Iterator[DurableEngine]:
    opened = DurableEngine(shop.path, busy_timeout_ms=300)
    opened.spawn_task(name="first", params=None)
    yield opened
    opened.close()


@pytest.mark.parametrize("what", ["deleted", "replaced", "truncated", "log deleted", "moved away and back"])
def test_a_store_that_changes_its_file_while_it_is_open_is_named_or_goes_on(
    shop: Shop, opened: DurableEngine, tmp_path: Path, what: str
) -> None:
    path, log = shop.path, shop.path.with_name("store.db-wal")
    match what:
        case "deleted":
            path.unlink()
        case "replaced":
            with closing(DurableEngine(tmp_path / "other.db")):
                pass
            (tmp_path / "other.db").replace(path)
        case "truncated":
            os.truncate(path, 5_000)
        case "log deleted":
            log.unlink()
        case _:
            path.rename(tmp_path / "aside")
            (tmp_path / "aside").rename(path)
    calls: tuple[Callable[[], object], ...] = (
        lambda: opened.spawn_task(name="second", params=None),
        lambda: opened.claim_task(worker_id="w"),
        opened.task_counts_by_state,
        lambda: opened.update_state(namespace="n", key="k", fn=lambda _: 1),
    )
    for call in calls:
        try:
            call()
        except StoreError as error:
            told(error, path)
            if what == "moved away and back":
                raise
    for door in (snapshot, feed, looking_command(0)):
        door(path, shop.failed)


# --- disks ------------------------------------------------------------------------------------------------------------


def test_disks_that_are_full_or_read_only_are_named_and_read_without_a_trace(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        pytest.skip("a disk of our own takes a mount namespace, which this system does not grant")
    program = Path(__file__).with_name("smalldisk.py")
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, str(program), str(tmp_path)],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ends: dict[str, dict[str, Any]] = json.loads(done.stdout)

    def of(world: str, doors: str) -> list[str]:
        return [end for door, end in ends[world].items() if door.startswith(doors)]

    for world in ("read-only", "full", "roomy, with a log", "roomy"):
        assert kinds(of(world, "look")) <= ANSWERED, world
    assert kinds(of("read-only", "act")) <= {"exit 3", "StoreError"}
    assert all("may not be written" in end or "cannot be opened" in end for end in of("read-only", "act"))
    full = of("full", "act")
    assert kinds(full) <= {"exit 3", "worked in part", "StoreError", "exit 0", "exit 1"}
    assert all("full" in end for end in full if end.startswith(("exit 3", "StoreError"))), full
    assert kinds(of("full, with a log", "look")) <= {"StoreError", "exit 3", "exit 1", "a reason"}
    assert all("room" in end for end in of("full, with a log", "look"))
    assert kinds(of("roomy", "act")) <= {"worked", "worked in part", "exit 0", "exit 1"}
