"""The interpreter that all systems run on, and an environment a system: made on first use, outside the tree."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.systems import System

ROOT: Final = Path(__file__).resolve().parent.parent
"""The tree."""

_WANTED: Final = (3, 13)
"""The Python that the 1.3.0 release asks for; comparing is fair only if everybody runs on the same one."""

_OUR_STORES: Final = ("src/dura/ids.py", "src/dura/store/*.py", "src/dura/store/*.sql")
_FILLERS: Final = ("benchmarks/bulk_rows.py", "benchmarks/adapters/*.py")
"""What decides how the stores that are prepared look: our engine's way of writing them, and the harness's of filling."""

_PYPI_SECONDS: Final = 600


class Unavailable(Exception):  # noqa: N818 - the table says it, nobody handles it
    """The system cannot be measured here; the message says why."""


def cache_folder() -> Path:
    """Where environments, stores and results are kept: `DURA_BENCH_CACHE`, or a folder in the user's cache."""
    chosen = os.environ.get("DURA_BENCH_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dura-benchmarks"


def version_of(python: str | Path) -> tuple[int, int] | None:
    """An interpreter's version; None if it does not run (a shim of pyenv may stand for no Python at all)."""
    script = "import sqlite3, sys; print(*sys.version_info[:2])"
    try:
        told = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = told.stdout.split()
    return int(major), int(minor)


def _candidates() -> Iterator[str]:
    name = "python{}.{}".format(*_WANTED)
    if sys.version_info[:2] == _WANTED:
        yield sys.executable
    if (found := shutil.which(name)) is not None:
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for path in sorted(pyenv.glob(f"versions/{_WANTED[0]}.{_WANTED[1]}.*/bin/{name}"), reverse=True):
        yield str(path)
    yield sys.executable


class Environments:
    """Where each system's interpreter is.

    Args:
        cache: The folder to keep them in.
        python: The interpreter for all; by default a Python 3.13 if there is one, else this one.
    """

    def __init__(self, cache: Path, python: str | None = None) -> None:
        self._folder = cache / "environments"
        chosen = [python] if python else _candidates()
        for candidate in chosen:
            version = version_of(candidate)
            if version is not None:
                self.python, self.version = candidate, version
                return
        raise SystemExit(
            f"{python}: this interpreter does not run, or has no sqlite3. Give another with --python."
        )

    def interpreter(self, system: System) -> str:
        """The interpreter of a system's environment, which is made now if it does not exist.

        Raises:
            Unavailable: The system does not run here.
        """
        if self.version < system.least_python:
            raise Unavailable("needs Python {}.{} or later".format(*system.least_python))
        if not system.requirements:
            return self.python
        folder = self._folder / self._named(system, " ".join(system.requirements).encode())
        python, ready = folder / "bin" / "python", folder / "ready"
        if not ready.exists():
            print(f"Making an environment for {system.title} (once) ...", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            options = ["--ignore-requires-python"] if system.ignores_python else []
            _run([self.python, "-m", "venv", str(folder)])
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _run([*install, *options, *system.requirements])
            ready.touch()
        return str(python)

    def signature(self, system: System) -> str:
        """A name that changes with whatever makes a system's stores: its pins or our sources, and the harness."""
        made_by = " ".join(system.requirements).encode() or _contents(_OUR_STORES)
        return self._named(system, made_by + _contents(_FILLERS))

    def variables(self, system: System) -> dict[str, str]:
        """What a system's processes need set: they can import the harness, and this tree's `dura` only if it is theirs.

        Compiled modules are kept in the cache, for all systems alike, so that the tree stays clean and a process starts
        in half the time.
        """
        paths = [str(ROOT)] if system.requirements else [str(ROOT / "src"), str(ROOT)]
        return {
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONPYCACHEPREFIX": str(self._folder / "compiled"),
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONWARNINGS": "ignore",
        }

    def _named(self, system: System, made_by: bytes) -> str:
        digest = hashlib.sha256(made_by).hexdigest()[:8]
        return f"{system.id}-py{self.version[0]}.{self.version[1]}-{digest}"


def _contents(patterns: tuple[str, ...]) -> bytes:
    """What the files of this tree contain that match one of the patterns."""
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return b"".join(path.read_bytes() for path in paths)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PYPI_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"its environment cannot be made: {error}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Unavailable(f"its environment cannot be made: {last}")
