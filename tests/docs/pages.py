"""The documentation as data: its pages, their code blocks, and terminal sessions with what differs from run to run masked."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
COLUMNS = 105
"""Wider than the page's 80, so that the long name of a machine pushes nothing out."""
BIN = Path(sys.executable).parent
"""Where the commands of this installation are."""

ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "COLUMNS": str(COLUMNS), "NO_COLOR": "1"}


@dataclass(frozen=True)
class Block:
    """A fenced code block."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """The page's fenced blocks, in order."""
    found: list[Block] = []
    opened: tuple[int, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        if opened is None and line.startswith("```"):
            opened, lines = (number, line[3:].strip()), []
        elif opened is not None and line.startswith("```"):
            found.append(Block(page, opened[0], opened[1], "\n".join(lines) + "\n"))
            opened = None
        elif opened is not None:
            lines.append(line)
    assert opened is None, f"{page}: a fence is not closed"
    return [block for block in found if language in (None, block.language)]


def prose(page: Path) -> str:
    """The page without code blocks, code spans, comments and link targets."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def session(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            command, output = found[-1]
            found[-1] = command, f"{output}{line}\n"
    return found


_MASKS = (
    (r"\b(?:[0-9a-f]{32}|[0-9a-f]{8})\b", "ID"),
    (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
    (r"\b\d\d:\d\d:\d\d\b", "TIME"),
    (r"\b[\w.-]+:\d+:worker_\d+\b", "WORKER"),
    (r"\b\w+@[\w.-]+(?: \(ssh from [^)]*\))?", "WHO"),
    (r"\b\d+(?:\.\d+)? ?(?:B|kB|MB)\b", "SIZE"),
    (r"\b\d+(?:ms|s|m|h|d)(?: \d+(?:s|m|h))?\b", "SPAN"),
    (r"\S+/shop\.db", "PATH"),
    (r"Error: .*", "Error: REASON"),
    (r"─+", "─"),
    (r"[▁▂▃▄▅▆▇█]+(?: +[▁▂▃▄▅▆▇█]+)*", "BARS"),
)


def masked(output: str) -> list[list[str]]:
    """The words of each line, with what differs from run to run masked: ids, times, and so the order of some rows."""
    for pattern, name in _MASKS:
        output = re.sub(pattern, name, output)
    return sorted(words for line in output.splitlines() if (words := line.split()))


def on_a_terminal(command: str, folder: Path) -> str:
    """Run a shell command on a terminal of its own, and return what it shows there, without colours."""
    reader, writer = os.openpty()
    try:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            env={**ENVIRONMENT, "TERM": "dumb"},
        )
        shown = b""
        deadline = time.monotonic() + 60
        while process.poll() is None or select.select([reader], [], [], 0)[0]:
            assert time.monotonic() < deadline, f"{command} does not end"
            if select.select([reader], [], [], 0.05)[0]:
                shown += os.read(reader, 65536)
    finally:
        os.close(writer)
        os.close(reader)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode().replace("\r\n", "\n"))
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
