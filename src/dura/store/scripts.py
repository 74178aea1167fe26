"""The .sql files beside this module, a statement at a time, so that they can run inside an open transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib.resources import files


def statements(resource: str) -> Iterator[str]:
    """The statements of one of the .sql files, in order."""
    statement = ""
    for line in files("dura.store").joinpath(resource).read_text("utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
