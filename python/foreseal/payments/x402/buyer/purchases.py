"""Purchases and budgets. Each step is one serialized database transaction."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Connection, select, update

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.ledger import DuplicateRecord, Finality, Ledger, PurchaseState, Trigger, ensure, read
from foreseal.payments.ledger.queries import ColumnValues, fetch_all
from foreseal.payments.x402.buyer.errors import OutcomeUnknown, PolicyViolation, PurchaseRejected, Rule
from foreseal.payments.x402.buyer.models import BudgetRecord, PurchaseRecord
from foreseal.payments.x402.buyer.spending_policy import Offer, ReportSource
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
    report_source: ReportSource = ReportSource.SELLER
    """Source whose reports may lower the counted amount."""


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
            values: ColumnValues = {
                **_row(offer, intent),
                PurchaseRecord.id: id,
                PurchaseRecord.day: today,
                PurchaseRecord.reserved_at: now,
            }
            try:
                with tx.begin_nested():
                    self.ledger.create(tx, PurchaseRecord, Trigger.RESERVE, values)
            except DuplicateRecord:  # another process inserted one between check and insert
                self._refuse_a_second(tx, intent)
                raise
        return id

    def present(self, id: str, signed: Payment) -> None:
        """Store the signed payment before it is sent.

        Raises `TransitionNotAllowed` or `ConcurrentUpdate` if the purchase was returned in the meantime.
        """
        values: ColumnValues = {
            PurchaseRecord.contract: signed.key.contract,
            PurchaseRecord.nonce: signed.key.nonce,
            PurchaseRecord.valid_before: signed.deadline,
        }
        with self.ledger.database.transaction() as tx:
            row = read(tx, PurchaseRecord, id)
            tx.execute(update(PurchaseRecord).where(PurchaseRecord.id == id).values(values))
            self.ledger.move(tx, PurchaseRecord, row, Trigger.PRESENT)

    def point(self, id: str, status_url: str) -> None:
        """Store the seller's status URL of a purchase."""
        with self.ledger.database.transaction() as tx:
            tx.execute(
                update(PurchaseRecord).where(PurchaseRecord.id == id).values({PurchaseRecord.status_url: status_url})
            )

    def conclude(self, id: str, outcome: PurchaseOutcome, unless_presented: bool = False) -> bool:
        """Apply an outcome. Return True if it changed the purchase.

        An outcome from the chain is final; one from the seller can only be changed by the chain. With
        `ReportSource.CHAIN`, a seller's report counts the full amount, and its rejection changes nothing.

        Raises ValueError if it exceeds the signed amount, `ConcurrentUpdate` if another outcome came first: read again.
        """
        with self.ledger.database.transaction() as tx:
            row = read(tx, PurchaseRecord, id)
            news = self.ledger.allows(PurchaseRecord, row, outcome.trigger)
            if not news or (unless_presented and row.state is not PurchaseState.RESERVED):
                return False
            if row.report_source is ReportSource.CHAIN:
                if outcome.trigger is Trigger.REFUSED:
                    return False
                if outcome.trigger is Trigger.PAID:
                    outcome = replace(outcome, settled=row.amount)
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
            values: ColumnValues = {
                PurchaseRecord.settled: outcome.settled,
                PurchaseRecord.open_key: None,
                PurchaseRecord.transaction_hash: transaction,
            }
            tx.execute(update(PurchaseRecord).where(PurchaseRecord.id == id).values(values))
            self.ledger.move(tx, PurchaseRecord, row, outcome.trigger, settled=str(settled))
            return True

    def get(self, id: str) -> PurchaseRecord:
        """Return a purchase. Raises `UnknownRecord`."""
        with self.ledger.database.reading() as tx:
            return read(tx, PurchaseRecord, id)

    def payers(self) -> list[str]:
        """Return the accounts that have purchases."""
        with self.ledger.database.reading() as tx:
            return sorted(tx.execute(select(PurchaseRecord.payer).distinct()).scalars())

    def unsettled(self, payer: str) -> list[PurchaseRecord]:
        """Return an account's purchases without a final outcome, oldest first.

        Vouchers are excluded: they transfer nothing, and the chain has no record of them.
        """
        open = PurchaseRecord.step != Finality.FINAL
        open &= PurchaseRecord.contract.is_(None) | (PurchaseRecord.contract != BATCH_SETTLEMENT)
        query = (
            select(PurchaseRecord).where((PurchaseRecord.payer == payer) & open).order_by(PurchaseRecord.reserved_at)
        )
        with self.ledger.database.reading() as tx:
            return fetch_all(tx, query)

    def shares_transaction(self, row: PurchaseRecord) -> bool:
        """Return True if another purchase names the same transaction."""
        same = (PurchaseRecord.network == row.network) & (PurchaseRecord.transaction_hash == row.transaction_hash)
        with self.ledger.database.reading() as tx:
            return tx.execute(select(PurchaseRecord.id).where(same & (PurchaseRecord.id != row.id))).first() is not None

    def _refuse_a_second(self, tx: Connection, intent: PurchaseIntent) -> None:
        if intent.open_key is not None:
            query = select(PurchaseRecord.id, PurchaseRecord.subject).where(PurchaseRecord.open_key == intent.open_key)
            for id, subject in tx.execute(query):
                raise OutcomeUnknown(id, subject)


def counted(row: PurchaseRecord) -> int:
    """Return the smallest units that a purchase counts against the caps."""
    match row.state:
        case PurchaseState.RESERVED | PurchaseState.PRESENTED:
            return row.amount
        case PurchaseState.SPENT:
            return row.settled or 0
        case _:
            return 0


def _row(offer: Offer, intent: PurchaseIntent) -> ColumnValues:
    return {
        PurchaseRecord.payer: intent.payer,
        PurchaseRecord.session: intent.session,
        PurchaseRecord.open_key: intent.open_key,
        PurchaseRecord.subject: intent.subject,
        PurchaseRecord.scheme: offer.terms.scheme,
        PurchaseRecord.network: offer.asset.network,
        PurchaseRecord.asset: offer.asset.token,
        PurchaseRecord.payee: offer.payee,
        PurchaseRecord.amount: intent.amount,
        PurchaseRecord.report_source: intent.report_source,
    }


_Key = tuple[str, str, str, str]


def _where(key: _Key) -> ColumnElement[bool]:
    payer, network, asset, period = key
    same = (BudgetRecord.payer == payer) & (BudgetRecord.network == network)
    return same & (BudgetRecord.asset == asset) & (BudgetRecord.period == period)


def _find(tx: Connection, key: _Key) -> int | None:
    return tx.execute(select(BudgetRecord.committed).where(_where(key)).with_for_update()).scalar_one_or_none()


def _locked(tx: Connection, payer: str, offer: Offer, period: str) -> int:
    """Return the committed amount of a period, and lock it until the transaction ends."""
    key = (payer, offer.asset.network, offer.asset.token, period)
    committed = _find(tx, key)
    if committed is None:
        values: ColumnValues = {
            BudgetRecord.payer: payer,
            BudgetRecord.network: offer.asset.network,
            BudgetRecord.asset: offer.asset.token,
            BudgetRecord.period: period,
            BudgetRecord.committed: 0,
        }
        ensure(tx, BudgetRecord, values)
        committed = _find(tx, key)
    assert committed is not None, "it was inserted, or was there"
    return committed


def _commit(tx: Connection, key: _Key, committed: int) -> None:
    tx.execute(update(BudgetRecord).where(_where(key)).values({BudgetRecord.committed: committed}))


def _over(rule: Rule, period: str, requested: int, committed: int, cap: int, offer: Offer) -> PolicyViolation:
    text = f"{requested} units of {offer.asset} requested, {committed} of {cap} already spent or reserved in {period}"
    return PolicyViolation(rule, text, requested, committed, cap)
