"""The `dura` command.

`program` runs it, `commands` lists what it can do, `arguments` what each takes. The commands are in `overview`, `reading`
and `detail` (through the monitor), `acting`, `emitting` and `upkeep` (through the engine); what they print goes through
`page` (for people) or `documents` (for scripts).
"""

from __future__ import annotations

from dura.cli.program import main

__all__ = ["main"]
