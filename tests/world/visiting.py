"""Sending somebody else to a store: a process of another user, which has no more rights than anybody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

NOBODY: Final = 65534


class Visitor:
    """A process that visits stores when it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def visit(self, path: Path, known: str, doors: str) -> dict[str, Any]:
        """How each door ended; an end that breaks the law is an error here."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"path": str(path), "known": known, "doors": doors}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the visitor has died"
        ends: dict[str, Any] = json.loads(line)
        assert ends.pop("uid") == NOBODY
        broken = [f"{door}: {end}" for door, end in ends.items() if str(end).startswith("BROKEN")]
        assert not broken, "\n".join(broken)
        return ends

    def watch(self, path: Path) -> Any:
        """What a monitor that stays open says now: how it reads, how many tasks it sees, whether it had noticed a change."""
        return self.visit(path, "", "watch")["watch"]


@contextmanager
def visitor() -> Iterator[Visitor]:
    """A visitor, who is gone at the end."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("visitor.py")), str(NOBODY)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
    ) as process:  # fmt: skip
        try:
            yield Visitor(process)
        finally:
            process.kill()


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that everybody may enter and read, gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="dura-world-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for each in (folder, *folder.rglob("*")):
            if each.is_dir():
                each.chmod(0o755)
        shutil.rmtree(folder)
