"""What a reader must know of the machine to read the numbers, and nothing that names it."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path


def facts(folder: Path) -> dict[str, str]:
    """Processor, memory, kernel, and the disk that holds the folder."""
    return {
        "cores": str(os.cpu_count()),
        "processor": _processor(),
        "memory": _memory(),
        "kernel": f"{platform.system()} {platform.release()}",
        "disk": disk(folder),
    }


def load() -> str:
    """The load average of the last minute."""
    return f"{os.getloadavg()[0]:.2f}"


def disk(folder: Path) -> str:
    """The file system of the folder and what it lies on, as far as the kernel says."""
    device, kind = _mount(folder.resolve())
    name = re.sub(r"^/dev/", "", device)
    base = re.sub(r"p?\d+$", "", name) if not name.startswith("dm-") else name
    for candidate in (name, base):
        rotational = Path(f"/sys/block/{candidate}/queue/rotational")
        if rotational.exists():
            spins = rotational.read_text().strip() == "1"
            medium = (
                "virtual disk" if candidate.startswith("vd") else "hard disk" if spins else "solid state disk"
            )
            return f"{kind} on a {medium}"
    return kind


def in_memory(folder: Path) -> bool:
    """Whether the folder is on no disk at all, so that commits cost nothing."""
    return _mount(folder.resolve())[1] in ("tmpfs", "ramfs")


def _mount(folder: Path) -> tuple[str, str]:
    """Device and type of the file system that holds a folder."""
    best = ("", "unknown", "unknown")
    try:
        lines = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return best[1], sys.platform
    for line in lines:
        device, point, kind = line.split()[:3]
        inside = folder.is_relative_to(point)
        if inside and len(point) >= len(best[0]):
            best = (point, device, kind)
    return best[1], best[2]


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else platform.machine()


def _memory() -> str:
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return "unknown"
    return f"{pages / 2**30:.0f} GiB"
