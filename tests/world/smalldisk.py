"""Stores on a disk of our own that is full, or may not be written: `unshare -rm python smalldisk.py FOLDER`.

Prints how every door ended, as JSON: on a full disk, on one mounted read-only, and on the full one again once it has room.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cli.shop import stock
from dura import DurableEngine
from world.doors import acting_command, engine, feed, looking_command, once, once_as_json, snapshot
from world.mutations import age, trace


def main(folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)
    shop = stock(folder / "store.db")
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    ends: dict[str, dict[str, str]] = {}

    def visit(world: str, *, acts: bool = True) -> None:
        looks = [snapshot, feed, once, once_as_json, *map(looking_command, range(10))]
        before = trace(folder)
        ends[world] = {f"look {number}": door(shop.path, shop.failed) for number, door in enumerate(looks)}
        assert trace(folder) == before, f"on a {world} disk a look left a trace"
        if acts:
            doors = [engine, *map(acting_command, range(9))]
            ends[world] |= {
                f"act {number}": door(shop.path, shop.pending) for number, door in enumerate(doors)
            }

    age(folder)
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    visit("read-only")
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)

    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            continue
    visit("full")

    # A log that nobody tends is read in a copy, for which there is no room.
    ballast.unlink()
    opened = DurableEngine(shop.path)
    opened.spawn_task(name="last", params="x" * 1000)
    kept = {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")}
    opened.close()
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    age(folder)
    visit("roomy, with a log", acts=False)
    ballast.write_bytes(b"x" * (os.statvfs(folder).f_bavail * 4096 - 8192))
    visit("full, with a log", acts=False)
    ballast.unlink()
    visit("roomy")
    sys.stdout.write(json.dumps(ends))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
