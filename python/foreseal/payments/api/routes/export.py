"""The export: all transfers of the books, as CSV or as JSON Lines."""

import csv
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Annotated, Any, NamedTuple

import orjson
from pydantic import Field
from sqlalchemy import ColumnElement, Connection, select
from typing_extensions import TypedDict

from foreseal.payments.amounts import to_tokens
from foreseal.payments.api.request_models import RequestModel
from foreseal.payments.api.route import AnyCall, QueryCall, Route, StreamedReply
from foreseal.payments.api.routes.accounting import SAME_TRANSFER
from foreseal.payments.api.value_types import Digits, Time
from foreseal.payments.chain.block_times import first_block_at
from foreseal.payments.disbursements.payouts import read_payees
from foreseal.payments.disbursements.refunds import refund_receivers
from foreseal.payments.ledger import DisbursementState, Finality, StatusStep, Trigger
from foreseal.payments.ledger.models import (
    PayoutLegRecord,
    PayoutRecord,
    RefundRecord,
    TimelineRecord,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import fetch_all, fetch_each, fetch_triples

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
    "destination",
    "token",
    "payee",
)
"""Columns of the export."""

# Maximum bytes of an export in memory; a larger one is in a temporary file.
_MAX_MEMORY = 1024 * 1024
# Characters of a chunk of the response.
_CHUNK_SIZE = 64 * 1024
_SENT = ("refunded", "paid_out")
# Timeline triggers whose details contain the log position of a transfer.
_LANDED = (Trigger.LANDED, Trigger.CONFIRM, Trigger.DEMOTE, Trigger.FINALIZE)


class ExportQuery(RequestModel):
    """Range of block times of an export."""

    block_time_from: Annotated[Time, Digits] | None = Field(
        default=None, description="Only transfers in blocks at or after this Unix time in seconds."
    )
    block_time_before: Annotated[Time, Digits] | None = Field(
        default=None, description="Only transfers in blocks before this Unix time in seconds."
    )


ExportWriter = Callable[[Iterator[dict[str, str]], IO[str]], None]
"""Writer of rows, with all columns, to a file."""


def _export_csv(call: QueryCall[ExportQuery]) -> StreamedReply:
    # The node is read before the response begins, so that its errors have a status.
    return StreamedReply(_lines(call, _block_range(call), _write_csv), "text/csv", "payments.csv")


def _export_json(call: QueryCall[ExportQuery]) -> StreamedReply:
    return StreamedReply(_lines(call, _block_range(call), _write_json), "application/x-ndjson", "payments.jsonl")


def _write_csv(rows: Iterator[dict[str, str]], file: IO[str]) -> None:
    writer = csv.writer(file)
    writer.writerow(HEADS)
    for row in rows:
        writer.writerow([_safe(row[head]) for head in HEADS])


def _write_json(rows: Iterator[dict[str, str]], file: IO[str]) -> None:
    for row in rows:
        file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE).decode())


class _Landing(TypedDict):
    """Position of a sent transaction on the chain, as its timeline has it."""

    transaction: str
    block_number: int
    log_index: list[int]


@dataclass(frozen=True, slots=True)
class _BlockRange:
    """Blocks of an export; None is unlimited."""

    first: int | None = None
    end: int | None = None
    """Exclusive."""

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on received transfers."""
        conditions: list[ColumnElement[bool]] = []
        if self.first is not None:
            conditions.append(TransferRecord.block_number >= self.first)
        if self.end is not None:
            conditions.append(TransferRecord.block_number < self.end)
        return conditions

    def has(self, landing: _Landing) -> bool:
        """Return True if the range contains a sent transfer."""
        number = landing["block_number"]
        return (self.first is None or self.first <= number) and (self.end is None or number < self.end)


def _block_range(call: QueryCall[ExportQuery]) -> _BlockRange:
    times = (call.query.block_time_from, call.query.block_time_before)
    if times == (None, None):
        return _BlockRange()
    node, lowest = call.backend.node, min(each.watcher_settings.start for each in call.backend.destinations)
    first, end = (None if time is None else first_block_at(node, time, lowest) for time in times)
    return _BlockRange(first, end)


def _lines(call: AnyCall, blocks: _BlockRange, write: ExportWriter) -> Iterator[str]:
    """Yield the export from one snapshot of the database.

    The export is complete before its first chunk: a slow client must not occupy one of the few database connections.
    """
    with tempfile.SpooledTemporaryFile(_MAX_MEMORY, "w+", encoding="utf-8", newline="") as file:
        write(_shown_rows(call, blocks), file)
        file.seek(0)
        while chunk := file.read(_CHUNK_SIZE):
            yield chunk


def _shown_rows(call: AnyCall, blocks: _BlockRange) -> Iterator[dict[str, str]]:
    """Yield all rows as texts by column."""
    labels = call.backend.destinations.labels
    with call.backend.database.reading() as tx:
        for row in _rows(tx, blocks):
            amount, token = row["amount"], labels.token(row["token"])
            shown = row | {"amount": str(amount)}
            if token is not None:
                shown["amount_shown"] = f"{to_tokens(amount, token.decimals):f}"
            label = labels.find(row["token"], row["payee"])
            if label is not None:
                shown["destination"] = label.name
                # The batch capture contract only receives: the payee itself sends refunds.
                shown["payee"] = label.payee if row["kind"] in _SENT else row["payee"]
            yield {head: str(shown.get(head, "")) for head in HEADS}


def _rows(tx: Connection, blocks: _BlockRange) -> Iterator[dict[str, Any]]:
    """Yield transfers to the merchant in chain order, then completed refunds and payouts."""
    columns = (UnmatchedTransferRecord.reason, UnmatchedTransferRecord.order_id.label("intended_order"))
    joined = select(TransferRecord, *columns).outerjoin(UnmatchedTransferRecord, SAME_TRANSFER)
    everything = joined.where(*blocks.conditions())
    in_chain_order = everything.order_by(TransferRecord.block_number, TransferRecord.log_index)
    for transfer, reason, intended_order in fetch_triples(tx, in_chain_order):
        yield {
            "kind": _kind(transfer),
            "transaction_hash": transfer.transaction_hash,
            "log_index": transfer.log_index,
            "block_number": transfer.block_number,
            "order_id": transfer.order_id or intended_order or "",
            "account": transfer.sender,
            "amount": transfer.amount,
            "finality": _finality(transfer.step),
            "reason": reason or "",
            "token": transfer.token,
            "payee": transfer.recipient,
        }
    yield from _sent(tx, blocks)


def _kind(transfer: TransferRecord) -> str:
    if transfer.grant_id is not None:
        return "granted"
    return "unmatched" if transfer.order_id is None else "captured"


def _landings(tx: Connection) -> dict[tuple[str, str], _Landing]:
    """Return the latest recorded position on the chain of each refund and payout."""
    subjects = (RefundRecord.__tablename__, PayoutRecord.__tablename__)
    landed = TimelineRecord.subject.in_(subjects) & TimelineRecord.trigger.in_(_LANDED)
    landings: dict[tuple[str, str], _Landing] = {}
    for entry in fetch_each(tx, select(TimelineRecord).where(landed).order_by(TimelineRecord.id)):
        landings[entry.subject, entry.subject_id] = json.loads(entry.details)
    return landings


def _sent(tx: Connection, blocks: _BlockRange) -> Iterator[dict[str, object]]:
    """Yield the transfers of refunds and payouts, at the positions in their latest receipts."""
    landings = _landings(tx)
    paid = DisbursementState.COMPLETE
    refunds = fetch_all(tx, select(RefundRecord).where(RefundRecord.state == paid).order_by(RefundRecord.id))
    receivers = refund_receivers(tx, [refund.id for refund in refunds])
    for refund in refunds:
        landing = landings[RefundRecord.__tablename__, refund.id]
        if not blocks.has(landing):
            continue
        leg = _Leg(refund.id, refund.step, 0, refund.recipient, refund.amount, refund.token)
        origin = {"order_id": refund.order_id or "", "payee": receivers[refund.id]}
        yield _sent_line("refunded", landing, leg) | origin
    legs = (
        select(
            PayoutRecord.id,
            PayoutRecord.step,
            PayoutLegRecord.position,
            PayoutLegRecord.recipient,
            PayoutLegRecord.amount,
            PayoutRecord.token,
        )
        .join(PayoutLegRecord, PayoutLegRecord.payout_id == PayoutRecord.id)
        .where(PayoutRecord.state == paid)
        .order_by(PayoutRecord.id, PayoutLegRecord.position)
    )
    payees = read_payees(tx, list(tx.execute(select(PayoutRecord.id).where(PayoutRecord.state == paid)).scalars()))
    for columns in tx.execute(legs):
        leg = _Leg(*columns)
        landing = landings[PayoutRecord.__tablename__, leg.id]
        if blocks.has(landing):
            yield _sent_line("paid_out", landing, leg) | {"payee": payees[leg.id]}


class _Leg(NamedTuple):
    """One recipient of a refund or a payout."""

    id: str
    step: StatusStep
    position: int
    recipient: str
    amount: int
    token: str


def _sent_line(kind: str, landing: _Landing, leg: _Leg) -> dict[str, Any]:
    return {
        "kind": kind,
        "transaction_hash": landing["transaction"],
        "log_index": landing["log_index"][leg.position],
        "block_number": landing["block_number"],
        "id": leg.id,
        "account": leg.recipient,
        "amount": leg.amount,
        "finality": _finality(leg.step),
        "token": leg.token,
    }


def _finality(step: StatusStep) -> str:
    return "final" if step is Finality.FINAL else "provisional"


def _safe(text: str) -> str:
    """Escape text that a spreadsheet would read as a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


ROUTES = (
    Route(
        "GET",
        "/v1/export.csv",
        "Export captured, granted, unmatched, refunded and paid out transfers as CSV",
        _export_csv,
        {200: "text/csv"},
    ),
    Route(
        "GET",
        "/v1/export.jsonl",
        "Export the rows of the CSV, each as one line of JSON",
        _export_json,
        {200: "application/x-ndjson"},
    ),
)
