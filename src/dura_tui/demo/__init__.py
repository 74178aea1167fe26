"""A small shop that never closes: a live store to try the monitor on, with a real worker pool behind it.

Nothing here is a drawing. The tasks are spawned, claimed, retried, parked and failed by the engine itself, on a file in
a temporary folder; only the work that handlers claim to do is pretended, by waiting.
"""

from __future__ import annotations

from dura_tui.demo.store import DemoStore

__all__ = ["DemoStore"]
