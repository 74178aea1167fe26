"""A snapshot: the parts that were asked for, each in its own time, out of one look."""

from __future__ import annotations

from dura.records import Snapshot, StateRow, StoreFile, Want
from dura.store.reading import Source
from dura.store.views.approvals import approvals, template
from dura.store.views.audited import audit_page
from dura.store.views.choice import chosen, finished_steps, removable
from dura.store.views.counts import counts, oldest_due, ready
from dura.store.views.failuregroups import failed_tasks, failure_groups
from dura.store.views.failures import failures
from dura.store.views.find import find_tasks
from dura.store.views.known import known_words
from dura.store.views.look import Look
from dura.store.views.memory import audit, event, events, keys, namespaces, one_key
from dura.store.views.progress import Progress
from dura.store.views.queues import queues
from dura.store.views.runs import leases, sleepers
from dura.store.views.taskdetail import task_detail
from dura.store.views.tasklist import task_page
from dura.store.views.throughput import throughput
from dura.store.views.waits import awaited, waits_for
from dura.store.views.workers import workers


def snapshot(look: Look, path: str, source: Source, want: Want, progress: Progress) -> Snapshot:
    """Everything wanted, and what is always shown: the file, the counts and how much is due.

    Raises:
        InvalidValue: The task query cannot be asked.
    """
    with look.part("counts"):
        known = counts(look)
    with look.part("ready"):
        ready_now, oldest = ready(look, known), oldest_due(look)
    with look.part("leases"):
        held = leases(look, want.leases, want.where) if want.leases else ()
    with look.part("sleepers"):
        asleep = sleepers(look, want.sleepers, want.where) if want.sleepers else ()
    with look.part("awaited"):
        waited_for = awaited(look, want.awaited, want.events_like) if want.awaited else ()
    with look.part("events"):
        emitted = events(look, want.events, want.events_like) if want.events else ()
    with look.part("event"):
        named = event(look, want.event) if want.event is not None else None
        named_waits = waits_for(look, want.event) if want.event is not None else None
    with look.part("approvals"):
        asked = want.waiting or want.approvals
        open_waits, waiting, capped = (
            approvals(look, want.approvals, want.events_like, want.where) if asked else ((), None, False)
        )
    with look.part("template"):
        payload = template(look, want.template) if want.template is not None else None
    with look.part("failures"):
        failed = failures(look, want.failures) if want.failures else ()
    with look.part("failure_groups"):
        groups = (
            failure_groups(look, want.failure_groups, want.where) if want.failure_groups is not None else None
        )
    with look.part("failed_tasks"):
        alike = failed_tasks(look, want.failed_tasks) if want.failed_tasks is not None else None
    with look.part("workers"):
        working = workers(look) if want.workers else ()
    with look.part("queues"):
        lines = queues(look, known) if want.queues else ()
    with look.part("throughput"):
        settled = throughput(look) if want.throughput else None
    with look.part("tasks"):
        page = task_page(look, want.tasks, progress) if want.tasks else None
    with look.part("task"):
        task = task_detail(look, want.task_id, progress) if want.task_id is not None else None
    with look.part("namespaces"):
        spaces = namespaces(look) if want.namespaces else ()
    with look.part("state"):
        if want.namespace is None:
            state: tuple[StateRow, ...] = ()
        elif want.state_key is None:
            state = keys(look, want.namespace, want.state_keys, want.state_like)
        else:
            state = one_key(look, want.namespace, want.state_key)
    with look.part("entry"):
        one = one_key(look, *want.entry) if want.entry is not None else ()
    with look.part("audit"):
        entries = audit(look, want.audit) if want.audit else ()
    with look.part("audit_page"):
        audited = audit_page(look, want.audit_query) if want.audit_query is not None else None
    with look.part("found"):
        found = find_tasks(look, want.find, want.found, progress) if want.find is not None else ()
    with look.part("known"):
        words = known_words(look) if want.known else None
    with look.part("chosen"):
        picked = chosen(look, want.chosen, progress) if want.chosen else ()
    with look.part("finished_steps"):
        finished = finished_steps(look, want.finished_steps) if want.finished_steps else ()
    with look.part("removable"):
        would_go = removable(look, want.removable) if want.removable is not None else None
    return Snapshot(
        taken_at=look.moment,
        file=StoreFile(
            path=path, origin=look.origin, size=source.size, wal_size=source.wal_size, reading=source.manner
        ),
        counts=known,
        counts_exact="counts" not in look.truncated,
        ready=ready_now,
        oldest_due=oldest,
        leases=held,
        sleepers=asleep,
        awaited=waited_for,
        events=emitted,
        event=named,
        event_waits=named_waits,
        waiting=waiting,
        waiting_capped=capped,
        approvals=open_waits,
        template=payload,
        failures=failed,
        failure_groups=groups,
        failed_tasks=alike,
        workers=working,
        queues=lines,
        throughput=settled,
        tasks=page,
        task=task,
        namespaces=spaces,
        state=state,
        audit=entries,
        audit_page=audited,
        found=found,
        known=words,
        chosen=picked,
        finished_steps=finished,
        removable=would_go,
        entry=one[0] if one else None,
        truncated=tuple(look.truncated),
    )
