"""Purchases and budgets. Each step is one serialized database transaction."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.ledger import DuplicateRecord, Finality, Ledger, PurchaseState, Trigger, ensure, read
from foreseal.payments.x402.buyer.errors import OutcomeUnknown, PolicyViolation, PurchaseRejected, Rule
from foreseal.payments.x402.buyer.spending_policy import Offer
from foreseal.payments.x402.buyer.tables import budgets, purchases
from foreseal.payments.x402.payment_key import Payment


def random_id() -> str:
    """Return a unique id."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class PurchaseIntent:
    """A payment before it is signed."""

    payer: str
    session: str
    open_key: str | None
    """Key that blocks a second signature until the outcome is known.

    None if a second signature cannot claim more.
    """
    subject: str
    """Description of the paid subject, for people."""
    amount: int
    """Maximum amount that can be charged, in smallest units."""


@dataclass(frozen=True, slots=True)
class PurchaseOutcome:
    """Outcome of a purchase, with its source."""

    trigger: Trigger
    """UNSENT; PAID or REFUSED by the seller's report; SPENT or UNSPENT by a final block."""
    settled: int | None = None
    """Charged amount in smallest units. None if nothing was charged and nothing can be."""
    transaction: str | None = None


class Purchases:
    """Purchases of any number of buyers in one database. Safe for use from any number of threads and processes."""

    def __init__(self, ledger: Ledger, new_id: Callable[[], str] = random_id) -> None:
        """Set up the purchases. The ledger's clock determines the UTC day of a purchase."""
        self.ledger = ledger
        self._new_id = new_id

    def reserve(self, offer: Offer, intent: PurchaseIntent) -> str:
        """Reserve an intent's amount before it is signed. Return the id of the purchase.

        Raises `PurchaseRejected` if a cap would be exceeded, and `OutcomeUnknown` if an earlier purchase with the same
        key has an unknown outcome. In both cases nothing changes.
        """
        now = self.ledger.clock()
        today = datetime.fromtimestamp(now, UTC).date().isoformat()
        id = self._new_id()
        with self.ledger.database.transaction() as tx:
            self._refuse_a_second(tx, intent)
            bounds = (
                (Rule.PER_SESSION, f"session {intent.session}", offer.caps.per_session),
                (Rule.PER_DAY, f"day {today}", offer.caps.per_day),
            )
            for rule, period, cap in bounds:
                committed = _locked(tx, intent.payer, offer, period)
                if committed + intent.amount > cap:
                    raise PurchaseRejected((_over(rule, period, intent.amount, committed, cap, offer),))
                _commit(tx, (intent.payer, offer.asset.network, offer.asset.token, period), committed + intent.amount)
            values = {"id": id, "day": today, "reserved_at": now, **_row(offer, intent)}
            try:
                with tx.begin_nested():
                    self.ledger.create(tx, purchases, Trigger.RESERVE, **values)
            except DuplicateRecord:  # another process inserted one between check and insert
                self._refuse_a_second(tx, intent)
                raise
        return id

    def present(self, id: str, signed: Payment) -> None:
        """Store the signed payment before it is sent.

        Raises `TransitionNotAllowed` or `ConcurrentUpdate` if the purchase was returned in the meantime.
        """
        values = {"contract": signed.key.contract, "nonce": signed.key.nonce, "valid_before": signed.deadline}
        with self.ledger.database.transaction() as tx:
            row = read(tx, purchases, id)
            tx.execute(update(purchases).where(purchases.c.id == id).values(**values))
            self.ledger.move(tx, purchases, row, Trigger.PRESENT)

    def point(self, id: str, status_url: str) -> None:
        """Store the seller's status URL of a purchase."""
        with self.ledger.database.transaction() as tx:
            tx.execute(update(purchases).where(purchases.c.id == id).values(status_url=status_url))

    def conclude(self, id: str, outcome: PurchaseOutcome, unless_presented: bool = False) -> bool:
        """Apply an outcome. Return True if it changed the purchase.

        An outcome from the chain is final; one from the seller can only be changed by the chain. Raises ValueError if
        it exceeds the signed amount, `ConcurrentUpdate` if another outcome came first: read again.
        """
        with self.ledger.database.transaction() as tx:
            row = read(tx, purchases, id)
            news = self.ledger.allows(purchases, row, outcome.trigger)
            if not news or (unless_presented and row.state is not PurchaseState.RESERVED):
                return False
            settled = outcome.settled or 0
            if not 0 <= settled <= row.amount:
                raise ValueError(f"settled: {outcome.settled} units exceed the {row.amount} of {id}")
            # Lock budgets before purchases, as `reserve` does, to avoid deadlocks.
            difference = settled - counted(row)
            for period in (f"session {row.session}", f"day {row.day}"):
                key = (row.payer, row.network, row.asset, period)
                committed = _find(tx, key)
                assert committed is not None, "a purchase was reserved in both"
                _commit(tx, key, committed + difference)
            transaction = outcome.transaction or row.transaction_hash
            values = {"settled": outcome.settled, "open_key": None, "transaction_hash": transaction}
            tx.execute(update(purchases).where(purchases.c.id == id).values(**values))
            self.ledger.move(tx, purchases, row, outcome.trigger, settled=str(settled))
            return True

    def get(self, id: str) -> Row[Any]:
        """Return a purchase. Raises `UnknownRecord`."""
        with self.ledger.database.reading() as tx:
            return read(tx, purchases, id)

    def payers(self) -> list[str]:
        """Return the accounts that have purchases."""
        with self.ledger.database.reading() as tx:
            return sorted(tx.execute(select(purchases.c.payer).distinct()).scalars())

    def unsettled(self, payer: str) -> list[Row[Any]]:
        """Return an account's purchases without a final outcome, oldest first.

        Vouchers are excluded: they transfer nothing, and the chain has no record of them.
        """
        open = purchases.c.step != Finality.FINAL
        open &= purchases.c.contract.is_(None) | (purchases.c.contract != BATCH_SETTLEMENT)
        query = select(purchases).where((purchases.c.payer == payer) & open).order_by(purchases.c.reserved_at)
        with self.ledger.database.reading() as tx:
            return list(tx.execute(query))

    def shares_transaction(self, row: Row[Any]) -> bool:
        """Return True if another purchase names the same transaction."""
        same = (purchases.c.network == row.network) & (purchases.c.transaction_hash == row.transaction_hash)
        with self.ledger.database.reading() as tx:
            return tx.execute(select(purchases.c.id).where(same & (purchases.c.id != row.id))).first() is not None

    def _refuse_a_second(self, tx: Connection, intent: PurchaseIntent) -> None:
        if intent.open_key is not None:
            query = select(purchases.c.id, purchases.c.subject).where(purchases.c.open_key == intent.open_key)
            if (found := tx.execute(query).one_or_none()) is not None:
                raise OutcomeUnknown(found.id, found.subject)


def counted(row: Row[Any]) -> int:
    """Return the smallest units that a purchase counts against the caps."""
    match row.state:
        case PurchaseState.RESERVED | PurchaseState.PRESENTED:
            return int(row.amount)
        case PurchaseState.SPENT:
            return int(row.settled)
        case _:
            return 0


def _row(offer: Offer, intent: PurchaseIntent) -> dict[str, Any]:
    return {
        "payer": intent.payer,
        "session": intent.session,
        "open_key": intent.open_key,
        "subject": intent.subject,
        "scheme": offer.terms.scheme,
        "network": offer.asset.network,
        "asset": offer.asset.token,
        "payee": offer.payee,
        "amount": intent.amount,
    }


_Key = tuple[str, str, str, str]


def _where(key: _Key) -> Any:
    payer, network, asset, period = key
    same = (budgets.c.payer == payer) & (budgets.c.network == network)
    return same & (budgets.c.asset == asset) & (budgets.c.period == period)


def _find(tx: Connection, key: _Key) -> int | None:
    return tx.execute(select(budgets.c.committed).where(_where(key)).with_for_update()).scalar_one_or_none()


def _locked(tx: Connection, payer: str, offer: Offer, period: str) -> int:
    """Return the committed amount of a period, and lock it until the transaction ends."""
    key = (payer, offer.asset.network, offer.asset.token, period)
    found = _find(tx, key)
    if found is None:
        names = dict(zip(("payer", "network", "asset", "period"), key, strict=True))
        ensure(tx, budgets, **names, committed=0)
        found = _find(tx, key)
    assert found is not None, "it was inserted, or was there"
    return found


def _commit(tx: Connection, key: _Key, committed: int) -> None:
    tx.execute(update(budgets).where(_where(key)).values(committed=committed))


def _over(rule: Rule, period: str, requested: int, committed: int, cap: int, offer: Offer) -> PolicyViolation:
    text = f"{requested} units of {offer.asset} requested, {committed} of {cap} already spent or reserved in {period}"
    return PolicyViolation(rule, text, requested, committed, cap)
