"""What can happen to the bytes of a store: drawn from a seed, so that each can be made again."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

PAGE: Final = 4096
_WAL_HEADER: Final = 32
_FRAME: Final = _WAL_HEADER - 8 + PAGE
SUFFIXES: Final = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Mutation:
    """One damage to one of a store's files."""

    suffix: str
    what: str
    at: int
    length: int
    seed: int

    def __str__(self) -> str:
        return f"{self.what} {self.length} bytes of store.db{self.suffix} at {self.at} (seed {self.seed})"


def draw(seed: int, folder: Path) -> Mutation:
    """A mutation of a store in a folder: as often of its header, of the schema, of a log's frame as of any page."""
    random = Random(seed)
    there = [suffix for suffix in SUFFIXES if (folder / f"store.db{suffix}").exists()]
    suffix = random.choice([there[0], *there])
    size = (folder / f"store.db{suffix}").stat().st_size
    at = min(_place(random, suffix, size), max(size - 1, 0))
    what = random.choice(["flip"] * 6 + ["zero", "fill", "noise", "noise", "cut", "grow", "shift"])
    length = 1 if what == "flip" else random.choice([1, 2, 4, 8, 16, 64, 512, PAGE])
    return Mutation(suffix, what, at, length, seed)


def _place(random: Random, suffix: str, size: int) -> int:
    if suffix == "-wal":
        frame = _WAL_HEADER + _FRAME * random.randrange(max(size // _FRAME, 1))
        return random.choice(
            [random.randrange(_WAL_HEADER), frame + random.randrange(24), random.randrange(max(size, 1))]
        )
    if suffix == "-shm":
        return random.choice([random.randrange(136), random.randrange(max(size, 1))])
    page = PAGE * random.randrange(max(size // PAGE, 1))
    return random.choice(
        [
            random.randrange(100),
            100 + random.randrange(PAGE - 100),
            page + random.randrange(16),
            random.randrange(max(size, 1)),
        ]
    )


def mutate(mutation: Mutation, folder: Path) -> None:
    """Do it."""
    random = Random(mutation.seed)
    file = folder / f"store.db{mutation.suffix}"
    content = bytearray(file.read_bytes())
    begin, end = mutation.at, mutation.at + mutation.length
    match mutation.what:
        case "flip":
            content[begin : begin + 1] = bytes(
                byte ^ 1 << random.randrange(8) for byte in content[begin : begin + 1]
            )
        case "zero":
            content[begin:end] = bytes(len(content[begin:end]))
        case "fill":
            content[begin:end] = b"\xff" * len(content[begin:end])
        case "noise":
            content[begin:end] = random.randbytes(len(content[begin:end]))
        case "cut":
            del content[begin:]
        case "grow":
            content += random.randbytes(mutation.length)
        case "shift":
            del content[begin:end]
        case what:
            raise ValueError(what)
    file.write_bytes(content)


def renew(kept: Path, folder: Path) -> None:
    """Put a copy of the kept store into the folder, written some time ago."""
    for file in folder.iterdir():
        file.unlink()
    for file in kept.iterdir():
        shutil.copy(file, folder / file.name)


def age(folder: Path) -> None:
    """Make the last writes older than the file system's clock is coarse."""
    for file in folder.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))


def trace(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's bytes and time of writing. Of a log's index, which belongs to whoever reads, only that it is there."""
    return {
        file.name: (b"", 0) if file.name.endswith("-shm") else (file.read_bytes(), file.stat().st_mtime_ns)
        for file in folder.iterdir()
    }
