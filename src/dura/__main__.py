"""`python -m dura` is the `dura` command."""

from __future__ import annotations

import sys

from dura.cli import main

if __name__ == "__main__":
    sys.exit(main())
