"""How a file is opened for reading: everything committed is seen, nothing is changed and nothing is left behind."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dura.errors import NotADuraStore, StoreBusy, StoreError, StoreNotFound
from dura.store.reading import Reader, Source

NOBODY = 65534


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=5)


def make(path: Path, *, journal: str = "wal", rows: int = 1) -> None:
    with closing(connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
        connection.execute("CREATE TABLE rows (n INTEGER)")
        connection.executemany("INSERT INTO rows VALUES (?)", [(n,) for n in range(rows)])
    age(path)


def age(path: Path) -> None:
    """Make the file's last write older than the file system's clock is coarse."""
    for file in (path, path.with_name(path.name + "-wal")):
        if file.exists():
            written = file.stat().st_mtime - 10
            os.utime(file, (written, written))


def add(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO rows VALUES (1)")


def count(connection: sqlite3.Connection, source: Source) -> tuple[str, int]:
    return source.manner, connection.execute("SELECT COUNT(*) FROM rows").fetchone()[0]


def beside(path: Path) -> dict[str, str]:
    """The files in the store's folder with their content; the log's index is the readers' own to write."""
    return {
        file.name: "" if file.name.endswith("-shm") else hashlib.sha256(file.read_bytes()).hexdigest()
        for file in path.parent.iterdir()
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user may enter and read, not write."""
    folder = Path(tempfile.mkdtemp(prefix="dura-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def reader(path: Path) -> Iterator[Reader]:
    with closing(Reader(str(path), busy_timeout=0.05)) as reader:
        yield reader


# --- beside a writer --------------------------------------------------------------------------------------------------


def test_reader_beside_a_writer_is_live_and_sees_each_commit(path: Path, reader: Reader) -> None:
    make(path)
    with closing(connect(path)) as writer:
        add(writer)
        assert reader.read(count) == ("live", 2)
        assert not reader.changed()
        add(writer)
        assert reader.changed()
        assert reader.changed(), "asking is no look"
        assert reader.read(count) == ("live", 3)
        assert not reader.changed()


def test_look_is_one_transaction_and_holds_nothing_afterwards(path: Path, reader: Reader) -> None:
    make(path)
    with closing(connect(path)) as writer:
        add(writer)

        def look(connection: sqlite3.Connection, source: Source) -> tuple[int, int]:
            before = count(connection, source)[1]
            add(writer)
            return before, count(connection, source)[1]

        assert reader.read(look) == (2, 2)
        assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        assert reader.read(count) == ("live", 3)


def test_any_thread_may_look(path: Path, reader: Reader) -> None:
    make(path)
    seen = [reader.read(count)]
    thread = threading.Thread(target=lambda: seen.append(reader.read(count)))
    thread.start()
    thread.join()
    assert seen == [("still", 1)] * 2


# --- nobody writes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["store.db", "a b.db", "what?mode=rwc.db", "50%25#1.db", "ünï'\"\\.db"])
def test_still_file_is_read_without_a_trace(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    make(path)
    before = beside(path)
    with closing(Reader(str(path))) as reader:
        assert reader.read(count) == ("still", 1)
        assert not reader.changed()
        assert beside(path) == before
    assert beside(path) == before


def test_path_that_is_no_utf8_is_read(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.db"))
    make(path)
    with closing(Reader(str(path))) as reader:
        assert reader.read(count) == ("still", 1)


def test_store_behind_a_link_is_read_with_its_log(tmp_path: Path, path: Path) -> None:
    make(path)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with closing(Reader(str(link))) as reader, closing(connect(path)) as writer:
        add(writer)
        assert reader.read(count) == ("live", 2)


def test_writer_that_comes_is_noticed_and_reading_turns_live(path: Path, reader: Reader) -> None:
    make(path)
    assert reader.read(count) == ("still", 1)
    with closing(connect(path)) as writer:
        add(writer)
        assert reader.changed()
        assert reader.read(count) == ("live", 2)


def test_writer_that_came_and_went_between_two_looks_is_noticed(path: Path, reader: Reader) -> None:
    make(path)
    assert reader.read(count) == ("still", 1)
    with closing(connect(path)) as writer:
        add(writer)
    assert reader.changed()
    assert reader.read(count) == ("still", 2)


def test_file_written_a_moment_ago_is_looked_at_again(path: Path, reader: Reader) -> None:
    make(path)
    os.utime(path)
    reader.read(count)
    assert reader.changed(), "a write in the same tick of the file system's clock would not show"
    age(path)
    assert reader.read(count) == ("still", 1)
    assert not reader.changed()


def test_look_that_a_writer_overtakes_is_repeated(path: Path, reader: Reader) -> None:
    make(path)
    looks = []

    def look(connection: sqlite3.Connection, source: Source) -> tuple[str, int]:
        looks.append(source.manner)
        if len(looks) == 1:
            with closing(connect(path)) as writer:
                add(writer)
            raise sqlite3.DatabaseError("what a page that is half old and half new looks like")
        return count(connection, source)

    assert reader.read(look)[1] == 2
    assert len(looks) == 2


def test_file_that_changes_at_every_attempt_is_reported_busy(path: Path, reader: Reader) -> None:
    make(path)

    def look(connection: sqlite3.Connection, source: Source) -> None:
        with closing(connect(path)) as writer:
            add(writer)

    with pytest.raises(StoreBusy, match="changed at each of"):
        reader.read(look)


def test_file_with_a_rollback_journal_is_read_beside_its_writer(path: Path, reader: Reader) -> None:
    make(path, journal="delete")
    assert reader.read(count) == ("still", 1)
    with closing(connect(path)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        add(writer)
        assert reader.read(count) == ("live", 1)
        writer.execute("COMMIT")
        assert reader.changed()
        assert reader.read(count) == ("live", 2)
    assert sorted(beside(path)) == ["store.db"]


# --- a log that nobody tends ------------------------------------------------------------------------------------------


def kill_while_writing(path: Path, rows: int) -> None:
    """A writer commits and is killed before it could put its log into the file."""
    script = (
        "import sqlite3, os, sys, signal\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for n in range(int(sys.argv[2])): c.execute('INSERT INTO rows VALUES (1)')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path), str(rows)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_rows_of_a_killed_writer_are_seen(path: Path, reader: Reader) -> None:
    make(path)
    kill_while_writing(path, 2)
    before = beside(path)
    assert reader.read(count) == ("live", 3)
    reader.close()
    assert beside(path) == before


def test_log_without_its_index_is_read_in_a_copy_that_leaves_no_trace(
    path: Path, reader: Reader, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    make(path)
    kill_while_writing(path, 2)
    path.with_name("store.db-shm").unlink()
    age(path)
    before = beside(path)
    assert reader.read(count) == ("copy", 3)
    assert not reader.changed()
    assert list(temporary.iterdir()) == []
    assert reader.read(count) == ("copy", 3), "the copy is read again"
    assert beside(path) == before

    kill_while_writing(path, 1)
    path.with_name("store.db-shm").unlink()
    assert reader.changed()
    assert reader.read(count) == ("copy", 4)


def test_copy_over_the_limit_is_refused_by_name_and_size(path: Path) -> None:
    make(path)
    kill_while_writing(path, 2)
    path.with_name("store.db-shm").unlink()
    with closing(Reader(str(path), copy_limit=1000)) as reader:
        with pytest.raises(
            StoreError, match=r"store\.db-wal \([0-9,]+ bytes\).*limit of 1,000 bytes"
        ) as caught:
            reader.read(count)
        assert caught.value.path == str(path)


# --- a user who may only read -----------------------------------------------------------------------------------------


def count_as_nobody(path: Path) -> list[object]:
    """What a user sees who may read the folder and not write it."""
    script = (
        "import json, os, sys\n"
        "sys.path[:0] = sys.argv[2:]\n"
        "from dura.store.reading import Reader\n"
        "from dura.errors import StoreError\n"
        f"os.getuid() or os.setuid({NOBODY})\n"
        "reader = Reader(sys.argv[1])\n"
        "query = lambda c, s: (s.manner, c.execute('SELECT COUNT(*) FROM rows').fetchone()[0])\n"
        "try: print(json.dumps(reader.read(query)))\n"
        "except StoreError as error: print(json.dumps([type(error).__name__, str(error)]))\n"
        "reader.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), *sys.path], check=True, capture_output=True, text=True
    )
    seen: list[object] = json.loads(done.stdout)
    return seen


@pytest.fixture
def foreign(open_folder: Path) -> Iterator[Path]:
    """A store that this user, or for root the user nobody, may read and not write."""
    path = open_folder / "store.db"
    make(path)
    path.chmod(0o644)
    yield path
    open_folder.chmod(0o755)


def lock_folder(path: Path) -> None:
    path.parent.chmod(0o555)
    for file in path.parent.iterdir():
        file.chmod(0o444)


def test_reader_without_permission_to_write_sees_a_still_file(foreign: Path) -> None:
    lock_folder(foreign)
    assert count_as_nobody(foreign) == ["still", 1]


def test_reader_without_permission_to_write_sees_a_live_writers_commits(foreign: Path) -> None:
    with closing(connect(foreign)) as writer:
        add(writer)
        lock_folder(foreign)
        assert count_as_nobody(foreign) == ["live", 2]


def test_reader_without_permission_to_write_sees_a_killed_writers_commits(foreign: Path) -> None:
    kill_while_writing(foreign, 2)
    lock_folder(foreign)
    before = beside(foreign)
    assert count_as_nobody(foreign)[1] == 3
    assert beside(foreign) == before


def test_reader_without_permission_to_write_sees_a_log_that_has_lost_its_index(foreign: Path) -> None:
    kill_while_writing(foreign, 2)
    foreign.with_name("store.db-shm").unlink()
    lock_folder(foreign)
    before = beside(foreign)
    assert count_as_nobody(foreign) == ["copy", 3]
    assert beside(foreign) == before


def test_reader_that_may_not_read_the_index_sees_the_log_in_a_copy(foreign: Path) -> None:
    kill_while_writing(foreign, 2)
    lock_folder(foreign)
    foreign.with_name("store.db-shm").chmod(0)
    assert count_as_nobody(foreign) == ["copy", 3]


def test_log_that_may_not_be_read_is_named(foreign: Path) -> None:
    kill_while_writing(foreign, 2)
    foreign.with_name("store.db-shm").unlink()
    lock_folder(foreign)
    foreign.with_name("store.db-wal").chmod(0)
    kind, message = count_as_nobody(foreign)
    assert kind == "StoreError"
    assert "store.db-wal" in str(message)


def test_file_that_may_not_be_read_is_named(foreign: Path) -> None:
    foreign.chmod(0)
    kind, message = count_as_nobody(foreign)
    assert kind == "StoreError"
    assert f"{foreign} cannot be opened" in str(message)


# --- what is no store, or is none any more ----------------------------------------------------------------------------


def test_missing_file_is_reported_and_found_once_it_is_there(path: Path, reader: Reader) -> None:
    with pytest.raises(StoreNotFound, match="there is no such file"):
        reader.read(count)
    assert reader.changed()
    make(path)
    assert reader.read(count) == ("still", 1)


def test_missing_folder_is_reported(path: Path) -> None:
    with pytest.raises(StoreNotFound):
        Reader(str(path / "deeper" / "store.db")).read(count)


def test_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(NotADuraStore, match="this is a folder"):
        Reader(str(tmp_path)).read(count)


def test_pipe_is_no_store_and_does_not_block(path: Path, reader: Reader) -> None:
    os.mkfifo(path)
    with pytest.raises(NotADuraStore, match="no regular file"):
        reader.read(count)


def test_file_that_is_no_database_is_no_store(path: Path, reader: Reader) -> None:
    path.write_bytes(os.urandom(8192))
    with pytest.raises(NotADuraStore, match="no SQLite database, or an encrypted one") as caught:
        reader.read(count)
    assert caught.value.path == str(path)


def test_damaged_file_is_named_with_the_remedy(path: Path, reader: Reader) -> None:
    make(path, rows=5000)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 4096))
    with pytest.raises(StoreError, match=r"store\.db is damaged .*\.recover") as caught:
        reader.read(count)
    assert type(caught.value) is StoreError


def test_exclusive_lock_of_another_process_is_reported_busy(path: Path, reader: Reader) -> None:
    make(path, journal="delete")
    script = (
        "import sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size=1'); c.execute('BEGIN EXCLUSIVE')\n"
        "c.executemany('INSERT INTO rows VALUES (?)', [(n,) for n in range(20000)])\n"
        "print('locked', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as locker:
        assert locker.stdout is not None
        assert locker.stdin is not None
        assert locker.stdout.readline() == "locked\n"
        with pytest.raises(StoreBusy, match="is locked"):
            reader.read(count)
        locker.stdin.close()
        locker.wait(60)
    assert reader.read(count)[1] == 1


def test_log_locked_by_another_connection_is_reported_busy(path: Path, reader: Reader) -> None:
    make(path)
    with closing(connect(path)) as writer:
        add(writer)
        writer.execute("PRAGMA locking_mode=EXCLUSIVE")
        add(writer)
        with pytest.raises(StoreBusy):
            reader.read(count)
    assert reader.read(count) == ("still", 3)


@pytest.mark.parametrize("live", [True, False])
def test_replaced_file_is_noticed(path: Path, tmp_path: Path, reader: Reader, live: bool) -> None:
    make(path)
    writer = connect(path)
    if live:
        add(writer)
    reader.read(count)
    writer.close()
    other = tmp_path / "other.db"
    make(other, rows=7)
    path.with_name("store.db-wal").unlink(missing_ok=True)
    path.with_name("store.db-shm").unlink(missing_ok=True)
    other.replace(path)
    assert reader.changed()
    assert reader.read(count) == ("still", 7)


@pytest.mark.parametrize("live", [True, False])
def test_deleted_file_is_reported_and_its_successor_read(path: Path, reader: Reader, live: bool) -> None:
    make(path)
    writer = connect(path)
    if live:
        add(writer)
    reader.read(count)
    writer.close()
    for file in path.parent.iterdir():
        file.unlink()
    assert reader.changed()
    with pytest.raises(StoreNotFound):
        reader.read(count)
    assert reader.changed()
    make(path, rows=4)
    assert reader.read(count) == ("still", 4)


def test_log_that_was_deleted_under_a_reader_does_not_hide_its_successor(path: Path, reader: Reader) -> None:
    make(path)
    with closing(connect(path)) as writer:
        add(writer)
        reader.read(count)
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.with_name("store.db-wal").unlink()
    path.with_name("store.db-shm").unlink()
    kill_while_writing(path, 1)
    assert reader.changed()
    assert reader.read(count) == ("live", 3)


# --- forks ------------------------------------------------------------------------------------------------------------


def test_child_of_a_fork_and_its_parent_open_anew(path: Path, reader: Reader) -> None:
    make(path)
    with closing(connect(path)) as writer:
        add(writer)
        reader.read(count)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if reader.changed() and reader.read(count) == ("live", 2) else 2
                reader.close()
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert reader.changed()
        assert reader.read(count) == ("live", 2)
        assert not reader.changed()
        add(writer)
        assert reader.changed()
        assert reader.read(count) == ("live", 3)
