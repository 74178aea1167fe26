"""A pool of workers, from its start to the end of its drain.

    running ──first SIGINT or SIGTERM, or stop_event──▶ draining: no claim any more, runs in hand are finished
    draining ──all finished──▶ stopped          ──grace over──▶ stopped, leaving threads behind
    draining ──second signal──▶ SystemExit

What is still in hand when the process ends is given back as its last act: due at once, no attempt charged. Only a process
that is killed outright leaves its runs to their leases.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Final

from dura.checks import listed, name, names, seconds, whole
from dura.engine import DurableEngine
from dura.errors import InvalidValue, shown
from dura.health import Heartbeat
from dura.log import logger_of
from dura.workers.bell import set_once
from dura.workers.courtesy import Courtesy
from dura.workers.crew import Crew
from dura.workers.executor import Handler
from dura.workers.signals import Signals
from dura.workers.wakeup import Wakeup
from dura.workers.worker import REACH_SECONDS, Terms, Worker, default_worker_id

logger = logger_of("dura.workers")

SHUTDOWN_GRACE_SECONDS: Final = 10.0
"""How long a drain waits for runs in hand by default."""

_TICK: Final = 0.05
"""How often a drain looks for a signal, in seconds."""

_REPORT_SECONDS: Final = 2.0


def run_worker(
    engine: DurableEngine,
    *,
    handlers: Mapping[str, Handler],
    worker_id: str,
    stop_event: threading.Event,
    heartbeat: Heartbeat | None = None,
    claim_timeout_secs: float = 120,
    poll_interval: float = 1.0,
    max_priority: int | None = None,
    queues: Sequence[str] | None = None,
) -> None:
    """Work on the calling thread until `stop_event` is set.

    Args:
        engine: The store.
        handlers: Task names to handlers; tasks of other names are left to other workers.
        worker_id: Who works; shown by monitors.
        stop_event: Ends the loop once the run in hand is finished.
        heartbeat: Beaten at every turn of the loop.
        claim_timeout_secs: The lease's length, in seconds: longer than any step without `extend_claim`.
        poll_interval: The longest wait between two looks, in seconds; work made due by a commit is noticed at once.
        max_priority: Only runs of at most this priority.
        queues: Only runs of these queues; by default of any.
    """
    terms = Terms(
        engine=engine,
        handlers=handlers,
        stop_event=stop_event,
        heartbeat=heartbeat,
        claim_timeout_secs=seconds(claim_timeout_secs, "claim_timeout_secs", positive=True),
        poll_interval=seconds(poll_interval, "poll_interval", positive=True),
        queues=names(queues, "queues"),
    )
    with Wakeup(engine, stop_event) as wakeup:
        Crew(terms, wakeup.idle).work(
            Worker(terms, worker_id=name(worker_id, "worker_id"), max_priority=max_priority)
        )


def run_workers(
    engine: DurableEngine,
    *,
    handlers: Mapping[str, Handler],
    worker_count: int,
    heartbeat: Heartbeat | None = None,
    handle_signals: bool = True,
    lanes: Sequence[tuple[int, int]] | None = None,
    claim_timeout_secs: float = 120,
    poll_interval: float = 1.0,
    queues: Sequence[str] | None = None,
    shutdown_grace_secs: float = SHUTDOWN_GRACE_SECONDS,
    stop_event: threading.Event | None = None,
    processes: int = 1,
) -> None:
    """Run a pool of workers until it is told to stop, then drain it.

    Args:
        engine: The store. Its connections are closed at the end.
        handlers: Task names to handlers; tasks of other names are left to other workers.
        worker_count: How many workers, lanes included.
        heartbeat: Beaten by every worker at every turn of its loop.
        handle_signals: Whether SIGINT and SIGTERM stop the pool: the first drains, a second one ends the process. Needs
            the main thread. What caught the signals before is put back at the end.
        lanes: `(max_priority, count)` pairs: so many of the workers claim only runs of at most that priority.
        claim_timeout_secs: The lease's length, in seconds: longer than any step without `extend_claim`.
        poll_interval: The longest wait between two looks, in seconds; work made due by a commit is noticed at once.
        queues: Only runs of these queues; by default of any.
        shutdown_grace_secs: How long a drain waits for runs in hand, in seconds.
        stop_event: Stops the pool when set, from any thread.
        processes: Over how many processes the workers are spread, for handlers that compute in Python. 1: the workers
            are threads of this process. More: this process runs no handler, but starts that many and looks after them;
            they import the handlers, which therefore have to be functions of a module.

    Raises:
        InvalidValue: An argument is out of range, or a handler cannot be handed to another process.
        PoolFailed: A process of the pool cannot be started.
        SystemExit: A second signal came; the code is 128 plus its number.
    """
    seconds(claim_timeout_secs, "claim_timeout_secs", positive=True)
    seconds(poll_interval, "poll_interval", positive=True)
    if seconds(shutdown_grace_secs, "shutdown_grace_secs") < 0:
        raise InvalidValue(f"shutdown_grace_secs must be 0 or more, not {shutdown_grace_secs!r}")
    terms = Terms(
        engine=engine,
        handlers=handlers,
        stop_event=stop_event if stop_event is not None else threading.Event(),
        heartbeat=heartbeat,
        claim_timeout_secs=claim_timeout_secs,
        poll_interval=poll_interval,
        queues=names(queues, "queues"),
    )
    priorities = _priorities(whole(worker_count, "worker_count", least=1), () if lanes is None else lanes)
    if whole(processes, "processes", least=1) > worker_count:
        raise InvalidValue(
            f"processes={processes} is more than worker_count={worker_count}: some would have no worker"
        )
    if processes > 1:
        # What it imports is loaded for those who ask for it only.
        from dura.workers.processes import run_processes

        run_processes(terms, priorities, processes, shutdown_grace_secs, handle_signals=handle_signals)
        return
    workers = [
        Worker(terms, worker_id=default_worker_id(f"worker_{number}"), max_priority=max_priority)
        for number, max_priority in enumerate(priorities)
    ]
    with Signals() as signals, signals.caught() if handle_signals else nullcontext():
        run_threads(terms, workers, signals, shutdown_grace_secs)


def _priorities(worker_count: int, lanes: Sequence[tuple[int, int]]) -> list[int | None]:
    """Each worker's highest priority, lanes first; None for no limit."""
    priorities: list[int | None] = []
    wanted = 0
    for lane in listed(lanes, "lanes"):
        if not isinstance(lane, Sequence) or len(lane) != 2:
            raise InvalidValue(f"each of lanes must be a pair (max_priority, count), not {shown(lane)}")
        max_priority = whole(lane[0], "a lane's max_priority")
        wanted += whole(lane[1], "a lane's count", least=0)
        priorities += [max_priority] * min(lane[1], worker_count)
    if wanted > worker_count:
        raise InvalidValue(f"the lanes ask for {wanted} workers, more than worker_count={worker_count}")
    return priorities + [None] * (worker_count - len(priorities))


def run_threads(
    terms: Terms, workers: list[Worker], signals: Signals, grace: float, courtesy: Courtesy | None = None
) -> None:
    """Run the workers on as many threads until the end is asked for, then drain them. Inside the block of `signals`."""
    try:
        with Wakeup(terms.engine, terms.stop_event, signals.ring) as wakeup:
            crew = Crew(terms, wakeup.idle, courtesy)
            threads = [
                threading.Thread(target=crew.work, args=(worker,), name=f"dura-worker-{number}", daemon=True)
                for number, worker in enumerate(workers)
            ]
            try:
                for thread in threads:
                    thread.start()
                logger.info("%d workers on %s", len(workers), terms.engine.db_path)
                with signals.told():
                    while not terms.stop_event.is_set() and not signals.count:
                        signals.wait()
                set_once(terms.stop_event)
                _drain(workers, threads, signals, grace)
            except BaseException:
                # A second signal, Ctrl-C in an application that catches the signals itself, or a thread that cannot start.
                set_once(terms.stop_event)
                atexit.register(give_back, workers, os.getpid())
                raise
    finally:
        terms.engine.close()


def _drain(workers: list[Worker], threads: list[threading.Thread], signals: Signals, grace: float) -> None:
    """Wait for the runs in hand, saying which, until they are done, the grace is over, or a second signal comes."""
    deadline = time.monotonic() + grace
    next_report = time.monotonic()
    while (thread := next((thread for thread in threads if thread.is_alive()), None)) is not None:
        now = time.monotonic()
        in_hand = [task for worker in workers if (task := worker.task) is not None]
        if signals.count > 1 or now >= deadline:
            why = "a second signal came" if signals.count > 1 else f"the grace of {grace:g} s is over"
            logger.warning("%s; %d runs in hand are given back when the process ends", why, len(in_hand))
            if signals.count > 1:
                raise SystemExit(128 + signals.latest)
            atexit.register(give_back, workers, os.getpid())
            return
        if now >= next_report:
            names_in_hand = ", ".join(f"{task.name} {task.task_id}" for task in in_hand) or "none"
            logger.info("draining, %.0f s left; runs in hand: %s", deadline - now, names_in_hand)
            next_report = now + _REPORT_SECONDS
        thread.join(_TICK)


def give_back(workers: list[Worker], process: int) -> None:
    """Give back what is in hand. Ctrl-C pressed once more must not leave it to the leases; SIGTERM ends it all.

    Args:
        workers: Who may have something in hand.
        process: Whose they are. A child that it has forked ends with the same last acts, and has nothing to give back.
    """
    if os.getpid() != process:
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        until = time.monotonic() + REACH_SECONDS
        for worker in workers:
            worker.give_back(max(until - time.monotonic(), 0.0))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
