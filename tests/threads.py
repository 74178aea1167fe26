"""Calls that are made at once, each on a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


def together(*calls: Callable[[], object]) -> None:
    """Run each call on a thread of its own, all at once; the first error is raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        start.wait(60)
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again on the caller's thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for error in errors:
        raise error
