"""A store before and after an operation, and what is found of it when the operation was interrupted."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, Final

from conftest import TABLES, ManualClock, plain
from crash.operations import OPERATIONS, Facts, seeded
from dura import DurableEngine

Picture = dict[str, list[str]]

_PROGRAM: Final = Path(__file__).with_name("victims.py")
_ID: Final = re.compile(r"\b[0-9a-f]{32}\b")
_COMPANY: Final = ("left", "right", "later")


def copy_store(source: Path, target: Path) -> None:
    """Put the store at `source`, which is closed, at `target`, where nothing of an earlier one stays."""
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    shutil.copy(source, target)


def picture(path: Path, known: frozenset[str] = frozenset()) -> tuple[Picture, set[str]]:
    """Every row, with ids that are not known replaced by their order, and which of the company's writes are there."""
    seen: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return found[0] if found[0] in known else seen.setdefault(found[0], f"new id {len(seen)}")

    with plain(path) as connection:
        order = {table: "namespace, key" if table == "state" else "rowid" for table in TABLES}
        rows = {
            table: connection.execute(f"SELECT * FROM {table} ORDER BY {order[table]}").fetchall()
            for table in TABLES
        }
    there = {row[0] for row in rows["state"] if row[0] in _COMPANY}
    rows["state"] = [row for row in rows["state"] if row[0] not in _COMPANY]
    return {table: [_ID.sub(name, repr(row)) for row in found] for table, found in rows.items()}, there


class Victims:
    """The process that forks them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def suffer(self, **order: Any) -> Report:
        """Let a victim carry out the order, and return what was heard of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        heard = json.loads(self._process.stdout.readline())
        said = dict(line.split(" ", 1) for line in heard["said"])
        return Report(said, heard["exit"])

    def dismiss(self) -> None:
        self._process.communicate(timeout=60)


@dataclass(frozen=True)
class Report:
    """What a victim's callers were told, by who called, and how it ended: 0, or minus the signal that killed it."""

    said: dict[str, str]
    exit: int

    def told(self, who: str) -> bool:
        return self.said.get(who) == "told"

    def ended_by(self, number: signal.Signals, *, or_survived: bool) -> bool:
        """Whether the signal killed it, or it came through: a batch that a busy machine has cut short has fewer statements."""
        return self.exit == -number or (or_survived and self.exit == 0)


class Scene:
    """A store that is ready for an operation, kept aside, and a copy of it to spoil."""

    def __init__(self, folder: Path, victims: Victims, name: str, *, company: bool) -> None:
        self.name, self.company, self.victims = name, company, victims
        self.operation = OPERATIONS[name]
        self.kept, self.path = folder / "kept.db", folder / "store.db"
        self.clock = ManualClock()
        with self.opened(self.kept) as engine:
            self.facts: Facts = self.operation.prepare(engine, self.clock)
        with plain(self.kept) as connection:
            self.known = frozenset(_ID.findall("\n".join(connection.iterdump())))
        self.before, _ = picture(self.kept, self.known)
        whole = self.interrupt()
        assert whole.exit == 0, whole
        assert all(
            whole.told(who) for who in (("left", "right") if company else ()) + ("operation", "later")
        ), whole
        self.after, _ = picture(self.path, self.known)
        assert self.after != self.before
        self.statements, self.bytes = int(whole.said["statements"]), int(whole.said["wal"])
        self.interruptions = 0

    @contextmanager
    def opened(self, path: Path) -> Iterator[DurableEngine]:
        engine = DurableEngine(path, clock=self.clock, synchronous="NORMAL")
        yield engine
        engine.close()

    def interrupt(self, **trap: Any) -> Report:
        """Do the operation on a fresh copy, with a trap."""
        copy_store(self.kept, self.path)
        moment: datetime = self.clock.moment
        return self.victims.suffer(
            path=str(self.path),
            name=self.name,
            facts=self.facts,
            moment=moment.isoformat(),
            company=self.company,
            **trap,
        )

    def inspect(self, report: Report) -> None:
        """What is left is whole, holds what was told and nothing that was refused, and the engine goes on from there."""
        self.interruptions += report.exit < 0 or not report.told("operation")
        with self.opened(self.path) as engine:
            assert engine.check() == ()
            found, there = picture(self.path, self.known)
            for who in _COMPANY:
                assert not report.told(who) or who in there, f"{who} was told of what is not there: {report}"
                assert not self.refused(report, who) or who not in there, (
                    f"{who} was refused what is there: {report}"
                )
            if self.operation.commits == 1:
                assert found in (self.before, self.after), f"it happened in part: {report}"
            if report.told("operation"):
                assert found == self.after, f"the caller was told of what is not there: {report}"
            if self.refused(report, "operation") and self.operation.commits == 1:
                assert found == self.before, f"the caller was refused what is there: {report}"
            if found != self.after:
                seeded(self.operation, engine, self.facts)
                assert picture(self.path, self.known)[0] == self.after, f"it cannot be done again: {report}"

    def refused(self, report: Report, who: str) -> bool:
        """Whether the caller was told that nothing was done."""
        said = report.said.get(who, "")
        return said.startswith("error") and "CommitUnknown" not in said

    def sizes(self) -> range:
        """How much of what it writes gets through: three sizes a page, fewer of an operation that writes very much."""
        return range(0, self.bytes, max(1400, self.bytes // 200))

    def tell(self, what: str) -> None:
        """Say how much was survived, for who runs the soak."""
        where = "in a batch" if self.company else "alone"
        sys.stdout.write(f"{self.name}, {where}: {self.interruptions} {what} survived\n")
        self.interruptions = 0


def some(numbers: range, seed: str, *, count: int = 1, everywhere: bool) -> list[int]:
    """Where to interrupt: everywhere, or at so many places, which differ from operation to operation."""
    if everywhere or len(numbers) <= count:
        return list(numbers)
    return Random(zlib.crc32(seed.encode())).sample(numbers, count)
