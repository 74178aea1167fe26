"""A 1.3.0 file seen with this version's columns, so that every query is written once.

Inside the look's transaction each table that lacks columns is covered by a temporary view of the same name that adds them
with what they would hold. Temporary views belong to the connection, not to the file, and end with the transaction.
"""

from __future__ import annotations

import sqlite3
from typing import Final

_LENT: Final = {
    "tasks": {"queue": "'default'", "steps": "NULL", "max_reclaims": "NULL"},
    "runs": {
        "queue": "'default'",
        "claim_token": "0",
        "reclaims": "0",
        "deferrals": "0",
        "sleep_cause": (
            "CASE WHEN state != 'sleeping' THEN NULL WHEN wake_event IS NOT NULL THEN 'event' "
            "WHEN attempt > 1 THEN 'backoff' ELSE 'delay' END"
        ),
    },
    "events": {"emitted_by": "NULL"},
}
"""By table and column: the expression that stands for a column that the file does not have."""


def lend_columns(connection: sqlite3.Connection) -> None:
    """Cover the tables that lack columns."""
    for table, columns in _LENT.items():
        present = {row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")}
        lent = [
            f"{expression} AS {column}" for column, expression in columns.items() if column not in present
        ]
        if lent:
            lent_columns = ", ".join(lent)
            connection.execute(
                f"CREATE TEMP VIEW {table} AS SELECT rowid, *, {lent_columns} FROM main.{table}"  # noqa: S608 - constants
            )
