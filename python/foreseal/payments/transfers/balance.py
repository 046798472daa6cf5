"""Conservation: no money appears, vanishes or is counted twice between the tables."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, select

from foreseal.payments.ledger.models import (
    OrderRecord,
    Reason,
    RefundRecord,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import fetch_each
from foreseal.payments.ledger.states import DisbursementState, OrderState


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
        found = Sums()
        for receiver in receivers or self.sums:
            found.add(self.sums.get(receiver, Sums()))
        return found


def balance(tx: Connection) -> Balance:
    """Compute all sums from one snapshot, and compare them.

    Each captured order has one matched transfer of the same amount. Every other transfer pays a grant, or is in
    `unmatched_transfers` once. The refunds of an order, including pending ones, never exceed its capture.
    """
    faults: list[BalanceFault] = []
    captured_query = select(OrderRecord).where(OrderRecord.state == OrderState.CAPTURED)
    captured_orders = {order.id: order for order in fetch_each(tx, captured_query)}
    unmatched_rows = fetch_each(tx, select(UnmatchedTransferRecord))
    held = {(row.chain_id, row.transaction_hash, row.position): row.reason for row in unmatched_rows}
    sums: dict[Receiver, Sums] = defaultdict(Sums)
    matched: dict[_Source, _Matched] = {}
    for row in fetch_each(tx, select(TransferRecord)):
        receiver = Receiver(row.token, row.recipient)
        reason = held.pop((row.chain_id, row.transaction_hash, row.position), None)
        is_held = reason is not None
        if is_held:
            matched[row.transaction_hash, row.position] = _Matched(receiver, row.amount)
        if reason is not Reason.SWEEP:  # the contract's receipt of the same money is a row of its own
            sums[receiver].received += row.amount
            sums[receiver].unmatched += row.amount if is_held else 0
        if row.order_id is not None:
            sums[receiver].captured += row.amount
            matched[row.order_id] = _Matched(receiver, row.amount)
            faults += _order_faults(row, row.order_id, captured_orders.get(row.order_id))
        if row.grant_id is not None:
            sums[receiver].granted += row.amount
        if is_held == (row.order_id is not None or row.grant_id is not None):
            faults.append(
                BalanceFault(
                    "transfer_misfiled",
                    f"transfer {row.transaction_hash} is both matched and unmatched, or neither",
                )
            )
    faults += [
        BalanceFault("transfer_missing", f"order {id} is captured without a transfer")
        for id in captured_orders
        if id not in matched
    ]
    faults += [
        BalanceFault("unmatched_transfer_missing", f"unmatched transfer {key[1]} does not exist") for key in held
    ]
    faults += _add_refunds(tx, sums, matched)
    return Balance(dict(sums), tuple(sorted(faults)))


def _order_faults(row: TransferRecord, order_id: str, order: OrderRecord | None) -> Iterator[BalanceFault]:
    """Yield the contradictions between a matched transfer and its captured order."""
    if order is None:
        yield BalanceFault(
            "order_not_captured", f"transfer {row.transaction_hash} pays order {order_id}, which is not captured"
        )
    elif (expected_amount(order), order.token, order.payee) != (row.amount, row.token, row.recipient):
        yield BalanceFault(
            "terms_mismatch", f"transfer {row.transaction_hash} differs from the terms of order {order_id}"
        )
    elif order.step != row.step:
        yield BalanceFault("finality_mismatch", f"order {order_id} is {order.step}, its transfer {row.step}")


def expected_amount(order: OrderRecord) -> int | None:
    """Return the amount that a capture moves. For a permit it is the decided amount, or None before the decision."""
    return order.amount if order.checkout is None else order.actual


_Source = str | tuple[str, int]
"""Order by id, or unmatched transfer by transaction hash and position."""


class _Matched(NamedTuple):
    """A transfer that can be refunded."""

    receiver: Receiver
    amount: int


def _source(source: _Source) -> str:
    return f"order {source}" if isinstance(source, str) else f"transfer {source[1]} of {source[0]}"


def _add_refunds(
    tx: Connection, sums: dict[Receiver, Sums], matched: Mapping[_Source, _Matched]
) -> Iterator[BalanceFault]:
    """Add paid and pending refunds to the sums. Yield those that exceed what they return."""
    totals: dict[_Source, int] = defaultdict(int)
    for row in fetch_each(tx, select(RefundRecord).where(RefundRecord.state != DisbursementState.BLOCKED)):
        source = row.order_id or (row.transfer_hash or "", row.transfer_position or 0)
        found = matched.get(source)
        part = sums[Receiver(row.token, "") if found is None else found.receiver]
        if row.state is DisbursementState.COMPLETE:
            part.refunded += row.amount
        else:
            part.reserved += row.amount
        totals[source] += row.amount
    for source, total in totals.items():
        amount = matched[source].amount if source in matched else 0
        if total > amount:
            yield BalanceFault(
                "refunds_exceed_capture", f"refunds of {_source(source)} are {total}, its amount {amount}"
            )
