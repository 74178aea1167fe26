"""An editor of JSON over several lines that shows nothing a terminal could obey.

What a terminal must not be sent is written as JSON's own escape as it comes in, by paste or from a template: inside a
string, the only place where such a character may stand, that is the same value.
"""

from __future__ import annotations

import json

from textual.events import Paste
from textual.widgets import TextArea

from dura.redaction import MARK
from dura_tui import format as fmt


class JsonEditor(TextArea):
    """A text area for a JSON value; Tab leaves it."""

    DEFAULT_CSS = """
    JsonEditor { height: auto; max-height: 8; min-height: 3; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        """Begin empty."""
        super().__init__(
            id=id, compact=True, highlight_cursor_line=False, soft_wrap=True, tab_behavior="focus",
        )  # fmt: skip

    def put(self, text: str) -> None:
        """Edit this instead; a mere `null` is selected, so that what is typed takes its place."""
        self.load_text(harmless(text))
        if text == "null":
            self.select_all()

    async def _on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        self.replace(harmless(event.text), *self.selection, maintain_selection_offset=False)


def harmless(text: str) -> str:
    """JSON text in which what is not printable, line ends aside, is written as its escape."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ").split("\n")
    return "\n".join("".join(_written(character) for character in line) for line in lines)


def _written(character: str) -> str:
    return character if fmt.printable(character) == character else json.dumps(character)[1:-1]


def laid_out(text: str) -> str:
    """A stored JSON value over several lines; what is no JSON as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def blank(text: str) -> str:
    """The value's shape: its keys, with null in place of what stands there; null for what is no JSON."""
    try:
        return json.dumps(_shape(json.loads(text)), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "null"


def fillable(text: str) -> str:
    """The value laid out, with null in place of each text that holds the mark of something hidden."""
    if MARK not in text:
        return laid_out(text)
    try:
        return json.dumps(_filled(json.loads(text)), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "null"


def _filled(value: object) -> object:
    if isinstance(value, dict):
        return {key: _filled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item) for item in value]
    return None if isinstance(value, str) and MARK in value else value


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return None
