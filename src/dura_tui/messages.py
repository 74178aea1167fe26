"""What the feed's and the actions' threads tell the app. Messages are the only way in from another thread."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from textual.message import Message

from dura.records import Snapshot, Want
from dura_tui.orders import Outcome

if TYPE_CHECKING:
    from dura_tui.bulk import Tally


class SnapshotArrived(Message):
    """A read has ended well."""

    def __init__(self, snapshot: Snapshot, want: Want) -> None:
        super().__init__()
        self.snapshot = snapshot
        self.want = want
        """What the read was asked for; a view ignores a snapshot that answers another view."""

    def can_replace(self, message: Message) -> bool:
        """A later snapshot makes one that still queues worthless."""
        return isinstance(message, SnapshotArrived)


class NothingChanged(Message):
    """The store was looked at and holds nothing new since the last snapshot."""

    def __init__(self, at: datetime) -> None:
        super().__init__()
        self.at = at

    def can_replace(self, message: Message) -> bool:
        """Only the last look counts."""
        return isinstance(message, NothingChanged)


class ReadFailed(Message):
    """The store could not be read; the feed goes on trying."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason

    def can_replace(self, message: Message) -> bool:
        """Only the last reason counts."""
        return isinstance(message, ReadFailed)


class ActionDone(Message):
    """An action has ended, well or refused."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


class BulkProgress(Message):
    """An action on many tasks has come so far."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally

    def can_replace(self, message: Message) -> bool:
        """Only how far it is now counts."""
        return isinstance(message, BulkProgress)


class CopyAsked(Message):
    """The operator wants a text on their own clipboard."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__()
        self.text = text
        self.what = what
