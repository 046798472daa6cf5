"""Kinds of rows that the worker advances."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select

from foreseal.payments.api.backend import Backend
from foreseal.payments.chain import CachedHeads
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.destinations.lookup import DestinationLookup, DestinationsById
from foreseal.payments.ledger import EFFECTED, OrderState
from foreseal.payments.ledger.models import OrderRecord, PayoutRecord, RefundRecord

_UNUSED = (OrderState.DRAFTED, OrderState.SIGNED, OrderState.STORED, OrderState.VOIDED)


class RowStatus(NamedTuple):
    """Status of a row after an advance: a change makes the next poll due soon."""

    state: str = ""
    step: str = ""

    @property
    def is_effected(self) -> bool:
        """True if the effect of the row's transaction is on the chain."""
        return self.step in EFFECTED


@dataclass(frozen=True, slots=True, eq=False)
class WorkKind:
    """Kind of rows, and how the worker advances them."""

    name: str
    waiting: Callable[[Backend, CachedHeads], list[str]]
    """Returns the ids of the rows that wait."""
    find_destinations: Callable[[DestinationLookup, Sequence[str]], DestinationsById]
    advance: Callable[[Destination, str], RowStatus]
    """Takes the next step of a row. Returns its status afterwards."""
    calls_wallets: bool = False
    """True if an advance may wait for the code of a payer's wallet."""


class Subject(NamedTuple):
    """A row to advance."""

    kind: WorkKind
    id: str


def _expiring(backend: Backend, heads: CachedHeads) -> list[str]:
    """Return the orders whose validBefore a final block has reached."""
    final = heads.head("finalized")
    if final is None:
        return []
    over = select(OrderRecord.id).where(OrderRecord.state.in_(_UNUSED), OrderRecord.valid_before <= final.timestamp)
    with backend.database.reading() as tx:
        return list(tx.execute(over.order_by(OrderRecord.id)).scalars())


def _expire(destination: Destination, id: str) -> RowStatus:
    destination.progress.expire(id)
    return RowStatus()


def _capture(destination: Destination, id: str) -> RowStatus:
    error = destination.auto_captures.attempt(id)
    return RowStatus("", "" if error is None else str(error))


def _status(row: OrderRecord | RefundRecord | PayoutRecord) -> RowStatus:
    return RowStatus(row.state, row.step)


WORK_KINDS = (
    WorkKind("expiry", _expiring, DestinationLookup.orders_or_default, _expire),
    WorkKind(
        "batches",
        lambda backend, _: backend.destinations.default.progress.batches.waiting(watched=True),
        DestinationLookup.batches,
        lambda destination, id: RowStatus("", ", ".join(destination.progress.batches.advance(id))),
    ),
    WorkKind(
        "orders",
        lambda backend, _: backend.destinations.default.progress.waiting(watched=True),
        DestinationLookup.orders,
        lambda destination, id: _status(destination.progress.advance(id)),
    ),
    WorkKind(
        "refunds",
        lambda backend, _: backend.destinations.default.refunds.waiting(),
        DestinationLookup.refunds,
        lambda destination, id: _status(destination.refunds.advance(id)),
    ),
    WorkKind(
        "auto_captures",
        lambda backend, _: backend.destinations.default.auto_captures.waiting(),
        DestinationLookup.orders,
        _capture,
        calls_wallets=True,
    ),
    WorkKind(
        "payouts",
        lambda backend, _: backend.destinations.default.payouts.waiting(),
        DestinationLookup.payouts,
        lambda destination, id: _status(destination.payouts.advance(id)),
    ),
)
"""All kinds, in the order in which the worker submits their rows."""
