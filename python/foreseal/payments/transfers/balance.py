"""Conservation: no money appears, vanishes or is counted twice between the tables."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, case, or_, select, type_coerce

from foreseal.payments.ledger.amount_sums import join_sum, sum_columns
from foreseal.payments.ledger.columns import Units
from foreseal.payments.ledger.models import (
    OrderRecord,
    Reason,
    RefundRecord,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import fetch_triples
from foreseal.payments.ledger.states import DisbursementState, OrderState

MAX_FAULTS = 100
"""Maximum number of faults of one kind that are returned."""
_SAME = and_(
    UnmatchedTransferRecord.chain_id == TransferRecord.chain_id,
    UnmatchedTransferRecord.transaction_hash == TransferRecord.transaction_hash,
    UnmatchedTransferRecord.position == TransferRecord.position,
)


@dataclass(frozen=True, slots=True, order=True)
class BalanceFault:
    """A contradiction between the tables."""

    code: str
    message: str
    """For people."""


@dataclass(slots=True)
class Sums:
    """Sums in smallest units of one token."""

    received: int = 0
    """All transfers that are on the chain, without sweeps."""
    captured: int = 0
    """Transfers that are matched to an order."""
    granted: int = 0
    """Transfers that pay x402 responses."""
    unmatched: int = 0
    """Unmatched transfers."""
    refunded: int = 0
    """Completed refunds."""
    reserved: int = 0
    """Refunds that are not completed yet."""

    def add(self, other: "Sums") -> None:
        """Add other sums of the same token."""
        for name in SUM_NAMES:
            setattr(self, name, getattr(self, name) + getattr(other, name))


SUM_NAMES = ("received", "captured", "granted", "unmatched", "refunded", "reserved")


class Receiver(NamedTuple):
    """An account that receives a token."""

    token: str
    account: str
    """The payee or its batch capture contract. Empty for a refund whose transfer is missing, which is a fault."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Sums by receiver, and contradictions between the tables."""

    sums: Mapping[Receiver, Sums]
    faults: tuple[BalanceFault, ...] = ()
    """Empty if the books balance."""

    def total(self, *receivers: Receiver) -> Sums:
        """Return the sums of some receivers of one token, or of all if none is given."""
        total = Sums()
        for receiver in receivers or self.sums:
            total.add(self.sums.get(receiver, Sums()))
        return total


def balance(tx: Connection) -> Balance:
    """Compute all sums from one snapshot, and compare the tables.

    Each captured order has one matched transfer of the same amount. Every other transfer pays a grant, or is in
    `unmatched_transfers` once. The refunds of an order, including pending ones, never exceed its capture. The database
    computes sums and comparisons, since anybody can add transfers; of each kind, the first `MAX_FAULTS` faults are
    returned.
    """
    sums: dict[Receiver, Sums] = defaultdict(Sums)
    _add_transfers(tx, sums)
    faults = [*_transfer_faults(tx), *_order_faults(tx), *_add_refunds(tx, sums)]
    return Balance(dict(sums), tuple(sorted(faults)))


def _add_transfers(tx: Connection, sums: dict[Receiver, Sums]) -> None:
    """Add the transfers to the sums, by receiver and use."""
    uses = (
        TransferRecord.token,
        TransferRecord.recipient,
        UnmatchedTransferRecord.reason,
        TransferRecord.order_id.is_not(None).label("has_order"),
        TransferRecord.grant_id.is_not(None).label("has_grant"),
    )
    columns: list[Any] = [*uses, *sum_columns(tx, type_coerce(TransferRecord.amount, Units()))]
    query: Select[Any] = select(*columns).outerjoin(UnmatchedTransferRecord, _SAME).group_by(*columns[: len(uses)])
    for token, account, reason, has_order, has_grant, *limbs in tx.execute(query):
        receiver_sums, amount = sums[Receiver(token, account)], join_sum(limbs)
        if reason is not Reason.SWEEP:  # the contract's receipt of the same money is a row of its own
            receiver_sums.received += amount
            receiver_sums.unmatched += amount if reason is not None else 0
        receiver_sums.captured += amount if has_order else 0
        receiver_sums.granted += amount if has_grant else 0


def _transfer_faults(tx: Connection) -> Iterator[BalanceFault]:
    """Yield the transfers that are filed twice or not at all."""
    is_unmatched = UnmatchedTransferRecord.transaction_hash.is_not(None)
    is_matched = TransferRecord.order_id.is_not(None) | TransferRecord.grant_id.is_not(None)
    misfiled = select(TransferRecord.transaction_hash).outerjoin(UnmatchedTransferRecord, _SAME)
    misfiled = misfiled.where((is_unmatched & is_matched) | ~(is_unmatched | is_matched))
    for hash in tx.execute(misfiled.limit(MAX_FAULTS)).scalars():
        message = f"transfer {hash} is both matched and unmatched, or neither"
        yield BalanceFault("transfer_misfiled", message)
    missing = select(UnmatchedTransferRecord.transaction_hash).outerjoin(TransferRecord, _SAME)
    missing = missing.where(TransferRecord.transaction_hash.is_(None))
    for hash in tx.execute(missing.limit(MAX_FAULTS)).scalars():
        yield BalanceFault("unmatched_transfer_missing", f"unmatched transfer {hash} does not exist")


def _order_faults(tx: Connection) -> Iterator[BalanceFault]:
    """Yield the contradictions between the matched transfers and the captured orders."""
    is_captured = OrderRecord.state == OrderState.CAPTURED
    # For a permit, the amount of a capture is the decided one, which is null before the decision.
    moved = case((OrderRecord.checkout.is_(None), OrderRecord.amount), else_=OrderRecord.actual)
    differs = or_(
        moved.is_distinct_from(TransferRecord.amount),
        OrderRecord.token != TransferRecord.token,
        OrderRecord.payee != TransferRecord.recipient,
    ).label("differs")
    columns = (OrderRecord.id, OrderRecord.step, TransferRecord.transaction_hash, TransferRecord.order_id)
    joined = select(*columns, TransferRecord.step.label("transfer_step"), differs)
    paid = joined.select_from(TransferRecord).outerjoin(
        OrderRecord, (TransferRecord.order_id == OrderRecord.id) & is_captured
    )
    same_step = OrderRecord.step.is_not_distinct_from(TransferRecord.step)
    faulty = paid.where(TransferRecord.order_id.is_not(None), or_(OrderRecord.id.is_(None), differs, ~same_step))
    for row in tx.execute(faulty.limit(MAX_FAULTS)):
        if row.id is None:
            message = f"transfer {row.transaction_hash} pays order {row.order_id}, which is not captured"
            yield BalanceFault("order_not_captured", message)
        elif row.differs:
            message = f"transfer {row.transaction_hash} differs from the terms of order {row.id}"
            yield BalanceFault("terms_mismatch", message)
        else:
            message = f"order {row.id} is {row.step}, its transfer {row.transfer_step}"
            yield BalanceFault("finality_mismatch", message)
    unpaid = select(OrderRecord.id).outerjoin(TransferRecord, TransferRecord.order_id == OrderRecord.id)
    unpaid = unpaid.where(is_captured, TransferRecord.order_id.is_(None))
    for id in tx.execute(unpaid.limit(MAX_FAULTS)).scalars():
        yield BalanceFault("transfer_missing", f"order {id} is captured without a transfer")


_Source = str | tuple[str, int]
"""Order by id, or unmatched transfer by transaction hash and position."""


def _source(source: _Source) -> str:
    return f"order {source}" if isinstance(source, str) else f"transfer {source[1]} of {source[0]}"


def _add_refunds(tx: Connection, sums: dict[Receiver, Sums]) -> Iterator[BalanceFault]:
    """Add paid and pending refunds to the sums. Yield those that exceed what they return."""
    of_transfer = and_(
        RefundRecord.chain_id == TransferRecord.chain_id,
        RefundRecord.transfer_hash == TransferRecord.transaction_hash,
        RefundRecord.transfer_position == TransferRecord.position,
        select(UnmatchedTransferRecord.position).where(_SAME).exists(),
    )
    query = select(RefundRecord, TransferRecord.recipient, TransferRecord.amount.label("returnable")).where(
        RefundRecord.state != DisbursementState.BLOCKED
    )
    of_orders = query.outerjoin(TransferRecord, RefundRecord.order_id == TransferRecord.order_id)
    of_transfers = query.outerjoin(TransferRecord, of_transfer)
    queries = (
        of_orders.where(RefundRecord.order_id.is_not(None)),
        of_transfers.where(RefundRecord.order_id.is_(None)),
    )
    totals: dict[_Source, int] = defaultdict(int)
    amounts: dict[_Source, int] = {}
    for row, recipient, returnable in chain.from_iterable(fetch_triples(tx, each) for each in queries):
        source = row.order_id or (row.transfer_hash or "", row.transfer_position or 0)
        part = sums[Receiver(row.token, recipient or "")]
        if row.state is DisbursementState.COMPLETE:
            part.refunded += row.amount
        else:
            part.reserved += row.amount
        totals[source] += row.amount
        amounts[source] = returnable or 0
    for source, total in totals.items():
        if total > amounts[source]:
            message = f"refunds of {_source(source)} are {total}, its amount {amounts[source]}"
            yield BalanceFault("refunds_exceed_capture", message)
