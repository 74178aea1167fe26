"""`import dura` is for programs that have nothing but Python: it loads the standard library alone."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import dura

LISTS_WHAT_IT_LOADED = """
import sys
before = set(sys.modules)
import {module}
import json
print(json.dumps(sorted({{name.partition(".")[0] for name in set(sys.modules) - before}})))
"""


def loaded_by(module: str) -> set[str]:
    # -I and -S keep site-packages' own start-up hooks (an editable install's finder) out of the comparison.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {source_path()!r}\n"
         + LISTS_WHAT_IT_LOADED.format(module=module)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(json.loads(done.stdout))


def source_path() -> list[str]:
    assert dura.__file__ is not None
    return [dura.__file__.removesuffix("/dura/__init__.py")]


def test_import_dura_loads_the_standard_library_only() -> None:
    assert loaded_by("dura") - sys.stdlib_module_names == {"dura"}


def test_no_module_of_the_engine_loads_the_user_interface() -> None:
    doors = [
        found.name for found in pkgutil.iter_modules(dura.__path__) if found.name not in ("cli", "__main__")
    ]
    for module in [f"dura.{name}" for name in doors]:
        assert not loaded_by(module) & {"textual", "rich", "dura_tui"}, module


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
