"""The first look at a store, before anything of the screen is loaded.

What cannot be shown is refused while the terminal is still the shell's. What could be read is what the first picture shows:
read later, on the feed's own thread, it would take several times as long, since the picture is in the making meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, Self

from dura.errors import StoreBusy, StoreError
from dura.monitor import Monitor
from dura.records import Snapshot, Want
from dura.redaction import Redaction

OVERVIEW: Final = Want(leases=1, workers=True, throughput=True, failures=50, waiting=True)
"""What the overview shows: workers, throughput, failures, the lease that ends first, and how much waits."""


class Source(Protocol):
    """What is looked at: `dura.monitor.Monitor`, or a stand-in with hand-made snapshots."""

    def snapshot(self, want: Want = ...) -> Snapshot:
        """One consistent look."""
        ...

    def changed(self) -> bool:
        """Whether anything was committed since the last snapshot."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What is known of a store when the monitor begins."""

    source: Source
    """The open store, for all further looks."""
    want: Want
    snapshot: Snapshot | None
    """What was read; None of a store that was too busy, for which the monitor waits."""

    @classmethod
    def at(cls, path: str, want: Want, redaction: Redaction | None) -> Self:
        """Look at a store.

        Args:
            path: Its file.
            want: What is read.
            redaction: What is not shown; None shows everything.

        Raises:
            StoreError: It cannot be read.
        """
        source = Monitor(path, redaction=redaction)
        try:
            return cls(source, want, source.snapshot(want))
        except StoreBusy:
            return cls(source, want, None)
        except StoreError:
            source.close()
            raise
