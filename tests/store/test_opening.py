"""Opening: a new store, an old one, many at once, and every path that cannot be a store, each named with its remedy."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import plain, rows, started
from dura import (
    DurableEngine,
    InvalidValue,
    NotADuraStore,
    StoreError,
    StoreNotFound,
    StoreTooNew,
)
from dura.monitor import Monitor
from store.openers import open_at


def refused(path: Path | str, kind: type[StoreError] = StoreError, **options: Any) -> StoreError:
    with pytest.raises(kind) as error:
        DurableEngine(path, **options)
    assert error.value.path == str(path)
    assert str(path) in str(error.value) or not str(path)
    return error.value


def test_a_new_store_is_ours_by_number_and_gives_freed_pages_back(path: Path) -> None:
    DurableEngine(path).close()
    with plain(path) as other:
        facts = {
            fact: other.execute(f"PRAGMA {fact}").fetchone()[0]
            for fact in ("application_id", "user_version", "journal_mode", "auto_vacuum")
        }
    assert facts == {"application_id": 0x64757261, "user_version": 2, "journal_mode": "wal", "auto_vacuum": 2}
    assert {name for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")} == {
        "tasks", "runs", "checkpoints", "events", "waits", "state",
    }  # fmt: skip


def test_an_engine_stays_with_its_file_when_the_program_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    DurableEngine(tmp_path / "elsewhere" / "store.db").close()
    monkeypatch.chdir(tmp_path)
    engine = DurableEngine("store.db")
    monkeypatch.chdir("elsewhere")
    started(engine)
    engine.close()
    assert engine.task_counts_by_state() == {"running": 1}
    engine.close()
    assert rows(tmp_path / "elsewhere" / "store.db", "SELECT * FROM tasks") == []


@pytest.mark.parametrize("opens", [DurableEngine, Monitor])
def test_a_path_that_begins_in_a_deleted_folder_is_refused(
    opens: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(
        StoreNotFound, match=r"store\.db: the working folder, .* give the whole path"
    ) as error:
        opens("store.db")
    assert error.value.path == "store.db"
    with closing(opens(tmp_path / "store.db")):
        pass


def test_a_closed_store_is_one_file(path: Path, tmp_path: Path) -> None:
    engine = DurableEngine(path)
    started(engine)
    assert engine.db_path == str(path)
    engine.close()
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]
    assert engine.task_counts_by_state() == {"running": 1}
    engine.close()
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]


def test_opening_a_store_again_changes_nothing(path: Path) -> None:
    DurableEngine(path).close()
    before = path.read_bytes()
    every: list[dict[str, Any]] = [{}, {"create": False}, {"upgrade": False}]
    for options in every:
        engine = DurableEngine(path, **options)
        assert engine.upgrade_report == ()
        engine.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("as_text", [True, False], ids=["str", "Path"])
@pytest.mark.parametrize(
    "name", ["with space.db", "a?b.db", "a#b.db", "a%20b.db", "ü☃.db", "a&mode=ro.db", "-x", "'"]
)
def test_any_file_name_is_taken_as_it_is(tmp_path: Path, name: str, as_text: bool) -> None:
    path = tmp_path / name
    engine = DurableEngine(str(path) if as_text else path)
    started(engine)
    engine.close()
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_link_leads_to_its_file(tmp_path: Path) -> None:
    link, target = tmp_path / "link.db", tmp_path / "target.db"
    link.symlink_to(target)
    engine = DurableEngine(link)
    started(engine)
    engine.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.db", "target.db"]
    engine = DurableEngine(target, create=False)
    assert engine.task_counts_by_state() == {"running": 1}
    engine.close()


@pytest.mark.parametrize("busy_timeout_ms", [0, 1, 2**31 - 1])
def test_the_busy_timeout_may_be_as_long_as_sqlite_counts(path: Path, busy_timeout_ms: int) -> None:
    engine = DurableEngine(path, busy_timeout_ms=busy_timeout_ms)
    started(engine)
    engine.close()


def test_a_relative_path_stays_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    engine = DurableEngine("store.db")
    started(engine)
    engine.close()
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]


def test_an_empty_file_becomes_a_store_only_if_one_may_be_made(path: Path) -> None:
    path.touch()
    error = refused(path, NotADuraStore, create=False)
    assert "empty" in str(error)
    assert path.stat().st_size == 0
    DurableEngine(path).close()
    assert path.stat().st_size > 0


def test_a_missing_file_is_made_only_if_it_may_be(path: Path) -> None:
    refused(path, StoreNotFound, create=False)
    assert not path.exists()


def test_a_missing_folder_is_never_made(tmp_path: Path) -> None:
    for create in (True, False):
        refused(tmp_path / "no" / "store.db", StoreNotFound, create=create)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    assert "folder" in str(refused(tmp_path))


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_a_store_is_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        {"db_path": None}, {"db_path": 5}, {"db_path": ["a"]}, {"synchronous": "OFF"}, {"synchronous": "full"},
        {"synchronous": None}, {"busy_timeout_ms": -1}, {"busy_timeout_ms": 1.5}, {"busy_timeout_ms": None},
        {"busy_timeout_ms": True}, {"busy_timeout_ms": 2**31}, {"db_path": "a\x00b"}, {"db_path": b"bytes"},
    ],
    ids=repr,
)  # fmt: skip
def test_wrong_options_are_refused_before_anything_is_made(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InvalidValue, StoreError)):
        DurableEngine(**{"db_path": path, **options})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"x", b"not a database" * 500, b"\x00" * 4096, b"SQLite format 3\x00"], ids=len
)
def test_a_file_that_is_no_database_is_left_as_it_is(path: Path, tmp_path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for create in (True, False):
        refused(path, create=create)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.parametrize(
    ("tables", "because"),
    [
        ("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)", "has no table"),
        ("CREATE TABLE tasks (id INTEGER PRIMARY KEY)", "has no column"),
        ("CREATE TABLE events (event_name TEXT); CREATE TABLE state (key TEXT)", "has no table"),
    ],
)
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_another_programs_database_is_left_as_it_is(
    path: Path, tmp_path: Path, tables: str, because: str, journal: str
) -> None:
    with plain(path) as other:
        other.execute(f"PRAGMA journal_mode={journal}")
        other.executescript(tables)
        other.execute("PRAGMA user_version=42")
    before = path.read_bytes()
    for options in ({}, {"create": False}, {"upgrade": False}):
        error = refused(path, NotADuraStore, **options)
        assert because in str(error)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.parametrize("how", ["header", "state", "both"])
def test_a_newer_store_is_left_as_it_is(path: Path, how: str) -> None:
    DurableEngine(path).close()
    with plain(path) as other:
        if how in ("header", "both"):
            other.execute("PRAGMA user_version=3")
        if how in ("state", "both"):
            other.execute("UPDATE state SET value = '3' WHERE namespace = 'dura.schema' AND key = 'version'")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    error = refused(path, StoreTooNew)
    assert "version 3" in str(error)
    assert path.read_bytes() == before


def test_a_program_of_1_3_0_cannot_open_a_new_store(path: Path) -> None:
    """The first thing that such a program does which is not done already."""
    DurableEngine(path).close()
    with plain(path) as program, pytest.raises(sqlite3.OperationalError, match="already a table named"):
        program.execute("CREATE INDEX IF NOT EXISTS runs_state_available ON runs (state, available_at)")


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that other users can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="dura-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def unprivileged() -> Iterator[None]:
    """As a user whom permissions bind, also where the tests run as root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_store_that_may_not_be_written_is_named_with_the_remedy(shared_folder: Path) -> None:
    path = shared_folder / "store.db"
    DurableEngine(path).close()
    before = path.read_bytes()
    path.chmod(0o444)
    shared_folder.chmod(0o555)
    with unprivileged(), pytest.raises(StoreError, match="permission") as error:
        DurableEngine(path, create=False).spawn_task(name="job", params=None)
    assert str(path) in str(error.value)
    assert path.read_bytes() == before


def test_a_folder_in_which_nothing_may_be_made_is_named(shared_folder: Path) -> None:
    shared_folder.chmod(0o555)
    path = shared_folder / "store.db"
    with unprivileged():
        assert "permission" in str(refused(path))
    assert list(shared_folder.iterdir()) == []


# --- many at once ----------------------------------------------------------------------------------------------------


def test_eight_processes_that_open_one_new_file_make_one_store(path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    moment = time.monotonic() + 1.5
    with ProcessPoolExecutor(max_workers=8, mp_context=spawn) as pool:
        outcomes = list(pool.map(open_at, [str(path)] * 8, [moment] * 8, "aabbccdd"))
    assert [report for report, _ in outcomes] == [()] * 8
    assert sum(created for _, created in outcomes) == 4
    engine = DurableEngine(path)
    assert engine.check() == ()
    assert engine.task_counts_by_state() == {"pending": 4}
    with plain(path) as other:
        assert other.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    engine.close()


def test_a_second_engine_of_the_same_process_sees_the_first_ones_work(path: Path) -> None:
    one, two = DurableEngine(path), DurableEngine(path)
    ref = one.spawn_task(name="job", params=None)
    assert two.get_task(ref.task_id).state == "pending"
    two.cancel_task(ref.task_id)
    assert one.get_task(ref.task_id).state == "cancelled"
    one.close()
    two.close()


# --- the file goes away while it is open -----------------------------------------------------------------------------


def test_a_store_that_was_deleted_while_open_takes_no_more_writes(path: Path) -> None:
    engine = DurableEngine(path)
    started(engine)
    path.unlink()
    with pytest.raises(StoreNotFound, match="deleted"):
        engine.spawn_task(name="job", params=None)
    assert not path.exists(), "a write into nowhere would have been lost"
    engine.close()


def test_a_store_that_was_replaced_while_open_takes_no_more_writes(path: Path, tmp_path: Path) -> None:
    engine = DurableEngine(path)
    task = started(engine)
    engine.close()
    engine.get_task(task.task_id)
    other = tmp_path / "other.db"
    DurableEngine(other).close()
    os.replace(other, path)
    with pytest.raises(StoreError, match="replaced"):
        engine.complete_run(run_id=task.run_id)
    engine.close()
    assert engine.task_counts_by_state() == {}
    engine.spawn_task(name="job", params=None)
    engine.close()


def test_a_store_that_was_deleted_between_two_uses_is_named(path: Path) -> None:
    engine = DurableEngine(path)
    engine.close()
    path.unlink()
    for call in (engine.task_counts_by_state, lambda: engine.spawn_task(name="job", params=None)):
        with pytest.raises(StoreNotFound, match=r"store\.db"):
            call()
    assert not path.exists()
    engine.close()


def test_a_store_whose_tables_are_gone_is_named(path: Path) -> None:
    engine = DurableEngine(path)
    engine.close()
    path.unlink()
    sqlite3.connect(path).close()
    with pytest.raises(StoreError, match=r"store\.db"):
        engine.spawn_task(name="job", params=None)
    engine.close()


def test_an_sqlite_library_that_is_too_old_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreError, match=r"dura needs 3\.37\.0 or newer"):
        DurableEngine(path)
    assert not path.exists()
