"""What a file is. Recognised by its tables, not by a version number.

It may be ours, a file of the dura 1.3.0 release (the six tables with that release's columns, perhaps inside an
application's own database), a file of a newer dura, or something else, to which nothing is ever written.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from dura.errors import NotADuraStore, StoreTooNew

APPLICATION_ID: Final = 0x64757261
"""`dura` in ASCII, in the header of every file whose application has not put its own number there."""

VERSION: Final = 2
"""The schema's version: `user_version` where the file is ours alone, and state key `dura.schema`/`version` anywhere."""

COLUMNS_1_3_0: Final = {
    "tasks": [
        "task_id",
        "task_name",
        "params",
        "state",
        "attempts",
        "max_attempts",
        "retry_strategy",
        "enqueue_at",
        "first_started_at",
        "last_attempt_run",
        "completed_payload",
        "terminal_at",
        "idempotency_key",
    ],
    "runs": [
        "run_id",
        "task_id",
        "attempt",
        "state",
        "claimed_by",
        "claim_expires_at",
        "available_at",
        "wake_event",
        "event_payload",
        "started_at",
        "completed_at",
        "failed_at",
        "result",
        "failure_reason",
        "priority",
    ],
    "checkpoints": ["task_id", "checkpoint_name", "state", "owner_run_id", "updated_at"],
    "events": ["event_name", "payload", "emitted_at"],
    "waits": ["run_id", "step_name", "task_id", "event_name", "timeout_at"],
    "state": ["namespace", "key", "value", "updated_at"],
}
"""The six tables as the 1.3.0 release makes them."""

OUR_COLUMNS: Final = {
    "tasks": ["queue", "steps", "max_reclaims"],
    "runs": ["queue", "claim_token", "reclaims", "sleep_cause", "deferrals"],
    "events": ["emitted_by"],
}
"""What this version adds to them."""


class Kind(Enum):
    """What a file holds."""

    EMPTY = auto()
    OURS = auto()
    RELEASE_1_3_0 = auto()
    NEWER = auto()
    FOREIGN = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Recognised:
    """A file's kind, and for a foreign or newer one the fact that decided."""

    kind: Kind
    because: str = ""


def recognise(connection: sqlite3.Connection) -> Recognised:
    """Look at the tables and say what the file is."""
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return Recognised(kind=Kind.EMPTY)
    columns = {
        table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for table in COLUMNS_1_3_0
    }
    for table, expected in COLUMNS_1_3_0.items():
        if table not in tables:
            return Recognised(kind=Kind.FOREIGN, because=f"it has no table {table!r}")
        missing = [column for column in expected if column not in columns[table]]
        if missing:
            return Recognised(kind=Kind.FOREIGN, because=f"its table {table!r} has no column {missing[0]!r}")
    version = _version(connection)
    if version > VERSION:
        return Recognised(
            kind=Kind.NEWER, because=f"its schema is version {version}, this dura knows {VERSION}"
        )
    if all(column in columns[table] for table, added in OUR_COLUMNS.items() for column in added):
        return Recognised(kind=Kind.OURS)
    return Recognised(kind=Kind.RELEASE_1_3_0)


def _version(connection: sqlite3.Connection) -> int:
    row = connection.execute(
        "SELECT value FROM state WHERE namespace = 'dura.schema' AND key = 'version'"
    ).fetchone()
    stated = int(row[0]) if row is not None and str(row[0]).isdigit() else 0
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return stated
    return max(stated, int(connection.execute("PRAGMA user_version").fetchone()[0]))


def refuse(found: Recognised, path: str) -> None:
    """Raise the error for a file that dura neither reads nor writes.

    Raises:
        NotADuraStore: It holds something else.
        StoreTooNew: A newer dura wrote it.
    """
    if found.kind is Kind.FOREIGN:
        raise NotADuraStore(
            f"{path}: this SQLite file is no dura store ({found.because}). Nothing was written; check the path.",
            path=path,
        )
    if found.kind is Kind.NEWER:
        raise StoreTooNew(
            f"{path}: the store was written by a newer dura ({found.because}). Nothing was written; "
            "upgrade this installation of dura.",
            path=path,
        )
