"""The page on reliability: its table is written by the tests' own run, and what it names is there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from docs.pages import DOCS, ROOT

PAGE = (DOCS / "reliability.md").read_text("utf-8")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("counts_script", DOCS / "counts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tests_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGE))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_a_table_is_written_between_the_marks_and_nowhere_else(script: ModuleType) -> None:
    found = {"python": "3.11.7", "sqlite": "3.40.1", "counts": {"crash": {"kills at statements": 1234}}}
    page = script.rewritten(PAGE, found)
    assert "| `tests/crash` | kills at statements | 1,234 |" in page
    assert script.rewritten(page, found) == page
    outside = re.compile(re.escape(script.BEGIN) + ".*" + re.escape(script.END), re.DOTALL)
    assert outside.sub("", page) == outside.sub("", PAGE)
    with pytest.raises(ValueError, match="counts"):
        script.rewritten("no marks", found)


def test_the_page_has_figures_of_every_search() -> None:
    for folder in ("model", "interleavings", "crash", "soak", "fuzz", "world"):
        assert f"| `tests/{folder}` |" in PAGE, (
            f"`make counts` writes the table of docs/reliability.md: no {folder}"
        )


def test_what_tests_count_is_summed_up_by_folder_and_over_runs(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import pytest\nfrom pathlib import Path\nfrom counts import Counts, counter\n"
        "@pytest.fixture\ndef count(record_property): return counter(record_property)\n"
        "def pytest_configure(config): config.pluginmanager.register(Counts(Path('out/counts.json')))\n"
    )
    folder = tmp_path / "tests" / "crash"
    folder.mkdir(parents=True)
    (folder / "test_it.py").write_text(
        "def test_passes(count): count('kills', 3)\ndef test_fails(count): count('kills', 5); assert False\n"
    )
    for runs in (1, 2):
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "tests/crash"],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT / "tests")}, check=False, capture_output=True, timeout=60,
        )  # fmt: skip
        found = json.loads((tmp_path / "out" / "counts.json").read_text("utf-8"))
        assert found["counts"] == {"crash": {"kills": 3 * runs, "tests that passed": runs}}
