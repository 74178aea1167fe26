"""What the ledger and the store say of each other once all is over."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

from conftest import plain, rows
from soak.ledger import Entry, Ledger
from soak.worker import FAILS, SLEEPS, WAITS

COMPLETIONS: Final = """
CREATE TABLE completions (task_id TEXT NOT NULL);
CREATE TRIGGER completed AFTER UPDATE OF state ON tasks WHEN NEW.state = 'completed'
BEGIN INSERT INTO completions VALUES (NEW.task_id); END;
"""
"""An application's own table beside the six: every time that a task becomes completed."""


class Witness:
    """Judges the store by the ledger, and the other way round."""

    def __init__(self, path: Path, ledger: Ledger, killed: set[int]) -> None:
        self.path = path
        self.ledger = ledger
        self.killed = killed
        self.entries = ledger.entries()
        self.checkpoints: dict[tuple[str, str], Any] = {
            (task_id, step): value
            for task_id, step, value in rows(path, "SELECT task_id, checkpoint_name, state FROM checkpoints")
        }
        self.repeats = 0
        """Effects that were had once more."""
        ((self.reclaims,),) = rows(path, "SELECT COALESCE(sum(reclaims), 0) FROM runs")
        self.losses = sum(entry.what == "lost" for entry in self.entries)

    def judge(self, orders: int) -> None:
        """Raise unless every promise was kept."""
        self._nothing_is_lost(orders)
        self._nothing_is_completed_twice()
        self._attempts_are_charged_for_failures_alone()
        self._results_are_those_of_the_steps()
        steps: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
        for entry in self.entries:
            steps[entry.task_id, entry.step].append(entry)
        assert len(steps) == 3 * orders
        for (task_id, step), entries in steps.items():
            self._result_is_of_one_effect(task_id, step, entries)
            wrong = repeated(entries) + unaccounted(entries, self.killed)
            assert not wrong, f"step {step} of task {task_id}: {wrong} in {entries}"
            self.repeats += sum(entry.what == "did" for entry in entries) - 1

    def _nothing_is_lost(self, orders: int) -> None:
        there = dict(rows(self.path, "SELECT idempotency_key, task_id FROM tasks"))
        assert set(there) == {f"order:{number}" for number in range(orders)}
        for number, task_id, _ in self.ledger.lines("told"):
            assert there[f"order:{number}"] == task_id, f"order {number} was told to be another task"
        events = {name for (name,) in rows(self.path, "SELECT event_name FROM events")}
        assert events == {f"approved:{number}" for number in range(0, orders, WAITS)}
        assert {number for number, _ in self.ledger.lines("emitted")} == {
            str(number) for number in range(0, orders, WAITS)
        }

    def _nothing_is_completed_twice(self) -> None:
        tasks = rows(self.path, "SELECT task_id FROM tasks")
        completed = Counter(rows(self.path, "SELECT task_id FROM completions"))
        assert completed == Counter(tasks)
        finished = rows(self.path, "SELECT task_id FROM runs WHERE state = 'completed'")
        assert Counter(finished) == Counter(tasks)

    def _attempts_are_charged_for_failures_alone(self) -> None:
        for number, attempts in rows(
            self.path, "SELECT CAST(substr(idempotency_key, 7) AS INTEGER), attempts FROM tasks"
        ):
            assert attempts == (2 if number % FAILS == 0 else 1), f"order {number} has {attempts} attempts"

    def _results_are_those_of_the_steps(self) -> None:
        for task_id, params, payload in rows(
            self.path, "SELECT task_id, params, completed_payload FROM tasks"
        ):
            number = json.loads(params)["number"]
            kept = {step: self.checkpoints[task_id, step] for step in ("reserve", "charge", "ship")}
            expected = [json.loads(value) for value in kept.values()]
            if number % WAITS == 0:
                assert self.checkpoints[task_id, "approval"] == str(number)
                expected.insert(2, f"approved-{number}")
            assert json.loads(payload) == expected
            assert ((task_id, "pause") in self.checkpoints) is (number % SLEEPS == 0)

    def _result_is_of_one_effect(self, task_id: str, step: str, entries: list[Entry]) -> None:
        """What is stored is what one of the effects gave, and what the engine said each time that it was asked."""
        stored = json.loads(self.checkpoints[task_id, step])
        assert stored in [entry.value for entry in entries if entry.what == "did"], entries
        assert {entry.value for entry in entries if entry.what == "kept"} <= {stored}, entries


def repeated(entries: list[Entry]) -> list[Entry]:
    """Effects of a step that were had although it had finished.

    After the engine has said that a result is kept, that claim and every later one have no more effect. A claim before it
    may: a holder that does not know yet that it is none any more.
    """
    kept: list[tuple[int, int]] = []
    first = min((entry.claim for entry in entries if entry.what == "kept"), default=None)
    wrong = []
    for entry in entries:
        if entry.what == "kept":
            kept.append(entry.claim)
        elif entry.what == "did" and first is not None and (entry.claim > first or entry.claim in kept):
            wrong.append(entry)
    return wrong


def unaccounted(entries: list[Entry], killed: set[int]) -> list[Entry]:
    """Effects of a step whose results were neither kept nor refused, by processes that nobody has killed."""
    wrong = []
    for place, entry in enumerate(entries):
        told = [
            later for later in entries[place + 1 :] if (later.claim, later.pid) == (entry.claim, entry.pid)
        ]
        if entry.what == "did" and entry.pid not in killed and (not told or told[0].what == "did"):
            wrong.append(entry)
    return wrong


def watch_completions(path: Path) -> None:
    with plain(path) as connection:
        connection.executescript(COMPLETIONS)
