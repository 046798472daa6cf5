"""Rows of a ledger after an attacker sent many small transfers that refer to one order."""

from sqlalchemy import Connection, select

from foreseal.payments.ledger import Finality
from foreseal.payments.ledger.models import (
    OrderRecord,
    Reason,
    TimelineRecord,
    TransferRecord,
    UnmatchedTransferRecord,
)
from foreseal.payments.ledger.queries import ColumnValues, fetch_one, insert_all


def insert_dust(tx: Connection, order_id: str, count: int, amount: int = 1, first: int = 0) -> None:
    """Insert this many recorded transfers with the memo of an order, as the watcher records them.

    `first` is the number of earlier ones.
    """
    order = fetch_one(tx, select(OrderRecord).where(OrderRecord.id == order_id))
    keys: list[ColumnValues] = [
        {
            TransferRecord.chain_id: order.chain_id,
            TransferRecord.transaction_hash: f"0x{number:064x}",
            TransferRecord.position: 0,
        }
        for number in range(first, first + count)
    ]
    transfer: ColumnValues = {
        TransferRecord.block_hash: "0x" + "ab" * 32,
        TransferRecord.block_number: 1,
        TransferRecord.token: order.token,
        TransferRecord.sender: "0x" + "11" * 20,
        TransferRecord.recipient: order.payee,
        TransferRecord.amount: amount,
        TransferRecord.nonce: None,
        TransferRecord.memo: order.memo,
        TransferRecord.checkout: None,
        TransferRecord.step: Finality.FINAL,
        TransferRecord.order_id: None,
        TransferRecord.grant_id: None,
    }
    insert_all(tx, TransferRecord, [{**key, **transfer, TransferRecord.log_index: at} for at, key in enumerate(keys)])
    unmatched: ColumnValues = {
        UnmatchedTransferRecord.reason: Reason.UNDERPAID,
        UnmatchedTransferRecord.order_id: order_id,
    }
    insert_all(tx, UnmatchedTransferRecord, [{**key, **unmatched} for key in keys])
    status = f"{order.state} ({order.step})"
    entry: ColumnValues = {
        TimelineRecord.subject: OrderRecord.__tablename__,
        TimelineRecord.subject_id: order_id,
        TimelineRecord.time: 1,
        TimelineRecord.trigger: "transfer unmatched",
        TimelineRecord.before: status,
        TimelineRecord.after: status,
        TimelineRecord.details: '{"amount": "1", "reason": "underpaid"}',
        TimelineRecord.fanned_out: True,
    }
    insert_all(tx, TimelineRecord, [entry] * count)
