"""How much was tried: what tests counted, summed up over a run, for the table in docs/reliability.md.

A test says `count("kills at statements", 12)`, by the fixture of that name; `pytest --counts FILE` adds what the tests said to
what FILE holds already, by the folder of the test. Only tests that passed count.
"""

from __future__ import annotations

import json
import platform
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

Count = Callable[[str, int], None]
"""Says how often something was tried."""

_MARK: Final = "count: "

TESTS: Final = "tests that passed"


def counter(record_property: Callable[[str, object], None]) -> Count:
    """What the fixture `count` is."""
    return lambda what, number: record_property(f"{_MARK}{what}", number)


class Counts:
    """A plugin that sums up what the tests of a run counted."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[str, Counter[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what one test has said."""
        if report.when != "call" or not report.passed:
            return
        parts = Path(report.nodeid.partition("::")[0]).parts
        found = self._found.setdefault(parts[1] if len(parts) > 2 else "others", Counter())
        found[TESTS] += 1
        for name, number in report.user_properties:
            if name.startswith(_MARK) and isinstance(number, int):
                found[name.removeprefix(_MARK)] += number

    def pytest_sessionfinish(self) -> None:
        """Write the sums."""
        before: dict[str, Any] = json.loads(self._file.read_text("utf-8")) if self._file.exists() else {}
        for folder, counts in before.get("counts", {}).items():
            self._found.setdefault(folder, Counter()).update(counts)
        document = {
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "counts": {
                folder: dict(sorted(counts.items())) for folder, counts in sorted(self._found.items())
            },
        }
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
