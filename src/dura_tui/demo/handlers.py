"""What the shop's tasks do: handlers as an application would write them, each showing something else of the engine.

    charge_order     steps; a payment that may fail and is retried; big orders wait for an event, then ship or refund
    sync_crm         a flaky service, retried with exponential backoff; some customers fail for good
    import_catalog   many slow steps under a short lease, extended when it is nearly over; a retry goes on half way
    send_newsletter  quick tasks in bulk, at low priority
    poll_feed        a poller that spawns its own next turn and keeps its cursor in state
    nightly_report   durable sleeps between steps
    remind_basket    due after a delay, often cancelled before

`render_thumbnails` is not among them: its worker is a process that crashes (crash.py). Nor is `send_sms`, which no
worker of the shop knows, so that it is deferred.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from random import Random
from typing import Any, Final

from dura import ClaimedTask, DurableEngine

LEASE_SECONDS: Final = 20.0
"""The pool's lease: short, so that one can be watched running out."""

APPROVAL_SECONDS: Final = 240.0
"""How long a big order waits for its approval."""

BIG_ORDER: Final = 1_000
"""Orders from this amount on need an approval."""

CHUNKS: Final = tuple(f"chunk {number:02d}" for number in range(1, 25))
"""The steps of a catalog import."""

WITHOUT_EMAIL: Final = "cus_1003"
"""A customer whose record can never be synced."""

_EXTEND_BELOW_SECONDS: Final = 4.0

_UNANSWERED: Final = {"approved": False, "reason": "nobody answered in time"}

_CRM_FAULTS: Final = (
    (ConnectionResetError, "[Errno 104] Connection reset by peer: crm.example.com:443"),
    (TimeoutError, "POST https://crm.example.com/v2/contacts: no answer within 5 s"),
    (RuntimeError, "crm.example.com answered 503 Service Unavailable, Retry-After: 2"),
    (RuntimeError, "crm.example.com answered 429 Too Many Requests: 60 calls a minute are allowed"),
)

Handler = Callable[[DurableEngine, ClaimedTask], Any]


class Shop:
    """The handlers, and what they have in common: a way to spend time, and dice."""

    def __init__(self, *, work: Callable[[float], None], dice: Random) -> None:
        """Prepare the handlers.

        Args:
            work: Spends so many seconds, or raises if the demo is over.
            dice: Decides what fails and how long things take.
        """
        self._work = work
        self._dice = dice

    def handlers(self) -> Mapping[str, Handler]:
        """Task names to handlers, as `run_workers` takes them."""
        return {
            "charge_order": self.charge_order,
            "sync_crm": self.sync_crm,
            "import_catalog": self.import_catalog,
            "send_newsletter": self.send_newsletter,
            "poll_feed": self.poll_feed,
            "nightly_report": self.nightly_report,
            "remind_basket": self.remind_basket,
        }

    def charge_order(self, engine: DurableEngine, task: ClaimedTask) -> dict[str, Any]:
        """Reserve, charge, ship. A big order is shipped once approved, and refunded if it is not."""
        order = task.params
        step = _Steps(engine, task)
        step("reserve", lambda: self._reserve(order))
        charge = step("charge", lambda: self._charge(order))
        if order["amount"] >= BIG_ORDER:
            answer = engine.wait_for_event(
                run_id=task.run_id,
                task_id=task.task_id,
                step_name="approval",
                event_name=f"approved:{order['order_id']}",
                timeout_secs=APPROVAL_SECONDS,
                on_timeout=_UNANSWERED,
            )
            if _declines(answer):
                refund = step("refund", lambda: self._refund(charge))
                return {"order": order["order_id"], "outcome": "refunded", "refund": refund, "answer": answer}
        parcel = step("ship", lambda: self._ship(order))
        step("receipt", lambda: self._mail(f"receipt for {order['order_id']}", order["customer"]))
        return {"order": order["order_id"], "outcome": "shipped", "parcel": parcel["tracking"]}

    def sync_crm(self, engine: DurableEngine, task: ClaimedTask) -> dict[str, Any]:
        """Push a customer to a service that fails about half of the time."""
        step = _Steps(engine, task)
        customer = step("load", lambda: self._load_customer(task.params["customer"]))
        return step("push", lambda: self._push(customer))

    def import_catalog(self, engine: DurableEngine, task: ClaimedTask) -> dict[str, Any]:
        """Import a supplier's catalog chunk by chunk, keeping the lease only just alive."""
        step = _Steps(engine, task)
        lease_ends = engine.now() + timedelta(seconds=LEASE_SECONDS)
        rows = 0
        for chunk in CHUNKS:
            if (lease_ends - engine.now()).total_seconds() < _EXTEND_BELOW_SECONDS:
                lease_ends = engine.extend_claim(run_id=task.run_id, by_secs=LEASE_SECONDS)
            rows += step(chunk, self._import_chunk)["rows"]
        return {"supplier": task.params["supplier"], "rows": rows}

    def send_newsletter(self, engine: DurableEngine, task: ClaimedTask) -> dict[str, Any]:
        """Mail one reader."""
        return _Steps(engine, task)("mail", lambda: self._mail(task.params["issue"], task.params["to"]))

    def poll_feed(self, engine: DurableEngine, task: ClaimedTask) -> dict[str, Any]:
        """Read what is new since the cursor, move the cursor, and spawn the next turn."""
        feed, turn, every = (task.params[key] for key in ("feed", "turn", "every_seconds"))
        step = _Steps(engine, task)
        cursor = engine.get_state(namespace="feeds", key=f"{feed}.cursor", default=0)
        found = step("fetch", lambda: self._fetch(feed, cursor))
        engine.set_state(namespace="feeds", key=f"{feed}.cursor", value=found["next"])
        polls = step("count", lambda: _count_poll(engine, feed))
        spawn_turn(engine, feed, turn + 1, every_seconds=every, delay_seconds=every)
        return {**found, **polls}

    def nightly_report(self, engine: DurableEngine, task: ClaimedTask) -> dict[str, Any]:
        """Collect figures, with pauses that hold no worker, and send them."""
        step = _Steps(engine, task)
        figures = step("collect", self._collect)
        step.sleep("settle", 45)
        page = step("render", lambda: self._render(task.params["day"], figures))
        step.sleep("office hours", 30)
        return step("send", lambda: self._mail(page["title"], "board@shop.example"))

    def remind_basket(self, engine: DurableEngine, task: ClaimedTask) -> dict[str, Any]:
        """Mail a customer who left a full basket behind."""
        return _Steps(engine, task)("mail", lambda: self._mail("your basket", task.params["customer"]))

    # --- what the steps pretend to do ---------------------------------------------------------------------------------

    def _reserve(self, order: dict[str, Any]) -> dict[str, Any]:
        self._spend(0.2, 0.6)
        return {"warehouse": self._dice.choice(("north", "south")), "items": len(order["items"])}

    def _charge(self, order: dict[str, Any]) -> dict[str, Any]:
        self._spend(0.4, 1.2)
        if self._dice.random() < 0.12:
            raise TimeoutError(f"the card network did not answer for {order['order_id']} within 3 s")
        return {
            "charge": f"ch_{self._dice.randrange(16**8):08x}",
            "amount": order["amount"],
            "currency": "EUR",
        }

    def _refund(self, charge: dict[str, Any]) -> dict[str, Any]:
        self._spend(0.3, 0.8)
        return {"refunded": charge["charge"], "amount": charge["amount"]}

    def _ship(self, order: dict[str, Any]) -> dict[str, Any]:
        self._spend(0.3, 0.9)
        return {
            "carrier": "parcel post",
            "tracking": f"PP{self._dice.randrange(10**8):08d}",
            "items": order["items"],
        }

    def _mail(self, subject: str, to: str) -> dict[str, Any]:
        self._spend(0.3, 0.9)
        return {
            "subject": subject,
            "to": to,
            "message_id": f"<{self._dice.randrange(16**10):010x}@shop.example>",
        }

    def _load_customer(self, customer: str) -> dict[str, Any]:
        self._spend(0.1, 0.3)
        email = None if customer == WITHOUT_EMAIL else f"{customer}@mail.example"
        return {"customer": customer, "email": email, "orders": self._dice.randint(1, 40)}

    def _push(self, customer: dict[str, Any]) -> dict[str, Any]:
        self._spend(0.3, 1.0)
        if customer["email"] is None:
            raise ValueError(f"contact {customer['customer']} has no e-mail address, which the CRM requires")
        if self._dice.random() < 0.45:
            kind, message = self._dice.choice(_CRM_FAULTS)
            raise kind(message)
        return {"contact": f"crm_{self._dice.randrange(10**6):06d}", "customer": customer["customer"]}

    def _import_chunk(self) -> dict[str, Any]:
        self._spend(1.5, 3.5)
        if self._dice.random() < 0.02:
            raise ConnectionAbortedError("suppliers.example closed the connection in the middle of the file")
        return {"rows": self._dice.randint(80, 400), "rejected": self._dice.choice((0, 0, 0, 1, 3))}

    def _fetch(self, feed: str, cursor: int) -> dict[str, Any]:
        self._spend(0.2, 0.5)
        entries = self._dice.randint(0, 4)
        return {"feed": feed, "entries": entries, "next": cursor + entries}

    def _collect(self) -> dict[str, Any]:
        self._spend(0.5, 1.5)
        return {"orders": self._dice.randint(300, 900), "revenue": self._dice.randint(20_000, 90_000)}

    def _render(self, day: str, figures: dict[str, Any]) -> dict[str, Any]:
        self._spend(0.5, 1.0)
        return {"title": f"{figures['orders']} orders on {day}", "pages": self._dice.randint(3, 9)}

    def _spend(self, least: float, most: float) -> None:
        self._work(self._dice.uniform(least, most))


class _Steps:
    """The steps of one task, without naming the task at each."""

    def __init__(self, engine: DurableEngine, task: ClaimedTask) -> None:
        self._engine = engine
        self._task = task

    def __call__(self, name: str, fn: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        return self._engine.checkpoint(task_id=self._task.task_id, step_name=name, fn=fn)

    def sleep(self, name: str, seconds: float) -> None:
        self._engine.sleep(
            run_id=self._task.run_id, task_id=self._task.task_id, step_name=name, seconds=seconds
        )


def spawn_turn(
    engine: DurableEngine, feed: str, turn: int, *, every_seconds: float, delay_seconds: float = 0
) -> None:
    """Spawn a turn of a feed's poller. The key makes it one turn, however often the turn before is tried."""
    engine.spawn_task(
        name="poll_feed",
        params={"feed": feed, "turn": turn, "every_seconds": every_seconds},
        idempotency_key=f"poll_feed:{feed}:{turn}",
        available_after=timedelta(seconds=delay_seconds),
        queue="feeds",
        steps=("fetch", "count"),
    )


def _count_poll(engine: DurableEngine, feed: str) -> dict[str, Any]:
    polls = engine.update_state(namespace="feeds", key=f"{feed}.polls", fn=lambda count: count + 1, default=0)
    return {"polls": polls}


def _declines(answer: Any) -> bool:
    """Whether an approval event says no; any other payload, an empty one too, says yes."""
    verdict = answer.get("approved") if isinstance(answer, dict) else answer
    return verdict is False
