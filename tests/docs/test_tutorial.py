"""The tutorial, followed word for word: its files saved, its commands run, and what they print compared with the page.

Only the waits are others, so that nothing hangs on how quick a machine is: the worker that is killed would pack for long, its
lease is ended by hand, and the next one packs at once. And one worker stands for two, so that it is always the same one that
takes a task.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from conftest import plain, wait_until
from docs.pages import DOCS, ENVIRONMENT, Block, blocks, masked, on_a_terminal, session
from dura import DurableEngine

pytestmark = pytest.mark.crash


_LONG: Final = 600
"""Seconds, longer than any test."""


class Reader:
    """Somebody who works through the tutorial with two terminals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._blocks = iter(blocks(DOCS / "tutorial.md"))
        self._real: dict[str, str] = {}
        """The ids that the page shows, and what they are here."""
        self.worker: subprocess.Popen[str] | None = None
        self._log = folder / "worker.log"

    def next(self, language: str) -> str:
        """The next block of a language; those of others in between are passed over."""
        block: Block = next(block for block in self._blocks if block.language == language)
        return block.text

    def save(self, name: str) -> None:
        (self.folder / name).write_text(self._with_other_waits(self.next("python")))

    def replace(self, function: str, name: str) -> None:
        """Replace a function by the next block."""
        path = self.folder / name
        new, count = re.subn(
            rf"^def {function}\(.*?\n\n\n",
            lambda _: self._with_other_waits(self.next("python")) + "\n\n",
            path.read_text(),
            flags=re.MULTILINE | re.DOTALL,
        )
        assert count == 1
        path.write_text(new)

    def insert_after(self, line: str, name: str) -> None:
        path = self.folder / name
        text = path.read_text()
        assert text.count(line) == 1
        path.write_text(text.replace(line, line + self.next("python")))

    @staticmethod
    def _with_other_waits(text: str) -> str:
        for said, done in (
            ("time.sleep(5)", f"time.sleep({_LONG})"),
            ("claim_timeout_secs=15", f"claim_timeout_secs={_LONG}"),
            ("worker_count=2", "worker_count=1"),
        ):
            text = text.replace(said, done)
        return text

    def pass_the_wait(self) -> None:
        """The lease of the worker that was killed is over, and who packs next is quick."""
        with plain(self.folder / "shop.db") as store:
            store.execute("UPDATE runs SET claim_expires_at = started_at WHERE state = 'running'")
        path = self.folder / "shop.py"
        path.write_text(path.read_text().replace(f"time.sleep({_LONG})", "time.sleep(0.1)"))

    # --- the second terminal ------------------------------------------------------------------------------------------

    def start_worker(self) -> None:
        with self._log.open("w") as log:
            self.worker = subprocess.Popen(
                ["python", "shop.py"], cwd=self.folder, env=ENVIRONMENT, stdout=log, text=True
            )

    def wait_for(self, printed: str) -> None:
        """Wait until the worker has printed exactly that."""
        wait_until(lambda: self._log.read_text() == printed)

    def stop_worker(self, number: int = signal.SIGINT) -> int:
        assert self.worker is not None
        self.worker.send_signal(number)
        worker, self.worker = self.worker, None
        return worker.wait(timeout=60)

    # --- the first terminal -------------------------------------------------------------------------------------------

    def run(self, text: str) -> None:
        """Run a console block's commands and compare what they print."""
        for command, expected in session(text):
            shown = on_a_terminal(self._with_real_ids(command), self.folder)
            for known, real in zip(
                re.findall(r"\b[0-9a-f]{32}\b", expected),
                re.findall(r"\b[0-9a-f]{32}\b", shown),
                strict=False,
            ):
                self._real.setdefault(known[-8:], real[-8:])
            self.compare(command, expected, shown)

    def compare(self, command: str, expected: str, shown: str) -> None:
        assert masked(shown) == masked(expected), f"{command} printed\n{shown}"

    def _with_real_ids(self, command: str) -> str:
        return re.sub(r"\b[0-9a-f]{8}\b", lambda found: self._real[found[0]], command)


@pytest.fixture
def reader() -> Iterator[Reader]:
    # The folder's name is printed, and must be as short as a reader's own.
    with TemporaryDirectory(prefix="dura-") as folder:
        reader = Reader(Path(folder))
        yield reader
        if reader.worker is not None:
            reader.worker.kill()
            reader.worker.wait(timeout=60)


def follow(reader: Reader) -> None:
    """The tutorial from its second part to its end."""
    path = reader.folder / "shop.db"
    reader.save("shop.py")
    reader.save("order.py")
    reader.run(reader.next("console"))
    reader.run(reader.next("console"))

    killed, kill, leases = (reader.next("console") for _ in range(3))
    reader.start_worker()
    [(_, printed)] = session(killed)
    reader.wait_for(printed)
    assert kill == "$ kill -KILL %1\n"
    assert reader.stop_worker(signal.SIGKILL) == -signal.SIGKILL
    reader.run(leases)
    reader.pass_the_wait()
    [(_, printed)] = session(reader.next("console"))
    reader.start_worker()
    reader.wait_for(printed)
    engine = DurableEngine(path, create=False)
    wait_until(lambda: engine.task_counts_by_state() == {"completed": 1})
    reader.run(reader.next("console"))

    assert reader.stop_worker() == 0
    reader.replace("charge_order", "shop.py")
    reader.insert_after("    max_attempts=2,\n", "order.py")
    order, *look = session(reader.next("console"))
    reader.start_worker()
    reader.run("$ " + "\n".join(order))
    wait_until(lambda: engine.task_counts_by_state().get("sleeping") == 1)
    reader.run("".join("$ " + "\n".join(each) for each in look))
    assert reader.next("console") == "$ dura-tui shop.db\n"
    engine.emit_event(event_name="approved:ord_2", payload={"by": "ada"}, actor="ada@shop")
    wait_until(lambda: engine.task_counts_by_state() == {"completed": 2})

    assert reader.stop_worker() == 0
    reader.replace("pack", "shop.py")
    reader.start_worker()
    reader.run(reader.next("console"))
    wait_until(lambda: engine.task_counts_by_state() == {"completed": 2, "failed": 1})
    reader.run(reader.next("console"))
    *requeue, look_again = session(reader.next("console"))
    reader.run("".join("$ " + "\n".join(each) for each in requeue))
    wait_until(lambda: engine.task_counts_by_state() == {"completed": 3})
    reader.run("$ " + "\n".join(look_again))

    reader.run(reader.next("console"))
    reader.run(reader.next("console"))
    assert reader.stop_worker() == 0
    engine.close()


def test_tutorial_prints_what_it_says(reader: Reader) -> None:
    follow(reader)
    assert not list(reader.folder.glob("shop.db-*"))
