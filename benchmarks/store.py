"""The store under test, as a workload sees it: how to fill it, open it, look at its files and work on it from two sides."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks import bulk_rows
from benchmarks.adapters import Adapter
from benchmarks.prepared import Prepared
from benchmarks.watching import Watch

_WORKERS: Final = 8
_BULK: Final = 1000

_ROW_BYTES: Final = 700
"""What a task takes on the disk, about: to refuse in time what the disk cannot hold."""

_SPARE_BYTES: Final = 2 * 10**9
"""What a large store must leave free."""

_TOLD_ROWS: Final = 100_000
"""Between two lines of progress."""


class PreparedOnly(BaseException):
    """Measuring would begin now, but only the stores were asked for."""


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
        self._prepared = Prepared(Path(spec["prepared"]))
        self._gated: bool = spec.get("gate", False)
        """Whether to wait for the word before measuring begins."""
        self._fillings: list[tuple[int, Any, bool]] = []
        """What the store at `path` will have been filled with once it is there."""

    @contextmanager
    def open(self, *, workers: int = _WORKERS) -> Iterator[Any]:
        """Open the store at the level that is measured; the adapter that comes has all its verbs."""
        self.begin()
        with self._opened(self.synchronous, workers) as adapter:
            self.file = adapter.file
            yield adapter
            self.watch.read_back(mine=False)

    @contextmanager
    def _opened(self, synchronous: str, workers: int = _WORKERS) -> Iterator[Any]:
        self.watch.synchronous = synchronous
        self.watch.forget()
        adapter = self._adapter(self.path, synchronous, workers)
        try:
            yield adapter
        finally:
            adapter.close()

    def fill(self, count: int, *, params: Any = 0, steps: bool = False) -> None:
        """Have so many tasks spawned by the system itself, before the store is opened. Can be repeated."""
        self._fillings.append((count, params, steps))

    def build(self, rows: dict[str, int]) -> None:
        """Have a large store of so many tasks in each state; an upgraded one is first built by the release."""
        self._need_disk(sum(rows.values()))
        title = "-".join(f"{state}-{count}" for state, count in rows.items() if count)
        self._bring(f"rows-{title}", lambda path: self._build(str(path), rows))

    def begin(self) -> None:
        """Measuring begins: the store must be there. Whatever opens it says so by itself.

        Raises:
            PreparedOnly: Nothing is to be measured.
        """
        if self._fillings:
            fillings, self._fillings = self._fillings, []
            title = "-".join(
                f"{count}-{params}{'-steps' if steps else ''}" for count, params, steps in fillings
            )
            self._bring(f"filled-{title}", lambda path: self._fill(str(path), fillings))
        if self._spec.get("prepare"):
            raise PreparedOnly
        if self._gated:
            self._gated = False
            print(json.dumps({"ready": True}), flush=True)
            sys.stdin.readline()

    def _bring(self, title: str, make: Any) -> None:
        name = f"{self._spec['signature']}-{self._spec.get('without') or ''}-{title}"
        if self._spec.get("prepare"):
            self._prepared.make(name, make)
        else:
            self._prepared.copy(name, Path(self.path), make)

    def _fill(self, path: str, fillings: list[tuple[int, Any, bool]]) -> None:
        """Spawn, as fast as the system can at its least durable."""
        with self._at(path), self._opened(self._adapter.fastest) as system:
            for count, params, steps in fillings:
                if hasattr(system, "spawn_many"):
                    for start in range(0, count, _BULK):
                        system.spawn_many([params] * min(_BULK, count - start), steps=steps)
                else:
                    for _ in range(count):
                        system.spawn(params, steps=steps)

    def _build(self, path: str, rows: dict[str, int]) -> None:
        release = self._spec.get("release")
        if release is None:
            with self._at(path), self._opened("FULL"):
                pass
            bulk_rows.add(path, rows, _Telling(sum(rows.values())))
            return
        spec = {
            **self._spec,
            **release["spec"],
            "path": path,
            "release": None,
            "prepare": False,
            "gate": False,
        }
        subprocess.run(
            [*release["command"], json.dumps({**spec, "workload": "builder", "options": {"rows": rows}})],
            check=True,
            env={**os.environ, **release["environment"]},
        )
        with self._at(path), self._opened("FULL"):
            pass  # opening it is the upgrade

    @contextmanager
    def _at(self, path: str) -> Iterator[None]:
        """Work on another path."""
        before, self.path = self.path, path
        try:
            yield
        finally:
            self.path = before

    def _need_disk(self, tasks: int) -> None:
        folder = Path(self.path).parent
        needed, free = 2 * tasks * _ROW_BYTES + _SPARE_BYTES, shutil.disk_usage(folder).free
        if free < needed:
            raise OSError(
                f"{folder}: a store of {tasks:,} tasks and its copy need {needed / 1e9:.1f} GB, and {free / 1e9:.1f} "
                "GB are free. Make room, or name another place with --cache."
            )

    def files(self) -> tuple[int, int]:
        """Bytes of the database file and of its write-ahead log."""
        self.begin()
        return _size(self.file), _size(f"{self.file}-wal")

    @contextmanager
    def second(self, workload: str, **options: Any) -> Iterator[Other]:
        """Another process on the same store, running another workload; it speaks by lines."""
        self.begin()
        spec = {**self._spec, "path": self.path, "gate": False, "workload": workload, "options": options}
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


class _Telling:
    """Prints how far the building of a store is, as lines of JSON for the process that draws the progress."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._next = _TOLD_ROWS

    def __call__(self, done: int) -> None:
        if done >= self._next:
            self._next = done + _TOLD_ROWS
            print(json.dumps({"built": done, "of": self._total}), flush=True)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
