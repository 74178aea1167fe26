"""The command that says how a store is doing, on one page."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from dura.cli import memory_tables, task_tables
from dura.cli.documents import document
from dura.cli.exits import Exit
from dura.cli.output import say_json
from dura.cli.page import FAINT, Cell, Page
from dura.cli.watching import look
from dura.cli.wording import ago, moment_text
from dura.display import number, plural, printable, size
from dura.durations import duration
from dura.records import Snapshot, Throughput, Want
from dura.states import State

_BARS: Final = " ▁▂▃▄▅▆▇█"
_LATE_SECONDS: Final = 60.0
"""From when on a due run that nobody claims is worth a colour."""


def status(args: Namespace) -> Exit:
    """Show counts, what is due, who works, what ends soon, what is awaited, what failed."""
    limit = args.limit
    snapshot = look(
        args,
        Want(leases=limit, sleepers=limit, awaited=limit, failures=limit, workers=True, throughput=True),
    )
    if args.json:
        say_json(_document(snapshot))
    else:
        _print(Page(), snapshot, limit)
    return Exit.DONE


def _document(snapshot: Snapshot) -> dict[str, object]:
    return document(
        taken_at=snapshot.taken_at,
        file=snapshot.file,
        totals={state.value: snapshot.totals().get(state, 0) for state in State},
        counts=snapshot.counts,
        counts_exact=snapshot.counts_exact,
        ready=snapshot.ready,
        oldest_due=snapshot.oldest_due,
        leases=snapshot.leases,
        sleepers=snapshot.sleepers,
        awaited=snapshot.awaited,
        failures=snapshot.failures,
        workers=snapshot.workers,
        throughput=snapshot.throughput,
        truncated=snapshot.truncated,
    )


def _print(page: Page, snapshot: Snapshot, limit: int) -> None:
    now = snapshot.taken_at
    page.facts(_facts(snapshot))
    totals = snapshot.totals()
    if snapshot.counts:
        page.heading("Tasks", "" if snapshot.counts_exact else "at least: counting took too long")
        task_tables.counts(page, snapshot.counts, exact=snapshot.counts_exact)
    if snapshot.workers:
        page.heading("Workers", "those that hold leases, or settled a run in the last hour")
        task_tables.workers(page, snapshot.workers, now)
    if snapshot.leases:
        remark = _of(len(snapshot.leases), limit, totals.get(State.RUNNING, 0), "the first to end")
        page.heading("Leases", remark)
        task_tables.leases(page, snapshot.leases, now)
    if snapshot.sleepers:
        remark = _of(len(snapshot.sleepers), limit, totals.get(State.SLEEPING, 0), "the first due")
        page.heading("Sleeping", remark)
        task_tables.sleepers(page, snapshot.sleepers, now)
    if snapshot.awaited:
        page.heading("Awaited events", "those with the soonest deadlines")
        memory_tables.awaited(page, snapshot.awaited, now, waiters=False)
    if snapshot.failures:
        page.heading("Failed attempts", "the latest first")
        task_tables.failures(page, snapshot.failures, now)


def _of(shown: int, limit: int, total: int, which: str) -> str:
    return f"{which}, {shown} of {number(total)}" if shown == limit < total else which


def _facts(snapshot: Snapshot) -> list[tuple[str, Cell]]:
    file = snapshot.file
    log = f"and {size(file.wal_size)} in its write-ahead log" if file.wal_size else "no write-ahead log"
    facts: list[tuple[str, Cell]] = [
        ("store", printable(file.path)),
        ("size", f"{size(file.size)}, {log}"),
        ("seen", moment_text(snapshot.taken_at)),
    ]
    if file.origin != "dura":
        advice = (
            f"dura {printable(file.origin)}; to act on it, run `dura upgrade {printable(file.path)}` first"
        )
        facts.append(("written by", (advice, "yellow")))
    facts.append(("ready", _ready(snapshot)))
    if snapshot.throughput is not None:
        facts.append(("settled", _settled(snapshot.throughput)))
    return facts


def _ready(snapshot: Snapshot) -> Cell:
    if not snapshot.ready:
        return "nothing waits for a worker"
    words = plural(snapshot.ready, "run")
    if snapshot.oldest_due is None:
        return words
    late = (snapshot.taken_at - snapshot.oldest_due).total_seconds() >= _LATE_SECONDS
    words += f", the oldest due for {ago(snapshot.oldest_due, snapshot.taken_at)}"
    return words, "bold yellow" if late else ""


def _settled(throughput: Throughput) -> Cell:
    completed = sum(count or 0 for count in throughput.completed)
    failed = sum(count or 0 for count in throughput.failed)
    span = duration(throughput.bucket_seconds * len(throughput.completed))
    words = f"{number(completed)} completed, {number(failed)} failed in {span}"
    if not completed + failed:
        return (f"nothing in {span}", FAINT)
    return f"{words}  {_bars(throughput)}"


def _bars(throughput: Throughput) -> str:
    """A line of bars, two buckets a bar, the latest at its right end."""
    settled = [
        None if done is None or failed is None else done + failed
        for done, failed in zip(throughput.completed, throughput.failed, strict=True)
    ]
    pairs = [settled[index : index + 2] for index in range(0, len(settled), 2)]
    values = [None if None in pair else sum(count or 0 for count in pair) for pair in pairs]
    peak = max((value for value in values if value), default=1)
    return "".join("·" if value is None else _BARS[-(-value * 8 // peak)] for value in values)
