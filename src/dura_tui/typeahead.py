"""Keys that were typed ahead go where they were meant to go: each waits until the one before it has done its work.

Over a slow line several keys arrive at once. Textual hands them all to the widget that has the focus at that moment, so
that of `/queue` typed quickly, only `/` would reach the list: the rest would be obeyed as keys, `q` among them. Text that
is typed into a field waits for nothing, since nothing but a key that is no text leads out of it.
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Final

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

_PATIENCE_SECONDS: Final = 0.5
"""After so long the next key is taken if the widget that has the one before it is gone: it would never say that it is done."""

_LONGEST_SECONDS: Final = 10.0
"""After so long the next key is taken in any case. A dialog may take seconds to open on a machine that is busy with others."""

_ROUNDS: Final = 4
"""As many messages as a key sets off one after the other: a submitted line is applied, left, and the focus moved."""


class Typeahead(App[None]):
    """An app that takes one key at a time, from when it says that it can."""

    class KeyDone(Message):
        """Follows a key through the same widgets, up to the app; and again, what these widgets have sent since."""

        def __init__(self, number: int, rounds: int = _ROUNDS) -> None:
            super().__init__()
            self.number = number
            self.rounds = rounds

    _typed: deque[Key | Paste]
    _number = 0
    _busy = True
    _patience: Timer | None = None
    _taken_at = 0.0
    _bearer: DOMNode | None = None
    _screen_before: Screen[object] | None = None

    def __init__(self) -> None:
        """Begin with nothing typed."""
        super().__init__()
        self._typed = deque()

    async def on_event(self, event: Event) -> None:
        """Take what is typed in its order, and everything else as it comes."""
        if isinstance(event, Key | Paste) and not self.screen_stack:
            # The program is at its end.
            return
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed.append(event)
        if not self._busy:
            await self._take_next()
        elif self._patience is None and self._number:
            self._patience = self.set_timer(_PATIENCE_SECONDS, self._look_after)

    @property
    def typing(self) -> bool:
        """Whether a key waits, or has not done its work yet."""
        return self._busy or bool(self._typed)

    async def take_keys(self) -> None:
        """Everything is there that keys can be for: begin with what was typed meanwhile."""
        self._number += 1
        await self._take_next()

    async def _take_next(self) -> None:
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        self._busy = False
        while self._typed and not self._busy and self.screen_stack:
            event, target = self._typed.popleft(), self.focused or self.screen
            await super().on_event(event)
            if not (isinstance(event, Paste) or target.check_consume_key(event.key, event.character)):
                self._busy = True
                self._number += 1
                self._screen_before = self.screen
                self._taken_at = monotonic()
                self._follow(target, self.KeyDone(self._number))
        if self._typed:
            self._patience = self.set_timer(_PATIENCE_SECONDS, self._look_after)

    def _follow(self, bearer: DOMNode, message: KeyDone) -> None:
        self._bearer = bearer
        # A message goes up no further than to its sender, and the first keys are taken on behalf of the screen.
        message.set_sender(self)
        bearer.post_message(message)

    async def _look_after(self) -> None:
        """Wait on for a key that has not done its work, unless it never will."""
        alive = self._bearer is not None and self._bearer.is_running and self._bearer.is_attached
        if self._busy and alive and monotonic() - self._taken_at < _LONGEST_SECONDS:
            self._patience = self.set_timer(_PATIENCE_SECONDS, self._look_after)
        else:
            await self._take_next()

    async def on_typeahead_key_done(self, message: KeyDone) -> None:
        """What the key asked for has been begun; a new screen has its focus when it is drawn."""
        if message.number != self._number or not self.screen_stack:
            # Another key has been taken since, or the program is at its end.
            return
        if message.rounds > 1:
            self._follow(self.focused or self.screen, self.KeyDone(message.number, message.rounds - 1))
        elif self.screen is self._screen_before:
            await self._take_next()
        else:
            self._bearer = self.screen
            self.screen.call_after_refresh(self._after_drawing, message.number)

    async def _after_drawing(self, number: int) -> None:
        if number == self._number and self._busy:
            await self._take_next()
