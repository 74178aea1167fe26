"""The app: it owns the feed and the operator, and hands snapshots to the screens. No drawing happens here."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, ClassVar, Final

from rich.markup import escape
from textual import on
from textual._path import CSSPathType
from textual.app import App, SystemCommand
from textual.message import Message
from textual.screen import Screen

from dura.clock import Clock, system_clock
from dura.monitor import Monitor
from dura.records import Snapshot, Want
from dura.redaction import BUILT_IN, Redaction
from dura_tui import clipboard, saved, screens
from dura_tui.alerts import Alarms
from dura_tui.config import Settings
from dura_tui.drawing import Drawing
from dura_tui.feed import Feed
from dura_tui.first import FirstLook, Source
from dura_tui.format import printable
from dura_tui.keys import KEYS
from dura_tui.messages import ActionDone, BulkProgress, CopyAsked, NothingChanged, ReadFailed, SnapshotArrived
from dura_tui.operators import Operator
from dura_tui.orders import Order, Outcome
from dura_tui.saved import SavedFiltersLost
from dura_tui.screens.dialog import Dialog
from dura_tui.screens.main import MainScreen
from dura_tui.start import Start
from dura_tui.widgets.bars import Freshness

if TYPE_CHECKING:
    from textual.driver import Driver

Breakpoints = list[tuple[int, str]] | None

_WIDTHS: Final = [(0, "-narrow"), (60, "-normal"), (120, "-wide")]
_HEIGHTS: Final = [(0, "-low"), (20, "-high"), (36, "-tall")]

_TICK_SECONDS: Final = 1.0
_SLOW_TICK_SECONDS: Final = 5.0


class DuraApp(Drawing):
    """The terminal monitor of one store."""

    CSS_PATH: ClassVar[CSSPathType | None] = "app.tcss"
    HORIZONTAL_BREAKPOINTS: Breakpoints = _WIDTHS
    VERTICAL_BREAKPOINTS: Breakpoints = _HEIGHTS

    def __init__(
        self,
        path: str,
        *,
        read_only: bool = False,
        refresh: float | None = None,
        demo: bool = False,
        start: Start | None = None,
        settings: Settings | None = None,
        redaction: Redaction | None = BUILT_IN,
        clock: Clock | None = None,
        open_source: Callable[[], Source] | None = None,
        first: FirstLook | None = None,
    ) -> None:
        """Prepare the monitor; the store is opened when it runs.

        Args:
            path: The store file.
            read_only: Whether actions are refused.
            refresh: Seconds between looks at the store; by default what the settings say.
            start: The view that it begins with; the overview if not given.
            demo: Whether the store is the demo's, which the title says.
            settings: How it behaves for this person; the defaults if not given.
            redaction: What is not shown; None shows everything.
            clock: The engine's clock; the machine's by default.
            open_source: Opens what is read; a `Monitor` on the path by default.
            first: What was read of it already, and through what, which is read on.
        """
        self.settings = settings or Settings()
        super().__init__(self.settings.theme)
        self.title = "dura"
        self.path = path
        self.keymap = self.settings.keymap
        self.set_keymap(self.keymap.as_textual())
        self.alarms = Alarms(self.settings.alerts)
        self.demo = demo
        self.start = start or Start()
        """What it begins with."""
        self.now: Clock = clock or system_clock
        self.operator = Operator(path, read_only=read_only, clock=clock)
        self.snapshot: Snapshot | None = None
        """The newest snapshot, whichever view it was read for."""
        self.trouble: str | None = None
        """Why the last look failed; None when it did not."""
        self.paused = False
        self._looked_at: datetime | None = None
        self._refresh_seconds = refresh or self.settings.seconds
        self._feed = Feed(
            open_source or (lambda: Monitor(path, clock=clock, redaction=redaction)),
            self.post_message,
            refresh=self._refresh_seconds,
            clock=self.now,
            first=first,
        )
        self.main = MainScreen()
        """The screen below whatever dialog is open."""
        if self.settings.slow:
            self.animation_level = "none"

    def get_default_screen(self) -> Screen[None]:
        """The one main screen, which fits the terminal from the beginning: told later, all of it would be styled again."""
        for length, points in zip(self.size, (_WIDTHS, _HEIGHTS), strict=True):
            self.main.add_class([name for least, name in points if least <= length][-1], update=False)
        return self.main

    def get_driver_class(self) -> type[Driver]:
        """Our own in place of that of Textual for a terminal of a Unix."""
        from textual.drivers.linux_driver import LinuxDriver

        from dura_tui.driver import Driver as Own

        found = super().get_driver_class()
        return Own if found is LinuxDriver else found

    def begin(self) -> None:
        """Start reading and ticking; the main screen calls it once its views are there."""
        self._feed.want(self._want())
        self._feed.start()
        self.set_interval(_SLOW_TICK_SECONDS if self.settings.slow else _TICK_SECONDS, self.tick)
        self.app_resume_signal.subscribe(self.main, self._resumed)

    def read_rest(self) -> None:
        """Read the styles of what comes after the first screen."""
        self.stylesheet.read(Path(__file__).with_name("rest.tcss"))
        self.stylesheet.parse()

    async def ready(self) -> None:
        """Every view is there: the keys can be taken, and garbage be looked for."""
        # What is there by now stays: looking through it again and again would find nothing.
        gc.freeze()
        gc.enable()
        await self.take_keys()

    def _resumed(self, _: App[object]) -> None:
        # The terminal was the shell's meanwhile: nothing of what was drawn is there any more.
        self.draw_anew()

    def end(self) -> None:
        """End, as a signal asks in the middle of whatever is done: that is done first."""
        if self.is_running:
            self.call_later(self.exit)
        else:
            self.exit()

    def on_unmount(self) -> None:
        """Stop reading."""
        self.stop_feed()

    def stop_feed(self) -> None:
        """End the reader's thread and close the file."""
        self._feed.stop()

    def post_message(self, message: Message) -> bool:
        """Take a message, of any thread. Returns whether it was taken: not after the end, which an action may outlast."""
        try:
            return super().post_message(message)
        except RuntimeError:
            # The event loop was closed in between.
            if self.is_running:
                raise
            return False

    # --- reading -----------------------------------------------------------------------------------------------------

    def _dialogs(self) -> list[Dialog[object]]:
        return [screen for screen in self.screen_stack if isinstance(screen, Dialog)]

    def _want(self) -> Want:
        want = self.main.want()
        for dialog in self._dialogs():
            want = dialog.wants(want)
        return want

    @on(Dialog.WantChanged)
    def want_changed(self) -> None:
        """Something else is shown: have it read."""
        self._feed.want(self._want())

    def read_now(self) -> None:
        """Read without waiting."""
        self._feed.read_now()

    def pause(self, paused: bool) -> None:
        """Freeze the tables, or let them go on."""
        self.paused = paused
        self._feed.pause(paused)

    def freshness(self) -> Freshness:
        """How far the screen can be trusted."""
        return Freshness(
            taken_at=self.snapshot.taken_at if self.snapshot else None,
            looked_at=self._looked_at,
            failing=self.trouble is not None,
            paused=self.paused,
            patience=max(3 * self._refresh_seconds, 5.0),
        )

    def tick(self) -> None:
        """A second has passed: countdowns move."""
        if self.is_running:
            self.want_changed()
            self.main.draw(self.now())

    def on_snapshot_arrived(self, message: SnapshotArrived) -> None:
        """Show what was read, where it answers what is shown."""
        if not self.is_running:
            return
        now = self.now()
        self.snapshot, self.trouble, self._looked_at = message.snapshot, None, now
        self.operator.origin = message.snapshot.file.origin
        if self.alarms.look(message.snapshot) and self.settings.bell:
            self.bell()
        if message.want != self._want():
            self.main.draw_lines(now)
            self.want_changed()
            return
        dialogs = self._dialogs()
        if any(dialog.alone for dialog in dialogs):
            self.main.draw_lines(now)
        else:
            self.main.show(message.snapshot, now)
        for dialog in dialogs:
            dialog.show(message.snapshot, now)

    def on_nothing_changed(self, message: NothingChanged) -> None:
        """The screen is current."""
        recovered, self.trouble, self._looked_at = self.trouble is not None, None, message.at
        if recovered and self.is_running:
            self.main.draw_lines(self.now())

    def on_read_failed(self, message: ReadFailed) -> None:
        """Say why, keep what was read before."""
        self.trouble = message.reason
        if self.is_running:
            self.main.draw_lines(self.now())

    # --- acting ------------------------------------------------------------------------------------------------------

    def carry_out(self, order: Order) -> None:
        """Do it on a thread of its own, and report how it ended."""

        def act() -> None:
            self.post_message(ActionDone(self.operator.carry_out(order)))

        Thread(target=act, name=f"dura-tui-{order.action}", daemon=True).start()

    def on_bulk_progress(self, message: BulkProgress) -> None:
        """Show how far it is, and at the end what has changed."""
        if not self.is_running:
            return
        tally = message.tally
        for dialog in self._dialogs():
            if isinstance(dialog, screens.ProgressDialog):
                dialog.show_tally(tally)
        if tally.ended:
            self.main.report(Outcome(tally.action, done=not tally.trouble, text=tally.line))
            self.read_now()

    def on_action_done(self, message: ActionDone) -> None:
        """Report, and read what has changed."""
        if not self.is_running:
            return
        self.main.report(message.outcome)
        self.read_now()

    # --- copying -----------------------------------------------------------------------------------------------------

    def on_copy_asked(self, message: CopyAsked) -> None:
        """Send a text to the terminal's clipboard, or into a file; whether the terminal takes it cannot be known."""
        if self.settings.clipboard == "terminal" and clipboard.fits(message.text):
            self.copy_to_clipboard(message.text)
            self.tell(f"sent to the terminal's clipboard: {message.what}")
            return
        try:
            told = f"written to {clipboard.keep(message.text)}: {message.what}"
        except OSError as error:
            self.tell(f"cannot be copied: {error}", done=False)
            return
        self.tell(told)

    def tell(self, text: str, *, done: bool = True) -> None:
        """Say something in the line above the keys, or beside the dialog that hides it."""
        self.main.report(Outcome("", done=done, text=text))
        if self._dialogs():
            self.notify(text, severity="information" if done else "warning", markup=False, timeout=4)

    def copy_to_clipboard(self, text: str) -> None:
        """Have the terminal take a text into its clipboard; also what a copy inside an input does."""
        self._clipboard = text
        if self._driver is not None and clipboard.fits(text):
            self._driver.write(clipboard.sequence(text))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002
        """Every key by name, and the theme."""
        for key in KEYS:
            yield SystemCommand(key.name, f"{self.keymap.shown(key)}  {key.help}", self._runner(key.action))
        with suppress(SavedFiltersLost):
            for kept in saved.load(saved.default_path()):
                # The palette reads markup in both.
                name, shown = (escape(printable(text)) for text in (kept.name, f"{kept.view}  {kept.filter}"))
                yield SystemCommand(f"Filter: {name}", shown, partial(self.main.go, kept.start))
        yield SystemCommand("Theme", "Change the colours", self.action_change_theme)

    def _runner(self, action: str) -> Callable[[], None]:
        def run() -> None:
            self.call_later(self.main.run_action, action)

        return run
