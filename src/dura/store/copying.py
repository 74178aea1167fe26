"""A private copy of a file and its write-ahead log, for a reader that cannot open them where they lie."""

from __future__ import annotations

import os
import shutil
from typing import Final

from dura.errors import StoreBusy, StoreError
from dura.store.footprint import Footprint, footprint

COPY_LIMIT: Final = 1 << 30
"""Bytes of file and log together, up to which a store is copied for reading: 1 GiB."""

_TRIES: Final = 3


def copy_files(found: Footprint, folder: str, path: str, limit: int) -> tuple[str, Footprint]:
    """Copy a store's file and its log, as they are at one moment.

    Args:
        found: What there is to copy.
        folder: A private folder for it.
        path: The store, as the caller named it, for messages.
        limit: Bytes that the copy may have.

    Returns:
        The path of the copied file, beside which its log lies, and the footprint of what was copied.

    Raises:
        StoreBusy: The files changed whenever they were copied.
        StoreError: They are larger than the limit, or may not be read, or there is no room.
    """
    copy = os.path.join(folder, "store.db")
    for _ in range(_TRIES):
        _check_size(found, path, limit)
        failure = _copy(found, copy)
        now = footprint(path)
        if now != found:
            found = now
            continue
        if failure is None:
            return copy, found
        raise StoreError(
            f"{path}: its write-ahead log {found.path}-wal cannot be opened where it lies, and the two could not be "
            f"copied to {folder} ({failure.strerror}). Check this user's permission for both files and the room in the "
            "folder for temporary files (TMPDIR), or look with an account that may write the store's folder.",
            path=path,
        ) from failure
    raise StoreBusy(
        f"{path}: the file or its write-ahead log changed whenever it was copied for reading. Try again, or look with an "
        "account that may write the store's folder.",
        path=path,
    )


def _check_size(found: Footprint, path: str, limit: int) -> None:
    total = found.size + found.wal_size
    if total > limit:
        raise StoreError(
            f"{path}: its write-ahead log {found.path}-wal ({found.wal_size:,} bytes) has no index that this user may "
            "use, so it can only be read in a copy, and without it the file would be shown without its latest changes. "
            f"A copy of both ({total:,} bytes) would exceed the limit of {limit:,} bytes. Run `dura check` on the store "
            "once with an account that may write its folder, which puts the log into the file.",
            path=path,
        )


def _copy(found: Footprint, copy: str) -> OSError | None:
    try:
        shutil.copyfile(found.path, copy)
        if found.wal is not None:
            shutil.copyfile(f"{found.path}-wal", f"{copy}-wal")
    except OSError as error:
        return error
    return None
