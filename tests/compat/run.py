"""Runs the test suite of the dura 1.3.0 release, unmodified, against this engine, and its worker on an upgraded store.

The release's source is downloaded from the package registry into a cache outside the tree, and nothing of it is kept
here. Its tests run in a folder of their own, with a conftest of ours before theirs that lends them the two private names
they import.

    python tests/compat/run.py [pytest arguments]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

RELEASE = "1.3.0"
EXPECTED_TESTS = 85

LENDS_PRIVATE_NAMES = """
import dura.engine
from dura.retry import delay_seconds

dura.engine._retry_delay = delay_seconds
dura.engine._CLEANUP_BATCH_SIZE = 100


def pytest_terminal_summary(terminalreporter):
    ran = len(terminalreporter.stats.get("passed", []))
    print(f"\\n{ran} of the release's tests passed")


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == 0 and session.testscollected != %d:
        session.exitstatus = 1
        print(f"\\nexpected %d tests of the release, collected {session.testscollected}")
"""


def cache_folder() -> Path:
    """Where the release's source is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dura-compat"


def release_source() -> Path:
    """The release's source archive, downloaded unless it is there."""
    archive = cache_folder() / f"dura-{RELEASE}.tar.gz"
    if not archive.exists():
        print(f"Downloading the source of dura {RELEASE} ...", flush=True)
        archive.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
                *("--no-deps", "--no-binary", ":all:", "--ignore-requires-python"),
                *("--dest", str(archive.parent), f"dura=={RELEASE}"),
            ],
            check=True,
            timeout=300,
        )
    return archive


def main() -> int:
    """Run the release's tests beside our conftest, then its worker on a store that we have upgraded."""
    with tempfile.TemporaryDirectory(prefix="dura-compat-") as folder:
        with tarfile.open(release_source()) as archive:
            archive.extractall(folder, filter="data")
        release = Path(folder) / f"dura-{RELEASE}"
        tests = Path(folder) / "suite" / "tests"
        shutil.copytree(release / "tests", tests)
        (tests.parent / "conftest.py").write_text(LENDS_PRIVATE_NAMES % (EXPECTED_TESTS, EXPECTED_TESTS))
        suite = pytest(tests, root=tests.parent, release=release)
        old_worker = pytest(
            Path(__file__).with_name("check_old_worker.py"), root=Path(folder), release=release
        )
        return suite or old_worker


def pytest(tests: Path, *, root: Path, release: Path) -> int:
    """Run tests against our engine, in a process without this project's pytest settings."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *("-p", "no:cacheprovider", "-p", "no:asyncio", "-c", os.devnull),
    ]
    environment = {**os.environ, "DURA_RELEASE": str(release)}
    return subprocess.run(
        [*command, "--rootdir", str(root), str(tests), *sys.argv[1:]],
        cwd=root,
        env=environment,
        check=False,
        timeout=600,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
