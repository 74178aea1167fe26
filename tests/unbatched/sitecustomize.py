"""Imported by Python when it starts, for the child processes of tests that run with `--batching off`."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):
    from dura.store import door

    door._LARGEST_COMPANY = 0  # type: ignore[misc]  # the test's own switch
