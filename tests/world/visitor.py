"""A visit to stores by another user: `python visitor.py UID`, run by root, which becomes that user and reads a line a visit, and prints a JSON line for each.

A line is a JSON object: `path`, `known` (the id of a task), `doors` (`look`, `act`, or `watch` for one monitor and one feed
that stay open from visit to visit). What comes back is how each door ended, or what broke the law.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from dura import DurableEngine, StoreError
from dura.monitor import Monitor
from dura.records import Want
from world.doors import (
    Door,
    acting_command,
    engine,
    feed,
    looking_command,
    once,
    once_as_json,
    snapshot,
    told,
)

_LOOKING: Final = (snapshot, feed, once, once_as_json, *map(looking_command, range(20)))
_ACTING: Final = (engine, *map(acting_command, range(9)))


def main(uid: int) -> None:
    with TemporaryDirectory() as folder:
        # What a visit needs is loaded now: this interpreter may lie where the other user may not go.
        path = Path(folder) / "store.db"
        DurableEngine(path).close()
        _all((*_LOOKING, *_ACTING), path, "none")
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    os.umask(0o022)
    watching: dict[str, Monitor] = {}
    for line in sys.stdin:
        visit = json.loads(line)
        path, known = Path(visit["path"]), visit["known"]
        if visit["doors"] == "watch":
            monitor = watching.setdefault(str(path), Monitor(path))
            ends: dict[str, Any] = {"watch": _watched(monitor)}
        elif visit["doors"] == "look":
            ends = _all(_LOOKING, path, known)
        else:
            ends = _all(_ACTING, path, known)
        sys.stdout.write(json.dumps({**ends, "uid": os.getuid()}) + "\n")
        sys.stdout.flush()
    for monitor in watching.values():
        monitor.close()


def _all(doors: Sequence[Door], path: Path, known: str) -> dict[str, str]:
    ends: dict[str, str] = {}
    for number, door in enumerate(doors):
        try:
            ends[f"{number} {door.__name__}"] = door(path, known)
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            ends[f"{number} {door.__name__}"] = f"BROKEN {traceback.format_exc()}"
    return ends


def _watched(monitor: Monitor) -> Any:
    try:
        changed = monitor.changed()
        found = monitor.snapshot(Want(leases=5))
    except StoreError as error:
        return told(error, Path(monitor.path))
    return [found.file.reading, sum(found.totals().values()), changed]


if __name__ == "__main__":
    main(int(sys.argv[1]))
