"""The documentation speaks plainly, with the glossary's words, and the code keeps to the size it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.pages import DOCS, PAGES, ROOT, prose
from dura.states import SleepCause, State

LONGEST_FILE = 350

"""Longer, since it holds one declaration after another and nothing to follow."""

OTHER_WORDS = {
    "workflow": "task or handler",
    "job": "task",
    "enqueue": "spawn",
    "dequeue": "claim",
    "acknowledge": "settle",
    "memoize": "checkpoint",
    "reaper": "reclaim",
    "zombie": "stale holder",
    "activity": "step",
    "dead letter": "failed task",
    "visibility timeout": "lease",
    "resurrect": "requeue",
    "reschedule": "retry",
    "consumer": "worker",
    "producer": "application",
    "daemon process": "worker",
}
"""What others say, and the word for it here."""

PRAISE = (
    "simple", "simply", "easy", "easily", "powerful", "robust", "blazing", "seamless", "effortless", "elegant",
    "modern", "lightweight", "production-ready", "best-in-class", "world-class", "just works", "magic",
    "beautiful", "rich", "flexible", "cutting-edge", "enterprise", "delightful", "awesome", "battle-tested",
)  # fmt: skip
"""Adjectives that say nothing."""

MACHINE = ("/work/", "/tmp/", "/root/", "localhost")

DESIGN_WORDS = (
    "task", "params", "handler", "run", "attempt", "spawn", "step", "checkpoint", "event", "emit", "wait", "state",
    "queue", "worker", "lane", "claim", "lease", "fencing token", "extend", "heartbeat", "settle", "suspend", "wake",
    "reclaim", "requeue", "backoff", "jitter", "idempotency key", "cancel", "due", "drain", "retention",
)  # fmt: skip


OWN_WORDS = [page for page in PAGES if page.name != "benchmarks.md"]
"""The pages about dura alone; the benchmarks speak of others, in their words."""


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


@pytest.mark.parametrize("page", OWN_WORDS, ids=names(OWN_WORDS))
def test_page_uses_the_glossary_s_words(page: Path) -> None:
    text = prose(page).lower()
    for other, ours in OTHER_WORDS.items():
        assert not re.search(rf"\b{other}(?:s|d|ed|ing)?\b", text), f"{page}: say {ours}, not {other}"


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_page_praises_nothing_and_names_no_machine(page: Path) -> None:
    text = prose(page).lower()
    assert [word for word in PRAISE if re.search(rf"\b{word}\b", text)] == []
    assert [path for path in MACHINE if path in page.read_text("utf-8")] == []


def test_glossary_is_sorted_and_has_every_word() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert rows == sorted(rows)
    assert [word for word in DESIGN_WORDS if word not in rows] == []


def test_glossary_and_schema_name_every_state_and_cause() -> None:
    schema = (DOCS / "reference" / "schema.md").read_text("utf-8")
    for word in (*State, *SleepCause):
        assert f"`{word}`" in schema
    assert ", ".join(State) in (DOCS / "glossary.md").read_text("utf-8")


def test_no_file_of_the_code_is_longer_than_it_should_be() -> None:
    source = ROOT / "src"
    longer = {
        str(file.relative_to(source))
        for file in source.rglob("*")
        if file.suffix in (".py", ".sql", ".tcss")
        and len(file.read_text("utf-8").splitlines()) > LONGEST_FILE
    }
    assert longer == set()


def test_architecture_names_every_room() -> None:
    rooms = (DOCS / "architecture.md").read_text("utf-8").split("```")[1]
    files = [*(ROOT / "src" / "dura").rglob("*.py"), *(ROOT / "src" / "dura_tui").glob("*.py")]
    named_by_their_folder = {"__init__", "__main__"}
    names = {file.stem for file in files if file.parent.name not in ("views", "cli")} - named_by_their_folder
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", rooms)) == []


def test_agents_page_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text("utf-8").splitlines()) <= 120
