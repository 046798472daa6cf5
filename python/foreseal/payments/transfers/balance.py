"""Conservation: no money appears, vanishes or is counted twice between the tables."""

from collections import defaultdict
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Balance:
    """Sums in smallest units, and contradictions between the tables."""

    received: int
    """All transfers to the merchant or its batch capture contract that are on the chain, without sweeps."""
    captured: int
    """Transfers that are matched to an order."""
    unmatched: int
    """Unmatched transfers."""
    refunded: int
    """Completed refunds."""
    reserved: int
    """Refunds that are not completed yet."""
    faults: tuple[BalanceFault, ...] = field(default=())
    """Contradictions; empty if the books balance."""


def balance(tx: Connection) -> Balance:
    """Compute all sums from one snapshot, and compare them.

    Each captured order has one matched transfer of the same amount. Every other transfer is in `unmatched_transfers`
    once. The refunds of an order, including pending ones, never exceed its capture.
    """
    faults: list[BalanceFault] = []
    captured_query = select(OrderRecord).where(OrderRecord.state == OrderState.CAPTURED)
    captured_orders = {order.id: order for order in fetch_each(tx, captured_query)}
    unmatched_rows = fetch_each(tx, select(UnmatchedTransferRecord))
    held = {(row.chain_id, row.transaction_hash, row.position): row.reason for row in unmatched_rows}
    received = captured = unmatched = 0
    matched: dict[_Source, int] = {}
    for row in fetch_each(tx, select(TransferRecord)):
        reason = held.pop((row.chain_id, row.transaction_hash, row.position), None)
        is_held = reason is not None
        if is_held:
            matched[row.transaction_hash, row.position] = row.amount
        if reason is not Reason.SWEEP:  # the contract's receipt of the same money is a row of its own
            received += row.amount
            unmatched += row.amount if is_held else 0
        if row.order_id is not None:
            captured += row.amount
            matched[row.order_id] = row.amount
            order = captured_orders.get(row.order_id)
            if order is None:
                faults.append(
                    BalanceFault(
                        "order_not_captured",
                        f"transfer {row.transaction_hash} pays order {row.order_id}, which is not captured",
                    )
                )
            elif (expected_amount(order), order.token, order.payee) != (row.amount, row.token, row.recipient):
                faults.append(
                    BalanceFault(
                        "terms_mismatch",
                        f"transfer {row.transaction_hash} differs from the terms of order {row.order_id}",
                    )
                )
            elif order.step != row.step:
                faults.append(
                    BalanceFault("finality_mismatch", f"order {row.order_id} is {order.step}, its transfer {row.step}")
                )
        if is_held == (row.order_id is not None):
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
    paid, promised = _refunds(tx)
    for id in {*paid, *promised}:
        if paid[id] + promised[id] > matched.get(id, 0):
            refunded = paid[id] + promised[id]
            faults.append(
                BalanceFault(
                    "refunds_exceed_capture",
                    f"refunds of {_source(id)} are {refunded}, its amount {matched.get(id, 0)}",
                )
            )
    return Balance(received, captured, unmatched, sum(paid.values()), sum(promised.values()), tuple(sorted(faults)))


def expected_amount(order: OrderRecord) -> int | None:
    """Return the amount that a capture moves. For a permit it is the decided amount, or None before the decision."""
    return order.amount if order.checkout is None else order.actual


_Source = str | tuple[str, int]
"""Order by id, or unmatched transfer by transaction hash and position."""


def _source(source: _Source) -> str:
    return f"order {source}" if isinstance(source, str) else f"transfer {source[1]} of {source[0]}"


def _refunds(tx: Connection) -> tuple[dict[_Source, int], dict[_Source, int]]:
    """Return paid and pending refund amounts by order or unmatched transfer."""
    paid: dict[_Source, int] = defaultdict(int)
    promised: dict[_Source, int] = defaultdict(int)
    for row in fetch_each(tx, select(RefundRecord).where(RefundRecord.state != DisbursementState.BLOCKED)):
        sums = paid if row.state is DisbursementState.COMPLETE else promised
        sums[row.order_id or (row.transfer_hash or "", row.transfer_position or 0)] += row.amount
    return paid, promised
