"""Making a file a store of this version: a new one in an empty file, or an upgraded one of the 1.3.0 release."""

from __future__ import annotations

import os
import sqlite3
from typing import Final

from dura.errors import NotADuraStore, StoreBusy, StoreError, StoreNeedsUpgrade, StoreNotFound
from dura.store.connections import execute_once_free
from dura.store.database import Database
from dura.store.faults import faults_named, not_made
from dura.store.footprint import require_file, status
from dura.store.kinds import APPLICATION_ID, VERSION, Kind, recognise, refuse
from dura.store.scripts import statements
from dura.store.transaction import Transaction
from dura.store.upgrade import upgrade_1_3_0

_OLDEST_SQLITE: Final = (3, 37, 0)
"""The first that has STRICT tables."""


def prepare(database: Database, *, create: bool, upgrade: bool, mode: int | None = None) -> tuple[str, ...]:
    """Make sure that the file is a store of this version.

    Args:
        database: The door to the file.
        create: Whether a missing or empty file may become a new store.
        upgrade: Whether a 1.3.0 file may be upgraded.
        mode: The permissions of a file that is made, whatever the umask; None for those that the umask grants.

    Returns:
        What an upgrade did, a line a change; empty when nothing had to be done.

    Raises:
        StoreError: The file cannot be used; each subclass says why.
    """
    path = database.path
    _check_library(path)
    _check_path(path, create=create)
    if create:
        _make_file(path, mode)
    with faults_named(path), database.passing(mode="rwc" if create else "rw") as connection:
        found = recognise(connection)
        refuse(found, path)
        if found.kind is Kind.EMPTY:
            if not create:
                raise NotADuraStore(
                    f"{path}: the file is empty, so it is no dura store. Check the path.", path=path
                )
            _set_journal(connection, path, database.busy_seconds, fresh=True)
        elif found.kind is Kind.RELEASE_1_3_0:
            if not upgrade:
                raise StoreNeedsUpgrade(
                    f"{path}: the store was written by dura 1.3.0. Upgrade it first: stop its workers, then run "
                    f"`dura upgrade {path}`, or open it with DurableEngine(path).",
                    path=path,
                )
            _set_journal(connection, path, database.busy_seconds, fresh=False)
    if found.kind is Kind.OURS:
        return ()
    return database.write(lambda tx: _build(tx, path))


def _build(tx: Transaction, path: str) -> tuple[str, ...]:
    """Create or upgrade, having looked again: other processes may have been faster, also a newer dura's, or a stranger's."""
    found = recognise(tx.connection)
    refuse(found, path)
    report: tuple[str, ...] = ()
    if found.kind is Kind.EMPTY:
        for statement in (*statements("schema.sql"), *statements("indexes.sql")):
            tx.execute(statement)
        label(tx)
    elif found.kind is Kind.RELEASE_1_3_0:
        report = upgrade_1_3_0(tx)
        label(tx)
    tx.link.look_for_triggers(tx.connection)
    return report


def label(tx: Transaction) -> None:
    """Write the schema's version, and the header's numbers where the application has left them at zero."""
    tx.execute(
        "INSERT INTO state (namespace, key, value, updated_at) VALUES ('dura.schema', 'version', ?, ?) "
        "ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        (str(VERSION), tx.now),
    )
    header = [tx.execute(f"PRAGMA {field}").fetchone()[0] for field in ("application_id", "user_version")]
    if header == [0, 0]:
        tx.execute(f"PRAGMA application_id={APPLICATION_ID}")
        tx.execute(f"PRAGMA user_version={VERSION}")


def _check_library(path: str) -> None:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        needed = ".".join(map(str, _OLDEST_SQLITE))
        raise StoreError(
            f"{path}: this Python comes with SQLite {sqlite3.sqlite_version}, and dura needs {needed} or newer. "
            "Use a newer Python or SQLite library.",
            path=path,
        )


def _check_path(path: str, *, create: bool) -> None:
    found = status(path, path)
    if found is not None:
        require_file(found, path)
        # SQLite takes a file of one byte for an empty one, and would write over it.
        if found.st_size == 1:
            raise NotADuraStore(f"{path}: this file of one byte is no dura store. Check the path.", path=path)
    elif not create:
        raise StoreNotFound(f"{path}: there is no such file. Check the path.", path=path)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise StoreNotFound(f"{path}: the folder {folder} does not exist. Create it first.", path=path)


def _make_file(path: str, mode: int | None) -> None:
    """Make an empty file, unless there is one, with these permissions, or those that the umask grants.

    SQLite by itself would grant fewer; to a log and its index it gives the permissions of the file. A file that exists is not
    opened: closing it would drop the locks of this process's other connections to it. A link to a file that is still to be
    made is followed, or SQLite would make that file in its own way.
    """
    target, asked = os.path.realpath(path), 0o666 if mode is None else mode
    try:
        file = os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, asked)
        try:
            if mode is not None:
                os.fchmod(file, mode)
        finally:
            os.close(file)
    except FileExistsError:
        return
    except OSError as error:
        raise not_made(error, path) from error


def _set_journal(connection: sqlite3.Connection, path: str, timeout: float, *, fresh: bool) -> None:
    if fresh:
        # Only before the first table, and before WAL, can a file be made to give freed pages back.
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    # Where another process is just doing the same, SQLite refuses at once, whatever the busy timeout.
    mode = execute_once_free(connection, "PRAGMA journal_mode=WAL", timeout).fetchone()[0]
    if mode == "delete" and recognise(connection).kind is Kind.EMPTY:
        raise StoreBusy(f"{path}: another process is just creating the store. Try again.", path=path)
    if mode != "wal":
        raise StoreError(
            f"{path}: the file system does not allow SQLite's write-ahead log (journal mode stays {mode!r}). "
            "Keep the store on a local disk.",
            path=path,
        )
