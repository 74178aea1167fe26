"""Counting the jobs that a pool runs, and the rate at which it does, without the count costing much itself."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.adapters import Step
from benchmarks.watching import Watch

_PATIENCE = 60.0
"""Seconds to wait for the first job."""

_LEAST = 20
"""Jobs that a window should have."""

_LONGEST = 10
"""So many times its length a window may last to have them."""


@dataclass(frozen=True)
class Window:
    """So many jobs in so many seconds."""

    jobs: int
    seconds: float
    cpu: float
    """Seconds of processor time that the process took meanwhile: less at the mercy of what else the machine does."""

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return self.jobs / self.seconds if self.seconds > 0 else 0.0


class Tally:
    """A job that counts itself, from any thread.

    Args:
        watch: Told to read the durability back on the first job's thread.
        expected: How many there are; the window ends with the last.
        steps: How many durable steps each job makes.
    """

    def __init__(self, watch: Watch, expected: int, *, steps: int = 0) -> None:
        self.latest = 0
        self._watch = watch
        self._expected = expected
        self._names = [f"step {number}" for number in range(steps)]
        self._numbers = itertools.count(1)
        self._first, self._last = threading.Event(), threading.Event()
        self.ended_at = 0.0

    def job(self, params: Any, step: Step) -> None:
        """The job."""
        for name in self._names:
            step(name, _nothing)
        number = next(self._numbers)
        self.latest = number
        if number == 1:
            self._watch.read_back(mine=True)
            self._first.set()
        if number == self._expected:
            self.ended_at = time.perf_counter()
            self._last.set()

    def wait_for_first(self) -> None:
        """Wait until a job has run.

        Raises:
            TimeoutError: None has, for a minute.
        """
        if not self._first.wait(_PATIENCE):
            raise TimeoutError(f"no job ran within {_PATIENCE:.0f} s")

    def wait_for_all(self, seconds: float) -> bool:
        """Wait until all have run, or for so long. Returns whether all have."""
        return self._last.wait(seconds)

    def window(self, seconds: float) -> Window:
        """Count for so many seconds after a tenth of that time to get going; until there are no more, if that is
        sooner, and up to ten times as long while there is next to nothing to count."""
        self.wait_for_first()
        self._last.wait(seconds / 10)
        began, before, cpu = time.perf_counter(), self.latest, time.process_time()
        ran_out = self._last.wait(seconds)
        while (
            not ran_out and self.latest - before < _LEAST and time.perf_counter() - began < _LONGEST * seconds
        ):
            ran_out = self._last.wait(seconds / 10)
        after, ended, cpu = self.latest, time.perf_counter(), time.process_time() - cpu
        if ran_out:
            after, ended = self._expected, self.ended_at
        if ended <= began or after - before < 2:
            raise RuntimeError(f"only {after - before} jobs ran in the window: fill the store with more")
        return Window(after - before, ended - began, cpu)


def _nothing() -> int:
    return 1
