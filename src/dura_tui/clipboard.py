"""Copied text on its way out of a terminal that may be far away: by OSC 52, or into a file whose path can be told.

OSC 52 asks the terminal to take a text into its clipboard. It passes through SSH as it is. Inside tmux it is taken if
`set-clipboard` is `on`; otherwise it passes through tmux in a wrapping of its own, if `allow-passthrough` is `on`. Which
of the two holds cannot be asked, so both are sent: what is not wanted is dropped, and what arrives twice is the same.
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 74_994
"""Terminals drop longer sequences, some of them silently: encoded, this is just under 100,000 characters."""


def fits(text: str) -> bool:
    """Whether a terminal would take a text of this size."""
    return len(text.encode(errors="replace")) <= MOST_BYTES


def sequence(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """What must be written to the terminal, so that it takes the text into its clipboard.

    Args:
        text: What `fits`.
        environment: Tells whether tmux, or GNU screen, is between us and the terminal.
    """
    content = base64.b64encode(text.encode(errors="replace")).decode()
    bare = f"\x1b]52;c;{content}\a"
    inside = environment.get("TMUX") or environment.get("TERM", "").startswith("tmux")
    return bare + f"\x1bPtmux;\x1b{bare}\x1b\\" if inside else bare


def keep(text: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Write the text into a file that only this user can read, instead of what was there, and return its path.

    Raises:
        OSError: Neither the cache folder nor the folder of temporary files can be written.
    """
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    with suppress(OSError):
        folder = Path(cache) / "dura-tui"
        folder.mkdir(parents=True, exist_ok=True)
        return _written(folder / "copied.txt", text)
    descriptor, name = tempfile.mkstemp(prefix="dura-tui-copied-", suffix=".txt")
    os.close(descriptor)
    return _written(Path(name), text)


def _written(path: Path, text: str) -> Path:
    # A new file each time: an old one may be open to others, or a link to somewhere else.
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return path
