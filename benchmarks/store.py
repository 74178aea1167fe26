"""The store under test, as a workload sees it: how to fill it, open it, look at its files and work on it from two sides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.adapters import Adapter
from benchmarks.watching import Watch

_WORKERS = 8
_BULK = 1000


class Store:
    """One system's store, in a folder of its own."""

    def __init__(self, spec: dict[str, Any], adapter: type[Adapter], watch: Watch) -> None:
        self.system: str = spec["system"]
        self.path: str = spec["path"]
        self.file = self.path
        """The SQLite file, once opened."""
        self.synchronous: str = spec["synchronous"]
        self.watch = watch
        self._spec = spec
        self._adapter = adapter

    @contextmanager
    def open(self, *, synchronous: str | None = None, workers: int = _WORKERS) -> Iterator[Any]:
        """Open the store at the level that is measured, or at another; the adapter that comes has all its verbs."""
        level = synchronous or self.synchronous
        self.watch.synchronous = level
        self.watch.forget()
        adapter = self._adapter(self.path, level, workers)
        self.file = adapter.file
        try:
            yield adapter
            if synchronous is None:
                self.watch.read_back(mine=False)
        finally:
            adapter.close()

    def fill(self, count: int, *, params: Any = 0, steps: bool = False) -> None:
        """Spawn so many tasks, as fast as the system can at its least durable."""
        with self.open(synchronous=self._adapter.fastest) as system:
            if hasattr(system, "spawn_many"):
                for start in range(0, count, _BULK):
                    system.spawn_many([params] * min(_BULK, count - start), steps=steps)
            else:
                for _ in range(count):
                    system.spawn(params, steps=steps)

    def build(self, rows: dict[str, int]) -> None:
        """Build a large store of so many tasks in each state; an upgraded one is first built by the release."""
        spec = {**self._spec, "path": self.path, "workload": "builder", "options": {"rows": rows}}
        release = self._spec.get("release")
        command = [sys.executable, "-m", "benchmarks.child"] if release is None else release["command"]
        if release is not None:
            spec["adapter"] = release["adapter"]
        subprocess.run(
            [*command, json.dumps(spec)],
            check=True,
            stdout=subprocess.DEVNULL,
            env=None if release is None else {**os.environ, **release["environment"]},
        )

    def files(self) -> tuple[int, int]:
        """Bytes of the database file and of its write-ahead log."""
        return _size(self.file), _size(f"{self.file}-wal")

    @contextmanager
    def second(self, workload: str, **options: Any) -> Iterator[Other]:
        """Another process on the same store, running another workload; it speaks by lines."""
        spec = {**self._spec, "path": self.path, "workload": workload, "options": options}
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.child", json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield Other(process)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            if process.stdout is not None:
                process.stdout.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Other:
    """The other process: lines of JSON in both directions."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def say(self, message: Any) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        """Wait for a line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the second process ended before it had answered")
        return json.loads(line)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
