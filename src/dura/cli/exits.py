"""What the command's exit codes mean: an interface that scripts build on, so here and nowhere else."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    NOT_DONE = 1
    USAGE = 2
    STORE = 3
    INTERRUPTED = 130


MEANINGS: Final = {
    Exit.DONE: "done",
    Exit.NOT_DONE: "refused, not found, nothing matched, event emitted before, damage found",
    Exit.USAGE: "the command line is wrong; nothing was done",
    Exit.STORE: "the store (missing, busy, no dura store, old) or the output cannot be used",
    Exit.INTERRUPTED: "interrupted by Ctrl-C",
}
"""The line that `dura --help` and the reference give for each code."""


class CommandFailed(Exception):  # noqa: N818 - a way out of a command, told as such
    """Ends a command with a message for the user, one or two lines long, and an exit code."""

    def __init__(self, message: str, exit_code: Exit = Exit.NOT_DONE) -> None:
        super().__init__(message)
        self.exit_code = exit_code
