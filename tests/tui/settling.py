"""When an app has done all that it was asked to, whatever else the machine is doing.

Textual's own pilot waits until the process seems to rest, by the processor time that it takes. On a busy machine a process
that is given no processor seems to rest too, with half of its messages unread. So the tests ask the event loop: when it has
nothing to run, no layout is due and nothing is to be drawn, then only time, another thread or another key goes on with it.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any, Final

import textual.app
import textual.pilot
from textual._context import active_app
from textual.app import App
from textual.pilot import Pilot

LONGEST: Final = 60.0
"""Seconds after which something that was waited for is taken to hang: a bound, not a measure."""


async def settled(app: App[Any]) -> None:
    """Wait until the app has handled every message, is laid out for its size, and is drawn."""
    loop = asyncio.get_running_loop()
    deadline = monotonic() + LONGEST
    while True:
        await asyncio.sleep(0)
        assert monotonic() < deadline, "the app finds no rest"
        if loop._ready:  # type: ignore[attr-defined]  # what could run now; we are not in it while we run
            continue
        if app._resize_timer is not None:
            await asyncio.sleep(0.002)
        elif not _drew(app):
            return


def _drew(app: App[Any]) -> bool:
    """Draw what Textual would draw with its next frame; whether there was anything."""
    if not app.is_running or app._batch_count or not app.screen_stack:
        return False
    screen = app.screen
    due = (
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )
    if due:
        screen._on_timer_update()
    return bool(due)


async def _active_app_settled(*_: object) -> bool:
    await settled(active_app.get())
    return True


# What a pilot waits for before and after each key, click and change of size.
for module in (textual.app, textual.pilot):
    module.wait_for_idle = _active_app_settled  # type: ignore[attr-defined]
Pilot._wait_for_screen = _active_app_settled  # type: ignore[method-assign, assignment]
