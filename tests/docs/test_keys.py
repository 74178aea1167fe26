"""The table of keys in the documentation is the one that the registry of keys makes."""

from __future__ import annotations

import importlib.util

from docs.pages import DOCS


def test_the_table_of_keys_is_current() -> None:
    spec = importlib.util.spec_from_file_location("keys_page", DOCS / "keys.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (DOCS / "monitor.md").read_text("utf-8")
    assert module.BEGIN in page
    assert page == module.with_table(page), "write it anew with `make keys`"
