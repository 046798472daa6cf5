"""The books: unmatched transfers, the export, and the balance check."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field
from sqlalchemy import ColumnElement, Connection, Select, and_, select, tuple_

from foreseal.payments.amounts import to_tokens
from foreseal.payments.api import views
from foreseal.payments.api.models import ResolutionRecord
from foreseal.payments.api.pagination import PageQuery, parse_cursor
from foreseal.payments.api.request_models import NoFields, RequestModel
from foreseal.payments.api.responses import BalanceView, UnmatchedTransferPage, UnmatchedTransferView
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import JsonReply, PlainCall, QueryCall, Route, RouteCall, StreamedReply
from foreseal.payments.api.value_types import LARGEST_ID, Digits, Selected, limited_text
from foreseal.payments.chain.confirmation_policy import HIGHEST_TIER
from foreseal.payments.ledger import (
    DisbursementState,
    DuplicateRecord,
    Finality,
    StatusStep,
    Trigger,
    UnknownRecord,
    ensure,
)
from foreseal.payments.ledger.models import (
    PayoutLegRecord,
    PayoutRecord,
    Reason,
    RefundRecord,
    TimelineRecord,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import ColumnValues, fetch_each, fetch_one, fetch_triples
from foreseal.payments.transfers.balance import balance
from foreseal.payments.validation import Bytes32

HEADS = (
    "kind",
    "transaction_hash",
    "log_index",
    "block_number",
    "order_id",
    "id",
    "account",
    "amount",
    "amount_shown",
    "finality",
    "reason",
)
"""Columns of the export."""

_ROWS = 500
# Timeline triggers whose details contain the log position of a transfer.
_LANDED = (Trigger.LANDED, Trigger.CONFIRM, Trigger.DEMOTE, Trigger.FINALIZE)
_SAME = and_(
    UnmatchedTransferRecord.chain_id == TransferRecord.chain_id,
    UnmatchedTransferRecord.transaction_hash == TransferRecord.transaction_hash,
    UnmatchedTransferRecord.position == TransferRecord.position,
)
_RESOLVED_BY = and_(
    ResolutionRecord.chain_id == TransferRecord.chain_id,
    ResolutionRecord.transaction_hash == TransferRecord.transaction_hash,
    ResolutionRecord.position == TransferRecord.position,
)


class TransferPath(RequestModel):
    """Path of a transfer."""

    transaction: Bytes32 = Field(description="Hash of the transaction.")
    position: Annotated[int, Field(ge=0, le=LARGEST_ID), Digits] = Field(
        description="Position of the Transfer among the logs of the transaction."
    )


class NewResolution(RequestModel):
    """Resolution of an unmatched transfer."""

    note: Annotated[str, limited_text(2_000)] = Field(description="Resolution to record.")


class UnmatchedTransfersQuery(PageQuery):
    """Filters of unmatched transfers."""

    reason: Selected[Reason] | None = Field(default=None, description="Filter by reason.")
    resolved: Literal["true", "false"] | None = Field(
        default=None, description="Filter by presence of a recorded resolution."
    )


def _select_unmatched(*conditions: ColumnElement[bool]) -> "Select[TransferRecord, Reason, str | None]":
    columns = (UnmatchedTransferRecord.reason, UnmatchedTransferRecord.order_id.label("intended_order"))
    return select(TransferRecord, *columns).join(UnmatchedTransferRecord, _SAME).where(*conditions)


def _fetch_unmatched(
    tx: Connection, query: "Select[TransferRecord, Reason, str | None]"
) -> list[views.UnmatchedTransfer]:
    return [views.UnmatchedTransfer(*found) for found in fetch_triples(tx, query)]


def _list_unmatched_transfers(call: QueryCall[UnmatchedTransfersQuery]) -> JsonReply:
    parameters = call.query
    limit, conditions = parameters.limit, []
    if parameters.reason is not None:
        conditions.append(UnmatchedTransferRecord.reason == parameters.reason)
    if parameters.resolved is not None:
        done = select(ResolutionRecord.position).where(_RESOLVED_BY)
        conditions.append(done.exists() if parameters.resolved == "true" else ~done.exists())
    order = (TransferRecord.block_number, TransferRecord.log_index)
    before = parse_cursor(parameters.cursor, HIGHEST_TIER, LARGEST_ID)
    if before is not None:
        conditions.append(tuple_(*order) < before)
    query = _select_unmatched(*conditions).order_by(*(column.desc() for column in order)).limit(limit + 1)
    with call.backend.database.reading() as tx:
        rows = _fetch_unmatched(tx, query)
        page = rows[:limit]
        last = page[-1].transfer if len(rows) > limit else None
        following = None if last is None else f"{last.block_number}-{last.log_index}"
        return JsonReply({"items": call.views.unmatched(tx, page), "next": following})


def _resolve(call: RouteCall[TransferPath, NoFields, NewResolution]) -> JsonReply:
    assert call.key is not None
    chain_id, position = call.backend.merchant.domain.chain_id, call.path.position
    hash, note, caller = "0x" + call.path.transaction.hex(), call.body.note, call.key.id
    query = _select_unmatched(
        TransferRecord.chain_id == chain_id,
        TransferRecord.transaction_hash == hash,
        TransferRecord.position == position,
    )
    values: ColumnValues = {
        ResolutionRecord.chain_id: chain_id,
        ResolutionRecord.transaction_hash: hash,
        ResolutionRecord.position: position,
        ResolutionRecord.note: note,
        ResolutionRecord.resolved_by: caller,
        ResolutionRecord.time: int(call.backend.clock()),
    }
    with call.backend.database.transaction() as tx:
        found = _fetch_unmatched(tx, query)
        if not found:
            raise UnknownRecord(f"unmatched transfers: no transfer {position} of {hash}")
        if not ensure(tx, ResolutionRecord, values):
            same = and_(
                ResolutionRecord.chain_id == chain_id,
                ResolutionRecord.transaction_hash == hash,
                ResolutionRecord.position == position,
            )
            before = fetch_one(tx, select(ResolutionRecord).where(same))
            # An earlier execution of this request may have inserted it before a crash.
            if not (call.required_claim.again and (before.note, before.resolved_by) == (note, caller)):
                raise DuplicateRecord(f"unmatched transfers: {hash} is already resolved")
        return JsonReply(call.views.unmatched(tx, found)[0], 201)


def _balance(call: PlainCall) -> JsonReply:
    with call.backend.database.reading() as tx:
        found = balance(tx)
    names = ("received", "captured", "unmatched", "refunded", "reserved")
    return JsonReply(
        {name: str(getattr(found, name)) for name in names} | {"faults": [asdict(fault) for fault in found.faults]}
    )


def _export(call: PlainCall) -> StreamedReply:
    return StreamedReply(_lines(call), "text/csv", "payments.csv")


def _lines(call: PlainCall) -> Iterator[str]:
    """Yield the export as CSV from one snapshot of the database."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADS)
    decimals = call.backend.token.decimals
    with call.backend.database.reading() as tx:
        for number, row in enumerate(_rows(tx), 1):
            amount = row["amount"]
            shown = row | {"amount": str(amount), "amount_shown": f"{to_tokens(amount, decimals):f}"}
            writer.writerow([_safe(str(shown.get(head, ""))) for head in HEADS])
            if number % _ROWS == 0:
                yield _emptied(text)
    yield _emptied(text)


def _rows(tx: Connection) -> Iterator[dict[str, Any]]:
    """Yield captured and unmatched transfers in chain order, then completed refunds and payouts."""
    columns = (UnmatchedTransferRecord.reason, UnmatchedTransferRecord.order_id.label("intended_order"))
    everything = select(TransferRecord, *columns).outerjoin(UnmatchedTransferRecord, _SAME)
    in_chain_order = everything.order_by(TransferRecord.block_number, TransferRecord.log_index)
    for transfer, reason, intended_order in fetch_triples(tx, in_chain_order):
        yield {
            "kind": "captured" if transfer.order_id is not None else "unmatched",
            "transaction_hash": transfer.transaction_hash,
            "log_index": transfer.log_index,
            "block_number": transfer.block_number,
            "order_id": transfer.order_id or intended_order or "",
            "account": transfer.sender,
            "amount": transfer.amount,
            "finality": _finality(transfer.step),
            "reason": reason or "",
        }
    yield from _sent(tx)


def _sent(tx: Connection) -> Iterator[dict[str, Any]]:
    """Yield the transfers of refunds and payouts, at the positions in their latest receipts."""
    subjects = (RefundRecord.__tablename__, PayoutRecord.__tablename__)
    landed = TimelineRecord.subject.in_(subjects) & TimelineRecord.trigger.in_(_LANDED)
    landings: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in fetch_each(tx, select(TimelineRecord).where(landed).order_by(TimelineRecord.id)):
        landings[entry.subject, entry.subject_id] = json.loads(entry.details)
    paid = DisbursementState.COMPLETE
    for refund in fetch_each(tx, select(RefundRecord).where(RefundRecord.state == paid).order_by(RefundRecord.id)):
        landing = landings[RefundRecord.__tablename__, refund.id]
        leg = _Leg(refund.id, refund.step, 0, refund.recipient, refund.amount)
        yield _sent_line("refunded", landing, leg) | {"order_id": refund.order_id}
    legs = (
        select(
            PayoutRecord.id,
            PayoutRecord.step,
            PayoutLegRecord.position,
            PayoutLegRecord.recipient,
            PayoutLegRecord.amount,
        )
        .join(PayoutLegRecord, PayoutLegRecord.payout_id == PayoutRecord.id)
        .where(PayoutRecord.state == paid)
        .order_by(PayoutRecord.id, PayoutLegRecord.position)
    )
    for columns in tx.execute(legs):
        leg = _Leg(*columns)
        yield _sent_line("paid_out", landings[PayoutRecord.__tablename__, leg.id], leg)


class _Leg(NamedTuple):
    """One recipient of a refund or a payout."""

    id: str
    step: StatusStep
    position: int
    recipient: str
    amount: int


def _sent_line(kind: str, landing: dict[str, Any], leg: _Leg) -> dict[str, Any]:
    return {
        "kind": kind,
        "transaction_hash": landing["transaction"],
        "log_index": landing["log_index"][leg.position],
        "id": leg.id,
        "account": leg.recipient,
        "amount": leg.amount,
        "finality": _finality(leg.step),
    }


def _finality(step: StatusStep) -> str:
    return "final" if step is Finality.FINAL else "provisional"


def _safe(text: str) -> str:
    """Escape text that a spreadsheet would read as a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _emptied(text: io.StringIO) -> str:
    chunk = text.getvalue()
    text.seek(0)
    text.truncate()
    return chunk


ROUTES = (
    Route(
        "GET",
        "/v1/unmatched-transfers",
        "List unmatched transfers to the merchant, newest first",
        _list_unmatched_transfers,
        {200: UnmatchedTransferPage},
    ),
    Route(
        "POST",
        "/v1/unmatched-transfers/{transaction}/{position}/resolution",
        "Record how an unmatched transfer was resolved",
        _resolve,
        {201: UnmatchedTransferView},
        Role.ADMIN,
    ),
    Route("GET", "/v1/balance", "Return sums and contradictions of the ledger", _balance, {200: BalanceView}),
    Route(
        "GET",
        "/v1/export.csv",
        "Export captured, unmatched, refunded and paid out transfers as CSV",
        _export,
        {200: "text/csv"},
    ),
)
