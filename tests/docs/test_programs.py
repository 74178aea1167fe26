"""Every program in the documentation runs as it stands, and prints what the page says that it prints."""

from __future__ import annotations

import ast
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import can_be_told_to_end, wait_until
from docs.pages import DOCS, ENVIRONMENT, PAGES, ROOT, Block, blocks
from dura import DurableEngine, StoreError
from dura.monitor import Monitor

TUTORIAL = DOCS / "tutorial.md"
README = ROOT / "README.md"

PYTHON = [block for page in PAGES for block in blocks(page, "python")]
PROGRAMS = [
    block
    for block in PYTHON
    if block.page not in (TUTORIAL, README) and re.search(r"^\w+ = DurableEngine\(", block.text, re.MULTILINE)
]
_QUIET_SECONDS = 0.6


def printed_after(block: Block) -> str | None:
    """What the page says that the block prints, if it says so right after it."""
    everything = blocks(block.page)
    place = next(number for number, other in enumerate(everything) if other.line == block.line)
    lines = block.page.read_text("utf-8").splitlines()
    end = block.line + block.text.count("\n") + 1
    following = [line for line in lines[end : end + 3] if line]
    if following and following[0].startswith("It prints:"):
        assert everything[place + 1].language == "text", f"{block.name}: no block says what it prints"
        return everything[place + 1].text
    return None


class Program:
    """A program of the documentation, running in a folder of its own."""

    def __init__(self, text: str, folder: Path) -> None:
        self._text, self._folder = text, folder
        self._printed, self._complaints = folder / "printed", folder / "complaints"
        with self._printed.open("w") as out, self._complaints.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-u", "-c", text], cwd=folder, env=ENVIRONMENT, stdout=out, stderr=err
            )

    def printed(self) -> str:
        return self._printed.read_text()

    def wait_until_quiet(self) -> None:
        """Wait until it has ended, or its pool has found nothing to do for a while."""
        if "run_worker" not in self._text:
            self.process.wait(timeout=60)
        wait_until(lambda: self.ended() or self._has_tasks())
        while not self.ended() and self._store_changes():
            pass

    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def _has_tasks(self) -> bool:
        for path in self._folder.glob("*.db"):
            with Monitor(path) as monitor, suppress(StoreError):
                return bool(monitor.snapshot().totals())
        return False

    def _store_changes(self) -> bool:
        [path] = self._folder.glob("*.db")
        with Monitor(path) as monitor:
            monitor.snapshot()
            try:
                wait_until(lambda: self.ended() or monitor.changed(), within=_QUIET_SECONDS)
            except AssertionError:
                return False
            return True

    def end(self) -> None:
        """End it as Ctrl-C would; it must end well."""
        if "run_workers" in self._text:
            wait_until(lambda: self.ended() or can_be_told_to_end(self.process.pid))
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            assert self.process.wait(timeout=60) == 0, self._complaints.read_text()
        finally:
            self.process.kill()
            self.process.wait()


def check_stores(folder: Path) -> None:
    """The stores that a program leaves are sound."""
    for path in folder.glob("*.db"):
        engine = DurableEngine(path, create=False)
        assert engine.check() == ()
        engine.close()


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.name)
def test_program_runs_and_prints_what_the_page_says(block: Block, tmp_path: Path) -> None:
    program = Program(block.text, tmp_path)
    expected = printed_after(block)
    try:
        if expected is not None:
            wait_until(lambda: program.printed() == expected or program.ended())
        program.wait_until_quiet()
    finally:
        program.end()
    if expected is not None:
        assert program.printed() == expected
    check_stores(tmp_path)


def test_readme_example_waits_for_its_answer_and_goes_on(tmp_path: Path) -> None:
    [block] = blocks(README, "python")
    program = Program(block.text, tmp_path)
    try:
        wait_until(lambda: program.printed() == "charging ord_1\n")
        program.wait_until_quiet()
        subprocess.run(
            ["dura", "emit", "orders.db", "approved:ord_1", "--payload", "true"],
            cwd=tmp_path,
            env=ENVIRONMENT,
            check=True,
            capture_output=True,
        )
        wait_until(lambda: program.printed() == "charging ord_1\nreceipt for ch_ord_1\n")
        engine = DurableEngine(tmp_path / "orders.db", create=False)
        wait_until(lambda: engine.task_counts_by_state() == {"completed": 1})
        engine.close()
    finally:
        program.end()
    check_stores(tmp_path)


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.name)
def test_block_is_python(block: Block) -> None:
    text = block.text if not block.text.startswith(" ") else f"f(\n{block.text})"
    ast.parse(text)
