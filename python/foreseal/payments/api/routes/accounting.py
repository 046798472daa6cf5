"""The books: unmatched transfers, the export, and the balance check."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, insert, select, tuple_
from sqlalchemy.exc import IntegrityError

from foreseal.payments.amounts import to_tokens
from foreseal.payments.api.fields import BYTES32, Field, choice_field, integer_field, short_text_field
from foreseal.payments.api.pagination import LARGEST_ID, PAGE_FIELDS, limited, parse_cursor
from foreseal.payments.api.route import JsonReply, Route, RouteCall, StreamedReply
from foreseal.payments.api.tables import Role, resolutions
from foreseal.payments.chain.confirmation_policy import HIGHEST_TIER
from foreseal.payments.ledger import DisbursementState, DuplicateRecord, Finality, Trigger, UnknownRecord
from foreseal.payments.ledger.tables import (
    Reason,
    payout_legs,
    payouts,
    refunds,
    timeline,
    transfers,
    unmatched_transfers,
)
from foreseal.payments.transfers.balance import balance

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
_KEY = ("chain_id", "transaction_hash", "position")
_SAME = and_(*(unmatched_transfers.c[name] == transfers.c[name] for name in _KEY))
_NAMES = (unmatched_transfers.c.reason, unmatched_transfers.c.order_id.label("intended_order"))
_TRANSFER_KEY = (
    Field("transaction", BYTES32, "Hash of the transaction.", required=True),
    Field(
        "position",
        integer_field(0, LARGEST_ID),
        "Position of the Transfer among the logs of the transaction.",
        required=True,
    ),
)


def _select_unmatched(*conditions: Any) -> Select[Any]:
    return select(transfers, *_NAMES).join(unmatched_transfers, _SAME).where(*conditions)


def _list_unmatched_transfers(call: RouteCall) -> JsonReply:
    parameters = call.query
    limit, conditions = limited(parameters), []
    if parameters["reason"] is not None:
        conditions.append(unmatched_transfers.c.reason == Reason(parameters["reason"]))
    if parameters["resolved"] is not None:
        done = select(resolutions.c.position).where(
            *(resolutions.c[name] == transfers.c[name] for name in ("chain_id", "transaction_hash", "position"))
        )
        conditions.append(done.exists() if parameters["resolved"] == "true" else ~done.exists())
    order = (transfers.c.block_number, transfers.c.log_index)
    before = parse_cursor(parameters["cursor"], HIGHEST_TIER, LARGEST_ID)
    if before is not None:
        conditions.append(tuple_(*order) < before)
    query = _select_unmatched(*conditions).order_by(*(column.desc() for column in order)).limit(limit + 1)
    with call.backend.database.reading() as tx:
        rows = list(tx.execute(query))
        page = rows[:limit]
        following = f"{page[-1].block_number}-{page[-1].log_index}" if len(rows) > limit else None
        return JsonReply({"items": call.views.unmatched(tx, page), "next": following})


def _resolve(call: RouteCall) -> JsonReply:
    assert call.key is not None
    key = {
        "chain_id": call.backend.merchant.domain.chain_id,
        "transaction_hash": "0x" + call.path["transaction"].hex(),
        "position": call.path["position"],
    }
    query = _select_unmatched(*(transfers.c[name] == value for name, value in key.items()))
    resolution = {"note": call.body["note"], "resolved_by": call.key.id}
    with call.backend.database.transaction() as tx:
        row = tx.execute(query).one_or_none()
        if row is None:
            raise UnknownRecord(f"unmatched transfers: no transfer {key['position']} of {key['transaction_hash']}")
        try:
            with tx.begin_nested():
                tx.execute(insert(resolutions).values(**key, **resolution, time=int(call.backend.clock())))
        except IntegrityError as error:
            before = tx.execute(select(resolutions).filter_by(**key)).one()
            # An earlier execution of this request may have inserted it before a crash.
            if not (
                call.required_claim.again
                and (before.note, before.resolved_by) == (resolution["note"], resolution["resolved_by"])
            ):
                raise DuplicateRecord(f"unmatched transfers: {key['transaction_hash']} is already resolved") from error
        return JsonReply(call.views.unmatched(tx, [row])[0], 201)


def _balance(call: RouteCall) -> JsonReply:
    with call.backend.database.reading() as tx:
        found = balance(tx)
    names = ("received", "captured", "unmatched", "refunded", "reserved")
    return JsonReply(
        {name: str(getattr(found, name)) for name in names} | {"faults": [asdict(fault) for fault in found.faults]}
    )


def _export(call: RouteCall) -> StreamedReply:
    return StreamedReply(_lines(call), "text/csv", "payments.csv")


def _lines(call: RouteCall) -> Iterator[str]:
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
    everything = select(transfers, *_NAMES).outerjoin(unmatched_transfers, _SAME)
    for row in tx.execute(everything.order_by(transfers.c.block_number, transfers.c.log_index)):
        yield {
            "kind": "captured" if row.order_id is not None else "unmatched",
            "transaction_hash": row.transaction_hash,
            "log_index": row.log_index,
            "block_number": row.block_number,
            "order_id": row.order_id or row.intended_order or "",
            "account": row.sender,
            "amount": row.amount,
            "finality": _finality(row),
            "reason": row.reason or "",
        }
    yield from _sent(tx)


def _sent(tx: Connection) -> Iterator[dict[str, Any]]:
    """Yield the transfers of refunds and payouts, at the positions in their latest receipts."""
    landed = timeline.c.subject.in_((refunds.name, payouts.name)) & timeline.c.trigger.in_(_LANDED)
    landings: dict[tuple[str, str], dict[str, Any]] = {}
    for row in tx.execute(select(timeline).where(landed).order_by(timeline.c.id)):
        landings[row.subject, row.subject_id] = json.loads(row.details)
    paid = DisbursementState.COMPLETE
    for row in tx.execute(select(refunds).where(refunds.c.state == paid).order_by(refunds.c.id)):
        landing = landings[refunds.name, row.id]
        yield _leg("refunded", landing, 0, row) | {"order_id": row.order_id}
    legs = select(payouts, payout_legs).join(payout_legs, payout_legs.c.payout_id == payouts.c.id)
    order = (payouts.c.id, payout_legs.c.position)
    for row in tx.execute(legs.where(payouts.c.state == paid).order_by(*order)):
        yield _leg("paid_out", landings[payouts.name, row.id], row.position, row)


def _leg(kind: str, position: dict[str, Any], number: int, row: Row[Any]) -> dict[str, Any]:
    return {
        "kind": kind,
        "transaction_hash": position["transaction"],
        "log_index": position["log_index"][number],
        "id": row.id,
        "account": row.recipient,
        "amount": row.amount,
        "finality": _finality(row),
    }


def _finality(row: Row[Any]) -> str:
    return "final" if row.step is Finality.FINAL else "provisional"


def _safe(text: str) -> str:
    """Escape text that a spreadsheet would read as a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _emptied(text: io.StringIO) -> str:
    chunk = text.getvalue()
    text.seek(0)
    text.truncate()
    return chunk


_REASON = Field("reason", choice_field([reason.value for reason in Reason]), "Filter by reason.")
_RESOLVED = Field("resolved", choice_field(["true", "false"]), "Filter by presence of a recorded resolution.")

ROUTES = (
    Route(
        "GET",
        "/v1/unmatched-transfers",
        "List unmatched transfers to the merchant, newest first",
        _list_unmatched_transfers,
        {200: "UnmatchedTransferPage"},
        query=(_REASON, _RESOLVED, *PAGE_FIELDS),
    ),
    Route(
        "POST",
        "/v1/unmatched-transfers/{transaction}/{position}/resolution",
        "Record how an unmatched transfer was resolved",
        _resolve,
        {201: "UnmatchedTransfer"},
        Role.ADMIN,
        path_fields=_TRANSFER_KEY,
        body=(Field("note", short_text_field(2_000), "Resolution to record.", required=True),),
    ),
    Route("GET", "/v1/balance", "Return sums and contradictions of the ledger", _balance, {200: "Balance"}),
    Route(
        "GET",
        "/v1/export.csv",
        "Export captured, unmatched, refunded and paid out transfers as CSV",
        _export,
        {200: "text/csv"},
    ),
)
