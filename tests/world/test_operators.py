"""Another user, who may read a store and not write it: sees all that was committed, is told why acting fails, leaves no trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.shop import stock
from dura import DurableEngine
from world.mutations import age, trace
from world.visiting import Visitor, shared_folder, visitor

pytestmark = pytest.mark.xdist_group("visitor")

WRITER = """
import os, sys
from dura import DurableEngine
engine = DurableEngine(sys.argv[1])
for line in sys.stdin:
    engine.spawn_task(name="more", params=None)
    print("spawned", flush=True)
"""


@pytest.fixture(scope="module")
def nobody() -> Iterator[Visitor]:
    with visitor() as sent:
        yield sent


@pytest.fixture
def folder() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


class Writer:
    """Another process that writes, until it is killed or leaves."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def write(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "spawned\n"

    def leave(self) -> None:
        self.process.communicate(timeout=60)

    def die(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=60)


def close_to_writing(folder: Path) -> None:
    """Nobody but its owner may write the folder or anything in it."""
    folder.chmod(0o555)
    for file in folder.iterdir():
        file.chmod(0o444)


def all_answered(ends: dict[str, Any]) -> bool:
    """Whether every look was answered. A filter that finds nothing is answered with 1."""
    kinds = {end.partition(":")[0] for end in ends.values()}
    return kinds <= {"answered", "exit 0", "exit 1"} and "answered" in kinds


def all_refused(ends: dict[str, Any], *words: str) -> bool:
    """Whether every act was refused, and each refusal says which permission is missing."""
    kinds = {door: end.partition(":")[0] for door, end in ends.items()}
    # A check of a file that may be read is a look; and what does not fit the task is refused before anything is written.
    acts = {
        door: kind for door, kind in kinds.items() if kind != "exit 1" and door not in ("1 check", "2 check")
    }
    wordless = [ends[door] for door in acts if not any(word in ends[door] for word in words)]
    assert not wordless, wordless
    return set(acts.values()) <= {"exit 3", "StoreError", "worked in part"}


def test_a_store_at_rest_is_seen_and_left_alone(nobody: Visitor, folder: Path) -> None:
    shop = stock(folder / "store.db")
    age(folder)
    close_to_writing(folder)
    before = trace(folder)
    assert all_answered(nobody.visit(shop.path, shop.failed, "look"))
    assert trace(folder) == before
    assert all_refused(nobody.visit(shop.path, shop.failed, "act"), "write permission", "permission for")
    assert trace(folder) == before


def test_beside_a_live_writer_every_commit_is_seen(nobody: Visitor, folder: Path) -> None:
    shop = stock(folder / "store.db")
    writer = Writer(shop.path)
    writer.write()
    close_to_writing(folder)
    before = trace(folder)
    assert all_answered(nobody.visit(shop.path, shop.failed, "look"))
    assert nobody.watch(shop.path)[:2] == ["live", 9]
    assert trace(folder) == before
    assert all_refused(nobody.visit(shop.path, shop.failed, "act"), "write permission", "permission for")
    assert trace(folder) == before
    folder.chmod(0o755)
    writer.write()
    assert nobody.watch(shop.path) == ["live", 10, True]
    writer.leave()


@pytest.mark.parametrize("lost", ["nothing", "index"])
def test_what_a_dead_writer_has_committed_is_seen(nobody: Visitor, folder: Path, lost: str) -> None:
    shop = stock(folder / "store.db")
    writer = Writer(shop.path)
    writer.write()
    writer.die()
    if lost == "index":
        (folder / "store.db-shm").unlink()
    age(folder)
    close_to_writing(folder)
    before = trace(folder)
    assert all_answered(nobody.visit(shop.path, shop.failed, "look"))
    assert nobody.watch(shop.path)[1] == 9
    assert trace(folder) == before
    assert all_refused(nobody.visit(shop.path, shop.failed, "act"), "write permission", "permission for")
    assert trace(folder) == before


def test_a_writer_that_comes_goes_and_is_killed_while_the_monitor_stays_open(
    nobody: Visitor, folder: Path
) -> None:
    shop = stock(folder / "store.db")
    age(folder)
    close_to_writing(folder)
    assert nobody.watch(shop.path) == ["still", 8, True]
    folder.chmod(0o755)
    shop.path.chmod(0o644)
    first = Writer(shop.path)
    first.write()
    assert nobody.watch(shop.path) == ["live", 9, True]
    first.leave()
    manner, count, _ = nobody.watch(shop.path)
    assert count == 9
    second = Writer(shop.path)
    second.write()
    assert nobody.watch(shop.path)[1:] == [10, True]
    second.die()
    assert nobody.watch(shop.path)[1] == 10
    engine = DurableEngine(shop.path)
    engine.cancel_duplicate_tasks("more")
    engine.spawn_task(name="last", params=None)
    assert nobody.watch(shop.path)[1] == 11
    engine.close()
    assert nobody.watch(shop.path)[1] == 11
    assert manner in ("live", "still")


@pytest.mark.parametrize(
    ("what", "named"), [("file", "store.db"), ("folder", "store.db"), ("log", "store.db-wal")]
)
def test_what_may_not_even_be_read_is_named(nobody: Visitor, folder: Path, what: str, named: str) -> None:
    inner = folder / "inner"
    inner.mkdir()
    shop = stock(inner / "store.db")
    writer = Writer(shop.path)
    writer.write()
    writer.die()
    {"file": shop.path, "folder": inner, "log": inner / "store.db-wal"}[what].chmod(0)
    looks = nobody.visit(shop.path, shop.failed, "look")
    acts = nobody.visit(shop.path, shop.failed, "act")
    assert all_refused(acts, "permission"), acts
    assert {end.partition(":")[0] for end in looks.values()} <= {
        "StoreError",
        "exit 3",
        "exit 1",
        "a reason",
    }, looks
    assert all("permission" in end and named in end for end in looks.values()), looks
    assert nobody.watch(shop.path).startswith("StoreError")
    {"file": shop.path, "folder": inner, "log": inner / "store.db-wal"}[what].chmod(0o755)
    assert nobody.watch(shop.path)[1] == 9, "what may be read again is read again"


def test_an_operator_who_may_write_the_file_but_not_its_folder_is_told_of_the_folder(
    nobody: Visitor, folder: Path
) -> None:
    shop = stock(folder / "store.db")
    age(folder)
    shop.path.chmod(0o666)
    folder.chmod(0o555)
    before = trace(folder)
    assert all_answered(nobody.visit(shop.path, shop.failed, "look"))
    ends = nobody.visit(shop.path, shop.failed, "act")
    assert all_refused(ends, f"folder {folder}"), ends
    assert trace(folder) == before


def test_an_operator_who_may_write_both_acts_and_leaves_one_file(nobody: Visitor, folder: Path) -> None:
    shop = stock(folder / "store.db")
    shop.path.chmod(0o666)
    folder.chmod(0o777)
    ends = nobody.visit(shop.path, shop.failed, "act")
    assert ends["0 engine"].startswith("worked"), ends
    assert "exit 0" in ends.values()
    assert os.listdir(folder) == ["store.db"]
    assert shop.path.stat().st_uid == 0
