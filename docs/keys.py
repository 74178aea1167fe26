"""Writes the table of keys in docs/monitor.md from the monitor's registry: `make keys`."""

from __future__ import annotations

import re
from pathlib import Path

from dura_tui.keys import FIXED, grouped

PAGE = Path(__file__).parent / "monitor.md"
BEGIN, END = "<!-- keys: written by docs/keys.py -->", "<!-- end of keys -->"


def table() -> str:
    """Every key, by group, with its name in the settings."""
    lines = ["| Key | Name in the settings | Does |", "| --- | --- | --- |"]
    for group, keys in grouped():
        lines.append(f"| **{group}** | | |")
        lines += [f"| `{key.shown}` | `{key.id}` | {_escaped(key.help)} |" for key in keys]
    lines.append("| **Fixed** | | |")
    lines += [f"| `{shown}` | | {_escaped(help_text)} |" for shown, help_text in FIXED]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def with_table(page: str) -> str:
    """The page with the table as it is now between its marks."""
    return re.sub(
        f"{re.escape(BEGIN)}.*{re.escape(END)}",
        lambda _: f"{BEGIN}\n\n{table()}\n\n{END}",
        page,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")
