"""`import dura` is for programs that have nothing but Python: it loads the standard library alone."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import pytest

import dura

LISTS_WHAT_IT_LOADED = """
import sys
before = set(sys.modules)
{statement}
import json
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded_by(statement: str) -> set[str]:
    # -I and -S keep site-packages' own start-up hooks (an editable install's finder) out of the comparison.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {source_path()!r}\n"
         + LISTS_WHAT_IT_LOADED.format(statement=statement)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(json.loads(done.stdout))


def source_path() -> list[str]:
    assert dura.__file__ is not None
    return [dura.__file__.removesuffix("/dura/__init__.py")]


def packages(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_import_dura_loads_the_standard_library_only() -> None:
    assert packages(loaded_by("from dura import *")) - sys.stdlib_module_names == {"dura"}


def test_a_program_that_only_looks_loads_neither_the_engine_nor_the_pool() -> None:
    for statement in ("import dura", "import dura.monitor", "import dura.cli"):
        loaded = loaded_by(statement)
        assert not {"dura.engine", "dura.workers", "dura.store.door", "importlib.metadata"} & loaded, (
            statement
        )


def test_no_module_of_the_engine_loads_the_user_interface() -> None:
    doors = [
        found.name for found in pkgutil.iter_modules(dura.__path__) if found.name not in ("cli", "__main__")
    ]
    for module in [f"dura.{name}" for name in doors]:
        assert not packages(loaded_by(f"import {module}")) & {"textual", "rich", "dura_tui"}, module


def test_import_dura_starts_no_thread_and_opens_no_file() -> None:
    script = (
        f"import sys; sys.path[:0] = {source_path()!r}\n"
        "import os, threading\n"
        "before = sorted(os.listdir('/proc/self/fd'))\n"
        "import dura\n"
        "assert threading.active_count() == 1\n"
        "assert sorted(os.listdir('/proc/self/fd')) == before\n"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True, timeout=60)


def test_every_public_name_is_there() -> None:
    assert [name for name in dura.__all__ if not hasattr(dura, name)] == []
    assert sorted(dura.__all__) == dura.__all__
    assert set(dura.__all__) <= set(dir(dura))


def test_a_name_that_is_not_there_is_told_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'dura' has no attribute 'DurableEngin'"):
        dura.DurableEngin  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'DurableEngin' from 'dura'"):
        from dura import DurableEngin  # type: ignore[attr-defined]  # noqa: F401
