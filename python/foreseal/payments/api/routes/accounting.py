"""The books: unmatched transfers and the balance check."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal, cast

from pydantic import Field
from sqlalchemy import ColumnElement, Connection, Select, and_, insert, select, tuple_

from foreseal.payments.api import views
from foreseal.payments.api.pagination import PageQuery, parse_cursor
from foreseal.payments.api.request_models import NoFields, RequestModel
from foreseal.payments.api.responses import (
    BalanceView,
    DestinationBalance,
    UnmatchedTransferPage,
    UnmatchedTransferView,
)
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import AnyCall, JsonReply, PlainCall, QueryCall, Route, RouteCall
from foreseal.payments.api.value_types import LARGEST_ID, Digits, Selected, limited_text
from foreseal.payments.chain.confirmation_policy import HIGHEST_TIER
from foreseal.payments.ledger import DuplicateRecord, UnknownRecord
from foreseal.payments.ledger.models import (
    Reason,
    ResolutionRecord,
    TransferEnd,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import ColumnValues, fetch_one_or_none, fetch_triples
from foreseal.payments.transfers.balance import SUM_NAMES, Balance, Receiver, balance
from foreseal.payments.transfers.transfer_ends import end_transfer
from foreseal.payments.validation import Bytes32

SAME_TRANSFER = and_(
    UnmatchedTransferRecord.chain_id == TransferRecord.chain_id,
    UnmatchedTransferRecord.transaction_hash == TransferRecord.transaction_hash,
    UnmatchedTransferRecord.position == TransferRecord.position,
)
"""Condition that an unmatched transfer is a transfer."""

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
    return select(TransferRecord, *columns).join(UnmatchedTransferRecord, SAME_TRANSFER).where(*conditions)


def _fetch_unmatched(
    tx: Connection, query: "Select[TransferRecord, Reason, str | None]"
) -> list[views.UnmatchedTransfer]:
    return [views.UnmatchedTransfer(*triple) for triple in fetch_triples(tx, query)]


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
    chain_id, position = call.backend.chain_id, call.path.position
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
        # Locked, so that no signature makes it the payment of its order meanwhile.
        unmatched = _fetch_unmatched(tx, query.with_for_update(of=TransferRecord))
        if not unmatched:
            raise UnknownRecord(f"unmatched transfers: no transfer {position} of {hash}")
        if end_transfer(tx, chain_id, (hash, position), TransferEnd.RESOLVED):
            tx.execute(insert(ResolutionRecord).values(values))
        else:
            same = and_(
                ResolutionRecord.chain_id == chain_id,
                ResolutionRecord.transaction_hash == hash,
                ResolutionRecord.position == position,
            )
            before = fetch_one_or_none(tx, select(ResolutionRecord).where(same))
            # An earlier execution of this request may have inserted it before a crash.
            repeated = before is not None and (before.note, before.resolved_by) == (note, caller)
            if not (call.required_claim.again and repeated):
                raise DuplicateRecord(f"unmatched transfers: {hash} is already resolved")
        return JsonReply(call.views.unmatched(tx, unmatched)[0], 201)


def _balance(call: PlainCall) -> JsonReply:
    with call.backend.database.reading() as tx:
        ledger_balance = balance(tx)
    rest = dict.fromkeys(ledger_balance.sums)
    items = []
    for destination in call.backend.destinations:
        token = destination.merchant.domain.contract
        receivers = [Receiver(token, account) for account in destination.merchant.receivers]
        items.append(_sums(call, receivers, ledger_balance))
        for each in receivers:
            rest.pop(each, None)
    items += [_sums(call, [each], ledger_balance) for each in rest]
    return JsonReply({"destinations": items, "faults": [asdict(fault) for fault in ledger_balance.faults]})


def _sums(call: AnyCall, receivers: Sequence[Receiver], ledger_balance: Balance) -> DestinationBalance:
    """Return the sums of receivers that belong to one destination, or to none that is configured."""
    arrival = call.views.arrival(*receivers[0])
    sums = ledger_balance.total(*receivers)
    values = {name: str(getattr(sums, name)) for name in SUM_NAMES}
    place = {name: arrival[name] for name in ("destination", "token", "symbol")}
    return cast(DestinationBalance, place | {"payees": [each.account for each in receivers if each.account]} | values)


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
)
