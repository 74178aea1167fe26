"""`python -m dura_tui PATH`, the same as the command `dura-tui`."""

from __future__ import annotations

import sys

from dura_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
