"""Buyers on one database, and the queries of their tests."""

from dataclasses import replace
from typing import Any

import httpx
from sqlalchemy import select

from foreseal.payments.ledger import Database, Ledger, entries
from foreseal.payments.ledger.queries import fetch_all
from foreseal.payments.x402.buyer import Asset, Buyer, Caps, PayingTransport, Purchases, SpendingPolicy
from foreseal.payments.x402.buyer.models import BudgetRecord, PurchaseRecord
from foreseal.payments.x402.buyer.purchases import counted
from payments.shop import BUYER
from payments.x402.seller_double import NETWORK, TOKEN, Seller

USDC = Asset(NETWORK, TOKEN)
NOON = 1_700_000_000 - 1_700_000_000 % 86_400 + 43_200
"""Unix seconds."""


def policy(
    per_request: int = 1000, per_session: int = 5000, per_day: int = 8000, deposit: int = 0, **other: Any
) -> SpendingPolicy:
    """Return a policy with caps for one asset."""
    return SpendingPolicy({USDC: Caps(per_request, per_session, per_day, deposit)}, **other)


class Buyers:
    """Buyers; `restart` is a new process on the same database."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.now = NOON
        self.restart()

    def restart(self) -> None:
        self.close()
        self.database = Database(self.url)
        self.purchases = Purchases(Ledger(self.database, lambda: self.now))

    def close(self) -> None:
        if hasattr(self, "database"):
            self.database.close()

    def buyer(self, rules: SpendingPolicy | None = None, session: str = "a", key: Any = BUYER) -> Buyer:
        return Buyer(key, rules or policy(), self.purchases, session)

    def client(
        self, seller: Seller, rules: SpendingPolicy | None = None, session: str = "a", key: Any = BUYER
    ) -> httpx.Client:
        buyer = self.buyer(rules, session, key)
        return httpx.Client(transport=PayingTransport(buyer, httpx.MockTransport(seller)), base_url="http://seller")

    def rows(self) -> list[PurchaseRecord]:
        with self.database.reading() as tx:
            return fetch_all(tx, select(PurchaseRecord))

    def states(self) -> list[str]:
        return sorted(row.state for row in self.rows())

    def triggers(self, id: str) -> list[str]:
        """Return the triggers in a purchase's timeline."""
        with self.database.reading() as tx:
            return [entry.trigger for entry in entries(tx, PurchaseRecord.__tablename__, id)]

    def committed(self) -> dict[str, int]:
        """Return committed amounts by period, checked against the sum over the purchases of each."""
        with self.database.reading() as tx:
            committed = {row.period: row.committed for row in fetch_all(tx, select(BudgetRecord))}
            rows = fetch_all(tx, select(PurchaseRecord))
        sums = dict.fromkeys(committed, 0)
        for row in rows:
            sums[f"session {row.session}"] += counted(row)
            sums[f"day {row.day}"] += counted(row)
        assert committed == sums
        return committed

    def day(self) -> int:
        """Return today's committed amount."""
        return next((units for period, units in self.committed().items() if period.startswith("day")), 0)


def strict(rules: SpendingPolicy, **other: Any) -> SpendingPolicy:
    """Return a policy with other settings."""
    return replace(rules, **other)
