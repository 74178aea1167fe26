"""What keeps the shop busy: chores that spawn work, each at its own calm pace.

The same chores make the store's past and its present: they go by the engine's clock, wherever that stands. About one
task a second comes of them, and a burst when a newsletter goes out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from dura import DurableEngine, RetryStrategy
from dura_tui.demo.handlers import BIG_ORDER, CHUNKS, WITHOUT_EMAIL, spawn_turn

QUEUES: Final = ("orders", "crm", "catalog", "mail", "feeds", "reports")
"""The queues that the pool serves."""

_READERS: Final = 24
_BASKETS_KEPT: Final = 12
_CUSTOMERS: Final = 40
_PRODUCTS: Final = ("kettle", "lamp", "notebook", "chair", "desk", "headphones", "bicycle bell", "tent")
_SUPPLIERS: Final = ("Nordlicht", "Bergmann & Co", "Atelier 9", "Harbour Goods")


@dataclass(slots=True)
class _Chore:
    """Something done again and again."""

    every_seconds: float
    do: Callable[[], object]
    due: datetime


class Feeder:
    """Spawns the shop's tasks, and takes some back."""

    def __init__(self, engine: DurableEngine, dice: Random) -> None:
        """Set the chores, all due now.

        Args:
            engine: Where tasks are spawned, and whose clock is gone by.
            dice: Decides what is ordered, and spreads the chores.
        """
        self.big_orders: deque[tuple[str, int]] = deque(maxlen=20)
        """Ids and amounts of orders that may still wait for an approval, oldest first."""
        self._engine = engine
        self._dice = dice
        self._orders = 1000
        self._days = 0
        self._issues = 40
        self._baskets: deque[str] = deque()
        self._unknown: str | None = None
        self._chores: list[_Chore] = []
        self.every(2.5, self._order)
        self.every(4, lambda: self._customer(self._someone()))
        self.every(100, lambda: self._customer(WITHOUT_EMAIL))
        self.every(60, self._newsletter)
        self.every(20, self._basket)
        self.every(75, self._catalog)
        self.every(90, self._report)
        self.every(600, self._text_message)
        spawn_turn(engine, "releases", 1, every_seconds=6)
        spawn_turn(engine, "status", 1, every_seconds=13)

    def every(self, seconds: float, do: Callable[[], object]) -> None:
        """Add a chore, due now and then again about every so many seconds."""
        self._chores.append(_Chore(every_seconds=seconds, do=do, due=self._engine.now()))

    def hurry(self) -> None:
        """Make every chore due now, so that there is one of everything."""
        for chore in self._chores:
            chore.due = self._engine.now()

    def tick(self) -> None:
        """Do the chores that are due. After a gap, for example a suspended laptop, each is done once, not caught up."""
        now = self._engine.now()
        for chore in self._chores:
            if chore.due <= now:
                chore.due = now + timedelta(seconds=chore.every_seconds * self._dice.uniform(0.8, 1.2))
                chore.do()

    def _order(self) -> None:
        self._orders += 1
        order_id = f"ord_{self._orders}"
        big = self._dice.random() < 0.15
        amount = self._dice.randint(BIG_ORDER, 9_000) if big else self._dice.randint(8, BIG_ORDER - 1)
        if big:
            self.big_orders.append((order_id, amount))
        self._engine.spawn_task(
            name="charge_order",
            params={
                "order_id": order_id,
                "customer": self._someone(),
                "amount": amount,
                "items": [self._item() for _ in range(self._dice.randint(1, 4))],
            },
            idempotency_key=f"charge_order:{order_id}",
            retry=RetryStrategy(kind="exponential", base_seconds=1.5, max_seconds=20),
            max_attempts=5,
            priority=10 if big else 0,
            queue="orders",
            steps=("reserve", "charge", *(("approval",) if big else ()), "ship", "receipt"),
        )

    def _customer(self, customer: str) -> None:
        self._engine.spawn_task(
            name="sync_crm",
            params={"customer": customer},
            retry=RetryStrategy(kind="exponential", base_seconds=2, max_seconds=60),
            max_attempts=4,
            queue="crm",
            steps=("load", "push"),
        )

    def _newsletter(self) -> None:
        self._issues += 1
        for _ in range(_READERS):
            self._engine.spawn_task(
                name="send_newsletter",
                params={"issue": f"Shop news {self._issues}", "to": f"{self._someone()}@mail.example"},
                priority=-10,
                queue="mail",
                steps=("mail",),
            )

    def _basket(self) -> None:
        """A basket is left behind; the oldest one has been paid meanwhile, so its reminder goes."""
        reminder = self._engine.spawn_task(
            name="remind_basket",
            params={"customer": self._someone(), "items": [self._item()]},
            available_after=timedelta(seconds=self._dice.uniform(90, 300)),
            queue="mail",
        )
        self._baskets.append(reminder.task_id)
        if len(self._baskets) > _BASKETS_KEPT // 2:
            self._engine.cancel_task(self._baskets.popleft())

    def _catalog(self) -> None:
        self._engine.spawn_task(
            name="import_catalog",
            params={
                "supplier": self._dice.choice(_SUPPLIERS),
                "url": "https://suppliers.example/catalog.csv",
            },
            retry=RetryStrategy(kind="fixed", base_seconds=5),
            max_attempts=3,
            queue="catalog",
            steps=CHUNKS,
        )

    def _report(self) -> None:
        self._days = self._days % 28 + 1
        self._engine.spawn_task(
            name="nightly_report",
            params={"day": f"2026-02-{self._days:02d}"},
            queue="reports",
            steps=("collect", "settle", "render", "office hours", "send"),
        )

    def _text_message(self) -> None:
        """A task that nobody here has a handler for. The one before it is given up."""
        if self._unknown is not None:
            self._engine.cancel_task(self._unknown)
        self._unknown = self._engine.spawn_task(
            name="send_sms",
            params={"to": "+49 30 901820", "text": "Your parcel is on its way."},
            queue="orders",
        ).task_id

    def _someone(self) -> str:
        return f"cus_{1000 + self._dice.randrange(_CUSTOMERS)}"

    def _item(self) -> dict[str, Any]:
        return {"product": self._dice.choice(_PRODUCTS), "quantity": self._dice.randint(1, 3)}
