"""Where the workers' time goes: `python -m benchmarks.profiling` samples dura's pool with py-spy while it drains.

py-spy lives in an environment of its own, like the peers. A sample counts for the Python line that it finds, so the time
that SQLite takes counts for the line that calls it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from benchmarks.environments import ROOT, Environments, cache_folder
from benchmarks.rows import ROWS
from benchmarks.systems import OURS, System

_SAMPLER: Final = System("py-spy", "py-spy 0.4.3", "", 0, requirements=("py-spy==0.4.3",))
_WORKER: Final = "workers/worker.py"
"""Only stacks that pass through here are a worker's."""

_LINES: Final = 30


def main() -> int:
    """Profile one row of dura's and print the shares."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profiling", description=__doc__)
    rows = {row.id: row for row in ROWS if row.workload == "drain"}
    parser.add_argument("--row", choices=list(rows), default="drain-full-8")
    parser.add_argument("--scale", choices=("quick", "full"), default="full")
    parser.add_argument("--gil", action="store_true", help="count only who holds the interpreter lock")
    parser.add_argument("--cache", type=Path, default=cache_folder())
    options = parser.parse_args()
    row = rows[options.row]
    environments = Environments(options.cache)
    sampler = Path(environments.interpreter(_SAMPLER)).with_name("py-spy")
    with tempfile.TemporaryDirectory(dir=options.cache) as folder:
        spec = {
            "system": OURS.id,
            "adapter": OURS.adapter,
            "workload": row.workload,
            "path": f"{folder}/store.db",
            "synchronous": row.synchronous,
            "prepared": f"{folder}/prepared",
            "signature": environments.signature(OURS),
            "options": row.options_for(OURS, options.scale),
        }
        kept = Path(folder) / "stacks"
        command = [str(sampler), "record", "--rate", "250", "--format", "raw", "--output", str(kept)]
        command += ["--gil"] if options.gil else []
        command += ["--", environments.python, "-m", "benchmarks.child", json.dumps(spec)]
        subprocess.run(command, check=True, cwd=ROOT, env=environments.variables(OURS), stdout=sys.stderr)
        _print_shares(kept.read_text())
    return 0


def _print_shares(stacks: str) -> None:
    """Print the shares of files, then of lines, among the innermost frames of the workers' stacks."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for stack in stacks.splitlines():
        frames, _, count = stack.rpartition(" ")
        if _WORKER not in frames:
            continue
        innermost = frames.rsplit(";", 1)[-1]
        lines[innermost] += int(count)
        files[innermost.partition("(")[2].partition(":")[0]] += int(count)
    total = sum(files.values())
    if not total:
        raise SystemExit("no sample fell into a worker: let it run longer (--scale full)")
    for title, shares in (("by file", files), ("by line", lines)):
        print(f"{title}, of {total} samples")
        for name, samples in shares.most_common(_LINES):
            print(f"{samples / total:6.1%}  {name}")
        print()


if __name__ == "__main__":
    sys.exit(main())
