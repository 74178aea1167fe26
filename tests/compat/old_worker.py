"""A worker of the 1.3.0 release, run from its unpacked source: `python old_worker.py STORE FOLDER`.

Writes FOLDER/started when its handler has begun, waits there for FOLDER/go, and claims until it is killed.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from pathlib import Path

from dura import DurableEngine, run_worker


def main(store: str, folder: str) -> None:
    logging.basicConfig(level=logging.INFO)

    def handler(_engine: object, _task: object) -> str:
        Path(folder, "started").touch()
        deadline = time.monotonic() + 60
        while not Path(folder, "go").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return "by the old worker"

    run_worker(
        DurableEngine(store),
        handlers={"job": handler},
        worker_id="old",
        stop_event=threading.Event(),
        poll_interval=0.02,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
