"""One workload, run in the environment of one system: `python -m benchmarks.child SPEC` prints one line of JSON."""

from __future__ import annotations

import importlib
import json
import logging
import platform
import sys
from typing import Any

from benchmarks import mechanisms
from benchmarks.store import PreparedOnly, Store
from benchmarks.watching import Watch


def main() -> int:
    """Run what the first argument says."""
    spec: dict[str, Any] = json.loads(sys.argv[1])
    if spec.get("without"):
        mechanisms.switch_off(spec["without"])
    adapter = importlib.import_module(f"benchmarks.adapters.{spec['adapter']}").System
    workload = importlib.import_module(f"benchmarks.workloads.{spec['workload']}")
    logging.disable(logging.ERROR)
    watch = Watch()
    watch.install()
    try:
        metrics = workload.run(Store(spec, adapter, watch), **spec["options"])
    except PreparedOnly:
        metrics = {}
    answer: dict[str, Any] = {
        "metrics": metrics,
        "durability": watch.durability(),
        "sqlite": sys.modules["sqlite3"].sqlite_version,
        "python": platform.python_version(),
    }
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
