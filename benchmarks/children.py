"""A measured process, as the one that measures sees it: it prepares its store, waits for the word, and answers.

The children of a round prepare at the same time, on as many cores as there are; only one measures at a time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from benchmarks.environments import ROOT


class NoAnswer(Exception):  # noqa: N818 - the table says it
    """A child ended without an answer; the message says why."""


class Child:
    """The process, which has ended with all that it started when the block is left.

    Args:
        command: Runs `benchmarks.child`.
        variables: What is set in its environment beside ours.
        patience: Seconds that it may take to prepare, and again to measure.
        told: Is told how far the building of a large store is: tasks so far, and in all.
    """

    def __init__(
        self, command: list[str], variables: dict[str, str], patience: float, told: Callable[[int, int], None]
    ) -> None:
        self._command = command
        self._variables = variables
        self._patience = patience
        self._told = told
        self._answer: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env={**os.environ, **self._variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._errors.close()

    def wait_until_ready(self) -> None:
        """Wait until it is about to measure, or has ended."""
        with self._in_time():
            self._listen()

    def begin(self) -> None:
        """Give the word."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("begin\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # it has ended, and the answer says how

    def answer(self) -> dict[str, Any]:
        """Wait for the answer.

        Raises:
            NoAnswer: There is none.
        """
        with self._in_time():
            self._listen()
            self._process.wait()
        if self._process.returncode or self._answer is None:
            self._errors.seek(0)
            last = self._errors.read().strip().splitlines() or [f"exit code {self._process.returncode}"]
            raise NoAnswer(last[-1])
        return self._answer

    def _listen(self) -> None:
        """Read what it says until it is ready or has ended."""
        for line in self._process.stdout or ():
            said = json.loads(line)
            if "ready" in said:
                return
            if "built" in said:
                self._told(said["built"], said["of"])
            else:
                self._answer = said

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        late = threading.Event()

        def end() -> None:
            late.set()
            os.killpg(self._process.pid, signal.SIGKILL)

        timer = threading.Timer(self._patience, end)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        if late.is_set():
            raise NoAnswer(f"gave no answer within {self._patience:.0f} s")
