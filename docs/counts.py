"""Write what the tests tried into docs/reliability.md: `python docs/counts.py FILE`, where `pytest --counts FILE` wrote it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).with_name("reliability.md")
BEGIN: Final = "<!-- counts: written by docs/counts.py -->"
END: Final = "<!-- end of counts -->"


def table(found: dict[str, Any]) -> str:
    """The table, as Markdown."""
    lines = ["| Tests | What | How often |", "| --- | --- | ---: |"]
    for folder, counts in found["counts"].items():
        for what, number in counts.items():
            lines.append(f"| `tests/{folder}` | {what} | {number:,} |")
    lines += ["", f"Python {found['python']}, SQLite {found['sqlite']}."]
    return "\n".join(lines)


def rewritten(page: str, found: dict[str, Any]) -> str:
    """The page with a new table between the two marks.

    Raises:
        ValueError: The page has no such marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no {BEGIN!r} and {END!r} after it")
    return f"{before}{begin}\n\n{table(found)}\n\n{end}{after}"


if __name__ == "__main__":
    counted = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    PAGE.write_text(rewritten(PAGE.read_text("utf-8"), counted), "utf-8")
