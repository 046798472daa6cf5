"""Refunds of unmatched transfers to their senders."""

from typing import Annotated

from pydantic import Field
from sqlalchemy import Connection, insert, select

from foreseal.payments.api import views
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.request_models import NoFields, RequestModel
from foreseal.payments.api.responses import RefundDetail
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import JsonReply, Route, RouteCall
from foreseal.payments.api.routes.accounting import TransferPath
from foreseal.payments.api.value_types import Amount, DestinationText, ObjectId, limited_text
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.disbursements.refunds import RefundedTransfer
from foreseal.payments.ledger import UnknownRecord, read
from foreseal.payments.ledger.models import (
    Purpose,
    Reason,
    RefundRecord,
    ResolutionRecord,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import ColumnValues, fetch_one_or_none


class NewTransferRefund(RequestModel):
    """A refund of an unmatched transfer, or of a part of it."""

    id: ObjectId | None = Field(
        default=None, description="Id of the refund; derived from the Idempotency-Key by default."
    )
    destination: DestinationText | None = Field(
        default=None, description="Destination whose payee refunds: that at which the transfer arrived, by default."
    )
    amount: Amount | None = Field(
        default=None, description="Amount in smallest units, as a string; by default all of the transfer."
    )
    note: Annotated[str, limited_text(2_000)] | None = Field(
        default=None, description="Note of the resolution; by default it names the refund."
    )
    confirm_shared_payee: bool = Field(
        default=False,
        description="Required for the reason shared_payee: no service with the same payee has delivered for it.",
    )


def _refund(call: RouteCall[TransferPath, NoFields, NewTransferRefund]) -> JsonReply:
    assert call.key is not None
    id, caller, backend = call.body.id or call.required_claim.id("ref"), call.key.id, call.backend
    source = RefundedTransfer("0x" + call.path.transaction.hex(), call.path.position)

    def resolve(tx: Connection) -> None:
        if not call.body.confirm_shared_payee:
            _require_own(tx, backend.chain_id, source)
        values: ColumnValues = {
            ResolutionRecord.chain_id: backend.chain_id,
            ResolutionRecord.transaction_hash: source.transaction_hash,
            ResolutionRecord.position: source.position,
            ResolutionRecord.note: call.body.note or f"refund {id}",
            ResolutionRecord.resolved_by: caller,
            ResolutionRecord.time: int(backend.clock()),
        }
        tx.execute(insert(ResolutionRecord).values(values))

    # The same id means the same refund, so a repeat is safe.
    refunds = _destination(call, source).refunds
    refunds.reserve_transfer(id, source, call.body.amount, resolve)
    refunds.advance(id)
    with backend.database.reading() as tx:
        (refund,) = call.views.refunds(tx, [read(tx, RefundRecord, id)])
        transactions = views.list_transactions(tx, {id: [id]}, Purpose.REFUND)[id]
        return JsonReply({"refund": refund, "transactions": transactions}, 201)


def _require_own(tx: Connection, chain_id: int, source: RefundedTransfer) -> None:
    """Raise `ApiError` if another service may have delivered for a transfer."""
    shared = (
        (UnmatchedTransferRecord.chain_id == chain_id)
        & (UnmatchedTransferRecord.transaction_hash == source.transaction_hash)
        & (UnmatchedTransferRecord.position == source.position)
        & (UnmatchedTransferRecord.reason == Reason.SHARED_PAYEE)
    )
    if tx.execute(select(UnmatchedTransferRecord.position).where(shared)).first() is not None:
        message = (
            "confirm_shared_payee: must be true, since another service with the same payee may have taken transfer "
            f"{source.transaction_hash} as payment; a refund would return money for a delivery"
        )
        raise ApiError(409, "confirmation_required", message, "confirm_shared_payee")


def _destination(call: RouteCall[TransferPath, NoFields, NewTransferRefund], source: RefundedTransfer) -> Destination:
    """Return the destination at which the transfer arrived: only its payee has the money."""
    named = None if call.body.destination is None else call.destination(call.body.destination)
    same = (
        (TransferRecord.chain_id == call.backend.chain_id)
        & (TransferRecord.transaction_hash == source.transaction_hash)
        & (TransferRecord.position == source.position)
    )
    with call.backend.database.reading() as tx:
        transfer = fetch_one_or_none(tx, select(TransferRecord).where(same))
        if transfer is None:
            raise UnknownRecord(f"unmatched transfers: no transfer {source.position} of {source.transaction_hash}")
        actual = call.backend.lookup(tx).transfer(transfer)
    if named is not None and named is not actual:
        message = f"destination: the transfer arrived at {actual.name!r}, whose payee alone can refund it"
        raise ApiError(400, "invalid_value", message, "destination")
    return actual


ROUTES = (
    Route(
        "POST",
        "/v1/unmatched-transfers/{transaction}/{position}/refund",
        "Refund an unmatched transfer to its sender, and record that as its resolution",
        _refund,
        {201: RefundDetail},
        Role.REFUNDER,
    ),
)
