"""The reference is complete and as the code has it: calls, errors, records, tables, repairs, keys."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dura
import dura.errors
import dura.records
import dura.workers
from conftest import plain
from docs.pages import DOCS, ROOT, Block, blocks
from dura import DurableEngine
from dura.monitor import Monitor
from dura.redaction import Redaction, holds_mark
from dura.store import upgrade
from dura.store.kinds import APPLICATION_ID, COLUMNS_1_3_0, VERSION
from dura_tui.arguments import make_parser
from dura_tui.keys import KEYS, VIEW_KEYS

REFERENCE = DOCS / "reference"
ENGINE = REFERENCE / "engine.md"
WORKERS = REFERENCE / "workers.md"
MONITOR = REFERENCE / "monitor-api.md"
ERRORS = REFERENCE / "errors.md"
SCHEMA = REFERENCE / "schema.md"
MOVING = DOCS / "moving-from-1.3.0.md"

SIGNATURES: list[tuple[Path, str, Callable[..., Any]]] = [
    *(
        (ENGINE, name, member)
        for name, member in inspect.getmembers(DurableEngine, inspect.isfunction)
        if not name.startswith("_")
    ),
    (ENGINE, "DurableEngine", DurableEngine.__init__),
    *(
        (WORKERS, name, member)
        for name, member in inspect.getmembers(dura.workers, inspect.isfunction)
        if name in dura.workers.__all__
    ),
    *(
        (MONITOR, name, member)
        for name, member in inspect.getmembers(Monitor, inspect.isfunction)
        if not name.startswith("_")
    ),
    (MONITOR, "Monitor", Monitor.__init__),
    *(
        (MONITOR, name, member)
        for name, member in inspect.getmembers(Redaction, lambda member: inspect.isroutine(member))
        if not name.startswith("_")
    ),
    (MONITOR, "Redaction", Redaction.__init__),
    (MONITOR, "holds_mark", holds_mark),
]


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def signature(name: str, function: Callable[..., Any]) -> str:
    """How the reference writes a call."""
    parts: list[str] = []
    found = inspect.signature(function)
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(parameter.name + _default(parameter.default))
    returns = found.return_annotation
    returned = "" if returns in (inspect.Signature.empty, None, "None") else f" -> {returns}"
    return f"{name}({', '.join(parts)}){returned}"


def _default(value: object) -> str:
    match value:
        case inspect.Parameter.empty:
            return ""
        case str():
            return f'="{value}"'
        case dura.records.Want():
            return "=Want()"
        case _:
            return f"={value!r}".replace("datetime.", "")


@pytest.mark.parametrize(
    ("page", "name", "function"), SIGNATURES, ids=[f"{page.stem}-{name}" for page, name, _ in SIGNATURES]
)
def test_call_has_a_heading_and_its_signature(page: Path, name: str, function: Callable[..., Any]) -> None:
    section = re.search(rf"^##+ `{name}`\n(.*?)(?=^##|\Z)", text_of(page), re.MULTILINE | re.DOTALL)
    assert section is not None, f"{page.name} has no heading for {name}"
    fenced = re.search(r"^```\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    assert fenced is not None, f"{page.name} has no signature of {name}"
    assert " ".join(fenced[1].split()) == signature(name, function)


def test_page_describes_no_call_that_does_not_exist() -> None:
    known = {(page, name) for page, name, _ in SIGNATURES}
    for page in (ENGINE, WORKERS, MONITOR):
        for name in re.findall(r"^### `(\w+)`$", text_of(page), re.MULTILINE):
            assert (page, name) in known or hasattr(dura.records, name), f"{page.name}: {name}"


@pytest.mark.parametrize("name", dura.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert any(f"`{name}" in text_of(page) for page in REFERENCE.glob("*.md"))


def test_error_tree_is_the_code_s() -> None:
    page = text_of(ERRORS)
    tree = page.split("```")[1]
    classes = {
        name: member
        for name, member in inspect.getmembers(dura.errors, inspect.isclass)
        if issubclass(member, BaseException)
    }
    indents: list[str] = []
    for line in tree.strip().splitlines():
        depth = len(re.match(r"[ │├└─]*", line)[0]) // 4  # type: ignore[index]  # it matches the empty text too
        name = re.findall(r"\w+", line)[0]
        indents[depth:] = [name]
        if depth:
            assert classes[name].__bases__[0] is classes[indents[depth - 1]], name
    assert set(classes) == set(re.findall(r"[A-Z]\w+(?=\s|$)", re.sub(r"\(.*?\)", "", tree)))
    for name in set(classes) - {"EngineError"}:
        assert f"`{name}`" in page, name


@pytest.mark.parametrize(
    "record",
    [member for _, member in inspect.getmembers(dura.records, dataclasses.is_dataclass)],
    ids=lambda record: record.__name__,
)
def test_every_field_of_a_record_is_named(record: type) -> None:
    pages = text_of(MONITOR) + text_of(ENGINE)
    assert f"`{record.__name__}`" in pages
    names = [field.name for field in dataclasses.fields(record)]
    names += [name for name, _ in inspect.getmembers(record, lambda member: isinstance(member, property))]
    assert [name for name in names if f"`{name}`" not in pages] == []


# --- the file --------------------------------------------------------------------------------------------------------


def test_schema_page_has_every_table_with_its_columns(engine: DurableEngine, path: Path) -> None:
    page = text_of(SCHEMA)
    with plain(path) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            section = re.search(rf"^## `{table}`\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
            assert section is not None, table
            described = re.findall(r"^\| `(\w+)` \| (TEXT|INTEGER)", section[1], re.MULTILINE)
            columns = [(row[1], row[2]) for row in connection.execute(f"PRAGMA table_info({table})")]
            assert described == columns, table


def test_schema_page_has_every_index_and_trigger(engine: DurableEngine, path: Path) -> None:
    page = text_of(SCHEMA)
    with plain(path) as connection:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
            )
        ]
        assert [name for name in names if f"`{name}`" not in page] == []
        assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    assert f"| {APPLICATION_ID} (`dura` in ASCII)" in page
    assert f"`dura.schema`/`version` | {VERSION} | {VERSION} |" in page


@pytest.mark.parametrize("block", blocks(SCHEMA, "sql"), ids=lambda block: block.name)
def test_queries_of_the_schema_page_run(block: Block, engine: DurableEngine, path: Path) -> None:
    engine.spawn_task(name="job", params={})
    with plain(path) as connection:
        queries = [query for query in block.text.split(";\n") if query.strip()]
        found = [connection.execute(query).fetchall() for query in queries]
    assert found[0][0][2] == "job"
    assert found[-1] == [("default", "job", "pending", 1)]


# --- moving from 1.3.0 -----------------------------------------------------------------------------------------------


def test_moving_page_names_every_repair() -> None:
    """Every line that the upgrade may report is in the page's table, with … where it has a number."""
    source = ast.parse(Path(upgrade.__file__).read_text())
    lines = [
        node.value for node in ast.walk(source)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "{n}" in node.value
    ]  # fmt: skip
    table = [line for line in text_of(MOVING).splitlines() if line.startswith("| ")]
    assert len(lines) >= 8
    for line in lines:
        start = line.replace("{n}", "…").split(":")[0].split(",")[0]
        assert any(row.startswith(f"| {start}") for row in table), line


def test_an_upgraded_store_can_go_back_as_the_page_says(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    shutil.copy(ROOT / "tests" / "fixtures" / "store-1.3.0.db", path)
    engine = DurableEngine(path)
    assert engine.upgrade_report
    engine.close()
    [script] = blocks(MOVING, "sql")
    with plain(path) as connection:
        connection.executescript(script.text)
        for table, columns in COLUMNS_1_3_0.items():
            assert [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] == columns
        triggers = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()
        assert triggers == (0,)
    with Monitor(path) as monitor:
        assert monitor.snapshot().file.origin == "1.3.0"
    engine = DurableEngine(path)
    assert engine.upgrade_report[0] == "upgraded the store from dura 1.3.0"
    assert engine.check() == ()
    engine.close()


def test_a_store_made_here_cannot_go_back_that_way(engine: DurableEngine, path: Path) -> None:
    [script] = blocks(MOVING, "sql")
    with plain(path) as connection:
        with pytest.raises(sqlite3.OperationalError):
            connection.executescript(script.text)
        connection.execute("ROLLBACK")


# --- the terminal monitor --------------------------------------------------------------------------------------------


def test_readme_lists_every_key_of_the_monitor() -> None:
    section = text_of(ROOT / "README.md").split("## The monitor")[1].split("\n## ")[0]
    cells = " ".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    shown = set(re.findall(r"`([^`]+)`", cells))
    views = {view.key for view in VIEW_KEYS}
    assert "1" in shown
    assert {key.shown for key in KEYS} - views <= shown


def test_monitor_page_lists_every_option() -> None:
    page = text_of(DOCS / "monitor.md")
    options = set(re.findall(r"--[a-z][a-z-]*", make_parser().format_help())) - {"--help"}
    assert [option for option in options if f"`{option}" not in page and f"{option}\n" not in page] == []
