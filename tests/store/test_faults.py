"""SQLite's own errors, provoked, and the class and text that they become: each names the file and a remedy."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dura.errors import NotADuraStore, StoreBusy, StoreError, StoreNotFound
from dura.store.faults import faults_named, translate


def locked(path: Path) -> None:
    with closing(sqlite3.connect(path)) as first, closing(sqlite3.connect(path, timeout=0)) as second:
        first.execute("BEGIN EXCLUSIVE")
        second.execute("SELECT * FROM rows")


def full(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA max_page_count=2")
        connection.executemany("INSERT INTO rows VALUES (?)", [("x" * 4000,)] * 10)


def read_only(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.execute("INSERT INTO rows VALUES (1)")


def too_big(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
        connection.execute("INSERT INTO rows VALUES (zeroblob(2000))")


def no_database(path: Path) -> None:
    path.write_bytes(os.urandom(4096))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM rows")


def damaged(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(4096))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM rows").fetchall()


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    sqlite3.connect(path)


def missing(path: Path) -> None:
    path.unlink()
    sqlite3.connect(f"file:{path}?mode=rw", uri=True)


def missing_folder(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    sqlite3.connect(path)


def moved(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM rows").fetchall()
        path.rename(path.with_suffix(".old"))
        path.touch()
        connection.execute("INSERT INTO rows VALUES (1)")


def unknown(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT oddity FROM rows")


@pytest.mark.parametrize(
    ("provoke", "kind", "remedy"),
    [
        (locked, StoreBusy, "Try again"),
        (full, StoreError, "Free some space"),
        (read_only, StoreError, "write permission"),
        (too_big, StoreError, "at most 1 GB"),
        (no_database, NotADuraStore, "no SQLite database"),
        (damaged, StoreError, "dura check"),
        (folder, NotADuraStore, "Name a file"),
        (missing, StoreNotFound, "Check the path"),
        (missing_folder, StoreNotFound, "there is no folder"),
        (moved, StoreError, "moved, replaced or deleted"),
        (unknown, StoreError, "no such column: oddity"),
    ],
)
def test_error_of_sqlite_becomes_one_that_names_the_file_and_the_remedy(
    tmp_path: Path, provoke: Callable[[Path], None], kind: type[StoreError], remedy: str
) -> None:
    path = tmp_path / "in" / "a {curious} name.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE rows (value)")
        connection.execute("INSERT INTO rows VALUES (1)")
    with pytest.raises(StoreError) as caught, faults_named(str(path)):
        provoke(path)
    assert type(caught.value) is kind
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)
    assert remedy in str(caught.value)
    assert isinstance(caught.value.__cause__, sqlite3.Error)


def test_failing_disk_is_named() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_IOERR_FSYNC, "SQLITE_IOERR_FSYNC"
    assert "disk that holds /x/store.db failed (SQLITE_IOERR_FSYNC)" in str(translate(error, "/x/store.db"))


def test_error_without_a_code_keeps_its_text() -> None:
    assert "odd" in str(translate(sqlite3.OperationalError("odd"), "/x/store.db"))


def test_misuse_of_the_module_passes_through(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.close()
    with pytest.raises(sqlite3.ProgrammingError), faults_named("store.db"):
        connection.execute("SELECT 1")


def test_bytes_where_text_belongs_are_damage(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    with pytest.raises(StoreError, match="seems to be damaged") as caught, faults_named(path):
        b"\xff".decode()
    assert caught.value.path == path


_WITHOUT_DESCRIPTORS = """
import os, resource, sys
from dura import DurableEngine, StoreError
from dura.monitor import Monitor

engine, monitor = DurableEngine(sys.argv[1]), Monitor(sys.argv[1])
engine.close()
monitor.snapshot()
monitor.close()
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
calls = [engine.task_counts_by_state, lambda: DurableEngine(sys.argv[1] + "2"), monitor.snapshot]
for call in calls * 2:
    try:
        call()
    except StoreError as error:
        print(error)
    if call is calls[-1]:
        os.close(taken.pop())
while taken:
    os.close(taken.pop())
print(engine.task_counts_by_state())
engine.close()
"""


def test_a_process_without_descriptors_is_told_so_and_not_of_permissions(path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _WITHOUT_DESCRIPTORS, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    *refusals, counts = ended.stdout.splitlines()
    assert counts == "{}"
    assert len(refusals) >= 5
    assert all("cannot be opened: this process, or the system, has as many" in line for line in refusals)
