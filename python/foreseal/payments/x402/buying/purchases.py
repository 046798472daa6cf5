"""Purchases and what they count for: each step is one database transaction that nobody else's can come between."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.ledger import Database, Entry, Overtaken, Unknown
from foreseal.payments.ledger.timeline import note
from foreseal.payments.x402.buying.errors import OutcomeUnknown, PaymentRefused, Refusal, Rule
from foreseal.payments.x402.buying.policy import Offer
from foreseal.payments.x402.buying.tables import Proof, Stage, budgets, purchases
from foreseal.payments.x402.identities import Payment

LONGEST_SESSION = 200
"""Characters of a session's name."""


def random_id() -> str:
    """An id that nothing else has."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Intent:
    """What is about to be signed, and for whom."""

    payer: str
    session: str
    open_key: str | None
    """Of what is not to be signed for again before the outcome is known; None where a second signature asks for
    nothing more."""
    subject: str
    """What is paid for, for people."""
    amount: int
    """The most that can be taken, in smallest units."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a purchase, and how that is known."""

    settled: int | None
    """Smallest units that were taken; None where nothing was and nothing can be any more."""
    proof: Proof
    transaction: str | None = None


class Purchases:
    """The purchases of any number of buyers in one database. May be used by any number of threads and processes."""

    def __init__(self, database: Database, clock: Callable[[], int], new_id: Callable[[], str] = random_id) -> None:
        """`clock` gives seconds since 1970, and so the day (UTC) that a purchase counts for."""
        self.database = database
        self._clock = clock
        self._new_id = new_id

    def reserve(self, offer: Offer, intent: Intent) -> str:
        """Let the amount of an intent count, before anything is signed; the id of the purchase.

        Raises `PaymentRefused` where a cap would be passed, `OutcomeUnknown` where the outcome of an earlier one for
        the same is; nothing is changed then.
        """
        now = self._clock()
        today = datetime.fromtimestamp(now, UTC).date().isoformat()
        id = self._new_id()
        with self.database.transaction() as tx:
            self._refuse_a_second(tx, intent)
            bounds = (
                (Rule.PER_SESSION, f"session {intent.session}", offer.caps.per_session),
                (Rule.PER_DAY, f"day {today}", offer.caps.per_day),
            )
            for rule, period, cap in bounds:
                committed = _locked(tx, intent.payer, offer, period)
                if committed + intent.amount > cap:
                    raise PaymentRefused((_over(rule, period, intent.amount, committed, cap, offer),))
                _commit(tx, (intent.payer, offer.asset.network, offer.asset.token, period), committed + intent.amount)
            try:
                with tx.begin_nested():
                    tx.execute(insert(purchases).values(id=id, day=today, reserved_at=now, **_row(offer, intent)))
            except IntegrityError:  # somebody else was between the look and the insertion
                self._refuse_a_second(tx, intent)
                raise
            note(tx, Entry(purchases.name, id, now, "reserve", None, Stage.RESERVED, {}))
        return id

    def present(self, id: str, signed: Payment) -> None:
        """Store what was signed, before it leaves. Raises `Overtaken` if the purchase was given back meanwhile."""
        values = {"contract": signed.key.contract, "nonce": signed.key.nonce, "valid_before": signed.deadline}
        with self.database.transaction() as tx:
            self._move(tx, self._read(tx, id), "present", Stage.RESERVED, stage=Stage.PRESENTED, **values)

    def point(self, id: str, status_url: str) -> None:
        """Keep where the seller says what became of a purchase."""
        with self.database.transaction() as tx:
            tx.execute(update(purchases).where(purchases.c.id == id).values(status_url=status_url))

    def conclude(self, id: str, outcome: Outcome, unless_presented: bool = False) -> bool:
        """Let an outcome count; whether it is news.

        What the chain said is never changed again, and what the seller said only by the chain. Raises ValueError for
        more than was signed, `Overtaken` where another outcome came first: read again.
        """
        with self.database.transaction() as tx:
            row = self._read(tx, id)
            if not _is_news(row, outcome) or (unless_presented and row.stage is not Stage.RESERVED):
                return False
            settled = outcome.settled or 0
            if not 0 <= settled <= row.amount:
                raise ValueError(f"settled: {outcome.settled} units of {id}, which is of {row.amount}")
            # Budgets before purchases, as in `reserve`: nobody waits in a circle.
            difference = settled - counted(row)
            for period in (f"session {row.session}", f"day {row.day}"):
                key = (row.payer, row.network, row.asset, period)
                committed = _find(tx, key)
                assert committed is not None, "a purchase was reserved in both"
                _commit(tx, key, committed + difference)
            stage = Stage.RETURNED if outcome.settled is None else Stage.SPENT
            self._move(
                tx,
                row,
                "conclude",
                row.stage,
                stage=stage,
                settled=outcome.settled,
                proof=outcome.proof,
                open_key=None,
                transaction_hash=outcome.transaction or row.transaction_hash,
            )
            return True

    def get(self, id: str) -> Row[Any]:
        """A purchase. Raises `Unknown`."""
        with self.database.reading() as tx:
            return self._read(tx, id)

    def payers(self) -> list[str]:
        """The accounts that bought something."""
        with self.database.reading() as tx:
            return sorted(tx.execute(select(purchases.c.payer).distinct()).scalars())

    def unsettled(self, payer: str) -> list[Row[Any]]:
        """The purchases of an account whose outcome no final block has said yet, oldest first.

        Vouchers are not among them: they move nothing, and the chain does not know of them.
        """
        open = purchases.c.stage.in_((Stage.RESERVED, Stage.PRESENTED)) | (purchases.c.proof == Proof.SELLER)
        open &= purchases.c.contract.is_(None) | (purchases.c.contract != BATCH_SETTLEMENT)
        wanted = select(purchases).where((purchases.c.payer == payer) & open).order_by(purchases.c.reserved_at)
        with self.database.reading() as tx:
            return list(tx.execute(wanted))

    def shares_transaction(self, row: Row[Any]) -> bool:
        """Whether another purchase is said to be paid by the same transaction."""
        same = (purchases.c.network == row.network) & (purchases.c.transaction_hash == row.transaction_hash)
        with self.database.reading() as tx:
            return tx.execute(select(purchases.c.id).where(same & (purchases.c.id != row.id))).first() is not None

    def _read(self, tx: Connection, id: str) -> Row[Any]:
        row = tx.execute(select(purchases).where(purchases.c.id == id)).one_or_none()
        if row is None:
            raise Unknown(f"purchases: there is no {id}")
        return row

    def _move(self, tx: Connection, row: Row[Any], trigger: str, before: Stage, **values: Any) -> None:
        same = (purchases.c.id == row.id) & (purchases.c.stage == before)
        same &= purchases.c.proof.is_(None) if row.proof is None else purchases.c.proof == row.proof
        if tx.execute(update(purchases).where(same).values(**values)).rowcount != 1:
            raise Overtaken(f"purchases: {row.id} is no longer {before}")
        told = {
            name: str(value) for name, value in values.items() if name in ("settled", "proof") and value is not None
        }
        note(tx, Entry(purchases.name, row.id, self._clock(), trigger, row.stage, values["stage"], told))

    def _refuse_a_second(self, tx: Connection, intent: Intent) -> None:
        if intent.open_key is not None:
            wanted = select(purchases.c.id, purchases.c.subject).where(purchases.c.open_key == intent.open_key)
            if (found := tx.execute(wanted).one_or_none()) is not None:
                raise OutcomeUnknown(found.id, found.subject)


def counted(row: Row[Any]) -> int:
    """Smallest units by which a purchase counts against the caps."""
    match row.stage:
        case Stage.RESERVED | Stage.PRESENTED:
            return int(row.amount)
        case Stage.SPENT:
            return int(row.settled)
        case _:
            return 0


def _is_news(row: Row[Any], outcome: Outcome) -> bool:
    match row.proof:
        case None:
            return True
        case Proof.SELLER:
            return outcome.proof is Proof.CHAIN
        case _:
            return False


def _row(offer: Offer, intent: Intent) -> dict[str, Any]:
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
        "stage": Stage.RESERVED,
    }


_Key = tuple[str, str, str, str]


def _where(key: _Key) -> Any:
    payer, network, asset, period = key
    same = (budgets.c.payer == payer) & (budgets.c.network == network)
    return same & (budgets.c.asset == asset) & (budgets.c.period == period)


def _find(tx: Connection, key: _Key) -> int | None:
    return tx.execute(select(budgets.c.committed).where(_where(key)).with_for_update()).scalar_one_or_none()


def _locked(tx: Connection, payer: str, offer: Offer, period: str) -> int:
    """What counts for a period; nobody else changes it before this transaction ends."""
    key = (payer, offer.asset.network, offer.asset.token, period)
    found = _find(tx, key)
    if found is None:
        names = dict(zip(("payer", "network", "asset", "period"), key, strict=True))
        try:
            with tx.begin_nested():
                tx.execute(insert(budgets).values(**names, committed=0))
        except IntegrityError:  # somebody else's first purchase of the period was quicker
            pass
        found = _find(tx, key)
    assert found is not None, "it was inserted, or was there"
    return found


def _commit(tx: Connection, key: _Key, committed: int) -> None:
    tx.execute(update(budgets).where(_where(key)).values(committed=committed))


def _over(rule: Rule, period: str, asked: int, committed: int, cap: int, offer: Offer) -> Refusal:
    text = f"{asked} units of {offer.asset} are asked for, {committed} of {cap} are spent or reserved in {period}"
    return Refusal(rule, text, asked, committed, cap)
