"""Filters that somebody keeps by name, in a small file of their own.

The file is JSON in `$XDG_CONFIG_HOME/dura-tui/filters.json`. It is read afresh each time and replaced as a whole, so that no
reader ever sees half of it. One that is damaged is told with what is wrong, and never written over.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from dura_tui import config
from dura_tui.start import Start

_VERSION: Final = 1
_LARGEST: Final = 1_000_000
"""Bytes that such a file may have."""

LONGEST_NAME: Final = 60
MOST: Final = 500
"""Filters that are kept."""


class SavedFiltersLost(Exception):  # noqa: N818
    """The file cannot be read, or written; the text says which file, why, and what to do."""


@dataclass(frozen=True, slots=True)
class SavedFilter:
    """A filter by name."""

    name: str
    view: str
    filter: str
    sort: str = ""

    @property
    def start(self) -> Start:
        """What it shows."""
        return Start(self.view, self.filter, self.sort)


def default_path() -> Path:
    """Where they are kept: beside the settings."""
    return config.default_path().with_name("filters.json")


def load(path: Path) -> tuple[SavedFilter, ...]:
    """The filters by name; none if there is no file yet.

    Raises:
        SavedFiltersLost: It cannot be read, or is no such file.
    """
    try:
        # A pipe may have no writer, and the screen would wait for one.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            content = file.read(_LARGEST + 1) or b""
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SavedFiltersLost(f"{path} cannot be read: {error.strerror or error}") from error
    if len(content) > _LARGEST:
        raise _damaged(path, f"it is larger than {_LARGEST:,} bytes")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    return tuple(sorted(_filters(path, document), key=lambda kept: kept.name.lower()))


def keep(path: Path, added: SavedFilter) -> None:
    """Keep a filter, in the place of one of the same name.

    Raises:
        SavedFiltersLost: The file is damaged, full, or cannot be written; it is as it was.
    """
    others = [kept for kept in load(path) if kept.name != added.name]
    if len(others) >= MOST:
        raise SavedFiltersLost(f"{path} holds {MOST} filters already: delete one first")
    _write(path, [*others, added])


def forget(path: Path, name: str) -> None:
    """Delete a filter; nothing happens if it is not there.

    Raises:
        SavedFiltersLost: The file is damaged or cannot be written; it is as it was.
    """
    _write(path, [kept for kept in load(path) if kept.name != name])


def _filters(path: Path, document: Any) -> list[SavedFilter]:
    if not isinstance(document, dict) or not isinstance(document.get("filters"), list):
        raise _damaged(path, "it is no list of filters")
    version = document.get("version")
    # `true` and `1.0` are equal to 1.
    if type(version) is not int or version != _VERSION:
        raise SavedFiltersLost(
            f"{path} is of version {version!r}, which this dura-tui does not know: use the newer one"
        )
    found: dict[str, SavedFilter] = {}
    for number, entry in enumerate(document["filters"], 1):
        fields = {"name", "view", "filter", "sort"}
        if (
            not isinstance(entry, dict)
            or set(entry) != fields
            or not all(isinstance(entry[field], str) for field in fields)
            or not entry["name"]
        ):
            raise _damaged(path, f"filter {number} has not the four texts name, view, filter and sort")
        if entry["name"] in found:
            raise _damaged(path, f"filter {number} has a name that another has: {entry['name']!r}")
        found[entry["name"]] = SavedFilter(**entry)
    return list(found.values())


def _damaged(path: Path, why: str) -> SavedFiltersLost:
    return SavedFiltersLost(
        f"{path} is damaged: {why}. Repair it, or move it away to begin anew; nothing is written to it meanwhile"
    )


def _write(path: Path, filters: list[SavedFilter]) -> None:
    document = {"version": _VERSION, "filters": [asdict(kept) for kept in filters]}
    # A link to where somebody keeps their settings stays a link.
    target = Path(os.path.realpath(path))
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".filters-", dir=target.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2, ensure_ascii=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise SavedFiltersLost(f"{path} cannot be written: {error.strerror or error}") from error
