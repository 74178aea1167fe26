"""One look for people and scripts: what it prints, how it ends, and that it never loads Textual."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ManualClock
from dura import DurableEngine
from tui.harness import EVENT, Shop, fill

NO_TEXTUAL = """
import sys
from dura_tui.cli import main
code = main(sys.argv[1:])
loaded = [name for name in sys.modules if name.split(".")[0] == "textual"]
sys.exit(f"textual was loaded: {loaded[:3]}" if loaded else code)
"""


@pytest.fixture
def shop(path: Path, clock: ManualClock) -> Shop:
    engine = DurableEngine(path, clock=clock)
    shop = fill(engine)
    engine.close()
    return shop


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", NO_TEXTUAL, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


def test_tables_are_printed_without_textual(path: Path, shop: Shop) -> None:
    done = run(str(path), "--once", COLUMNS="160")
    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        "charge_order",
        shop.waiting,
        EVENT,
        "step approval",
        "ValueError: row 7 has no price",
        "web1:4711:1",
    ):
        assert words in done.stdout
    assert "\x1b" not in done.stdout


def test_output_that_is_no_terminal_is_one_look_anyway_and_fits_80_columns(path: Path, shop: Shop) -> None:
    done = run(str(path), COLUMNS="80")
    assert done.returncode == 0
    assert "Leases" in done.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in done.stdout.splitlines())


def test_none_is_written_alike_in_a_row_and_in_the_sum_of_all(path: Path) -> None:
    engine = DurableEngine(path)
    engine.spawn_task(name="charge_order", params=None)
    engine.close()
    lines = run(str(path), "--once", "--view", "overview").stdout.splitlines()
    one, every = (next(line for line in lines if line.startswith(name)) for name in ("default", "all"))
    assert one.split()[2:] == every.split()[1:] == ["1", *"·····"]


def test_json_is_the_snapshot_by_its_own_names(path: Path, shop: Shop) -> None:
    done = run(str(path), "--json")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["file"]["path"] == str(path)
    assert {row["state"] for row in document["counts"]} == {
        "pending", "running", "sleeping", "completed", "failed", "cancelled",
    }  # fmt: skip
    assert [lease["task_id"] for lease in document["leases"]] == [shop.running]
    assert document["awaited"][0]["waiters"][0]["event_name"] == EVENT
    assert len(document["tasks"]["tasks"]) == 8


@pytest.mark.parametrize(
    ("view", "line", "words", "without"),
    [
        ("overview", "", ("Tasks", "Queues"), ("Leases", "Audit")),
        ("leases", "name:resize*", ("EXPIRES IN", "resize_image"), ("Sleeping",)),
        ("sleeping", "name:sync_crm", ("DUE IN", "backoff", "sync_crm"), ("charge_order",)),
        ("tasks", "state:failed", ("PROGRESS", "✗ failed", "import_catalog"), ("resize_image",)),
        ("events", "", ("Awaited events", "Emitted events", "catalog.ready"), ("Leases",)),
        ("state", "", ("NAMESPACE", "feeds"), ("Tasks",)),
        ("failures", "", ("ValueError", "Latest failures"), ("Queues",)),
        ("approvals", "", (EVENT, "approval"), ("catalog.ready",)),
        ("workers", "", ("web1:4711:1",), ("Queues",)),
        ("queues", "", ("DRAINS IN", "default"), ("Workers",)),
        ("audit", "", ("nothing to show",), ("Tasks",)),
    ],
)
def test_each_view_is_printed_alone_with_its_filter(
    path: Path, shop: Shop, view: str, line: str, words: tuple[str, ...], without: tuple[str, ...]
) -> None:
    filtered = ("--filter", line) if line else ()
    done = run(str(path), "--once", "--view", view, *filtered, COLUMNS="160")
    assert (done.returncode, done.stderr) == (0, "")
    assert [word for word in words if word not in done.stdout] == []
    assert [word for word in without if word in done.stdout] == []


def test_the_json_of_a_view_holds_what_the_view_shows(path: Path, shop: Shop) -> None:
    document = json.loads(run(str(path), "--json", "--filter", "state:failed", "--sort", "name").stdout)
    assert [task["task_id"] for task in document["tasks"]["tasks"]] == [shop.failed]
    assert document["leases"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--view", "nope"), "there is no view 'nope': use one of overview, leases"),
        (("--view", "overview", "--filter", "a"), "is printed without a filter"),
        (("--view", "leases", "--sort", "age"), "only the tasks are printed in other orders"),
        (("--filter", "nme:a"), "did you mean name?"),
    ],
)
def test_what_a_printed_view_cannot_do_is_refused(
    path: Path, shop: Shop, arguments: tuple[str, ...], words: str
) -> None:
    done = run(str(path), "--once", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_look_leaves_the_file_as_it_was(path: Path, shop: Shop) -> None:
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    run(str(path), "--once")
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("missing.db",), 1, "no such file"),
        (("--once", "missing.db"), 1, "no such file"),
        (("--json", "."), 1, "dura-tui: "),
        ((), 2, "--demo"),
        (("--demo", "x.db"), 2, "leave out the path"),
        (("--refresh", "0", "x.db"), 2, "is no number of seconds"),
        (("--refresh", "nan", "x.db"), 2, "is no number of seconds"),
        (("--nope", "x.db"), 2, "unrecognized"),
        (("x.db", "--filter", "-queue:mail"), 2, "write --filter=-queue:mail"),
        (("x.db", "--sort", "-name"), 2, "write --sort=-name"),
    ],
)
def test_what_cannot_be_done_is_a_line_or_two_and_a_code(
    arguments: tuple[str, ...], code: int, words: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dura_tui", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("dura-tui: ")
    assert len(done.stderr.splitlines()) == code
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_that_of_the_distribution() -> None:
    assert run("--version").stdout.startswith("dura-tui 2.")


def test_the_demo_says_where_its_store_was_and_removes_it() -> None:
    done = run("--demo", "--once")
    assert done.returncode == 0, done.stderr
    [path] = [word.rstrip(";") for word in done.stderr.split() if word.endswith("shop.db;")]
    assert "it has been removed" in done.stderr
    assert path in done.stdout
    assert not Path(path).parent.exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
@pytest.mark.parametrize("form", ["--once", "--json", "--help", "--version", "--print-config"])
def test_output_that_cannot_be_written_is_one_line_of_trouble(path: Path, shop: Shop, form: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dura_tui", str(path), form],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("dura-tui: ")
    assert "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("form", ["--once", "--help", "--version", "--print-config", "--watch=x"])
def test_a_closed_output_is_one_line_of_trouble(path: Path, shop: Shop, form: str) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -m dura_tui "$1" "$2" >&-', sys.executable, str(path), form],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "dura-tui: standard output is closed: there is nowhere to print to\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed_before_it_began_are_no_traceback(
    path: Path, shop: Shop, closed: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m dura_tui "$1" {closed}', sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (0 if closed == "<&-" else 1)


def test_an_encoding_without_the_signs_gets_escapes(path: Path, shop: Shop) -> None:
    done = run(str(path), "--once", COLUMNS="160", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "charge_order" in done.stdout
