"""How the app draws: in colours of its own or in none, only what differs, and not more often than a terminal can show."""

from __future__ import annotations

from time import monotonic
from typing import Final

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, RenderableType
from rich.terminal_theme import TerminalTheme
from textual._compositor import CompositorUpdate
from textual.events import Resize
from textual.screen import Screen

from dura_tui.painting import Picture, Written
from dura_tui.theme import OURS, Colourless, after, palette_of
from dura_tui.typeahead import Typeahead

_LAYOUT_SECONDS: Final = 0.25
"""Between two layouts of a terminal that goes on changing its size."""


class Drawing(Typeahead):
    """An app that draws for a slow line."""

    def __init__(self, theme: str) -> None:
        """Begin with one of our themes."""
        super().__init__()
        self._picture = Picture()
        self._laid_out_at = 0.0
        if self.no_color:
            self._filters = [Colourless()]
        for ours, _ in OURS.values():
            self.register_theme(ours)
        self._begin_with(theme)

    def _begin_with(self, theme: str) -> None:
        """Take a theme as if Textual had begun with it: given later, it would have all styles read a second time."""
        self.set_reactive(Drawing.theme, theme)
        self.set_class(self.current_theme.dark, "-dark-mode", update=False)
        self.set_class(not self.current_theme.dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())
        self._refresh_truecolor_filter(self.ansi_theme)

    @property
    def ansi_theme(self) -> TerminalTheme:
        """What the sixteen names of colours mean in the present theme."""
        return palette_of(self.current_theme)

    def next_theme(self) -> None:
        """Go on to the next of our themes."""
        self.theme = after(self.theme)

    def draw_anew(self) -> None:
        """Write every cell again, whatever the terminal shows."""
        self._picture.forget()
        self.refresh(layout=True)

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002
        """A terminal of another size may have moved what it shows."""
        self._picture.forget()

    def _check_resize(self) -> None:
        # A window that is being dragged has another size many times a second; each layout takes longer than that leaves.
        wait = self._laid_out_at + _LAYOUT_SECONDS - monotonic()
        if wait > 0 and self._resize_timer is not None:
            self._resize_timer.stop()
            self._resize_timer = self.set_timer(wait, self._check_resize)
            return
        self._laid_out_at = monotonic()
        super()._check_resize()

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        written = self.is_running and not (self._batch_count or self.is_headless or self.is_inline)
        if written and isinstance(renderable, CompositorUpdate):
            colours = COLOR_SYSTEMS.get(self.console.color_system or "", ColorSystem.TRUECOLOR)
            text = self._picture.changes(renderable, self.size, colours)
            renderable = Written(text) if text else None
        super()._display(screen, renderable)
