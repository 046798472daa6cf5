"""Transactions of an account that no final block includes, by account nonce: each waits for all before it."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from foreseal.payments.ledger.models import AttemptRecord, Purpose, TransactionRecord
from foreseal.payments.ledger.queries import fetch_all


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction whose outcome is open."""

    intent: int
    account_nonce: int
    purpose: Purpose
    subject: str
    """Id of the row that it serves."""
    rejection: str | None
    """The node's last rejection; None if it accepted the transaction, or was not asked yet."""
    rejected_since: int | None
    """Block since which the node rejects it."""
    is_empty: bool
    """True if an empty transfer is its newest attempt."""


@dataclass(frozen=True, slots=True)
class WaitingTransaction:
    """The first transaction of an account that no block includes. All later ones wait for it."""

    account_nonce: int
    purpose: Purpose
    subject: str
    """Id of the row that it serves."""
    rejection: str | None
    """The node's last rejection."""
    since_block: int
    """Block in which it was to be included first."""


def first_waiting(tx: Connection, chain_id: int, sender: str, next_nonce: int) -> WaitingTransaction | None:
    """Return the first open transaction of an account that no block includes.

    `next_nonce` is the account nonce after those that blocks include.
    """
    query = (
        select(TransactionRecord, AttemptRecord.since_block)
        .join(AttemptRecord, AttemptRecord.transaction_id == TransactionRecord.id)
        .where(AttemptRecord.ordinal == 0, TransactionRecord.ending.is_(None))
        .where(TransactionRecord.chain_id == chain_id, TransactionRecord.sender == sender)
        .where(TransactionRecord.account_nonce >= next_nonce)
        .order_by(TransactionRecord.account_nonce)
    )
    row = tx.execute(query.limit(1)).first()
    if row is None:
        return None
    return WaitingTransaction(row.account_nonce, row.purpose, row.subject, row.rejection, row.since_block)


def open_transactions(tx: Connection, chain_id: int, sender: str) -> list[OpenTransaction]:
    """Return the open transactions of an account, by account nonce."""
    mine = (TransactionRecord.chain_id == chain_id) & (TransactionRecord.sender == sender)
    query = select(TransactionRecord).where(mine, TransactionRecord.ending.is_(None))
    rows = fetch_all(tx, query.order_by(TransactionRecord.account_nonce))
    empty = select(AttemptRecord.transaction_id).join(TransactionRecord)
    empty = empty.where(mine, TransactionRecord.ending.is_(None), AttemptRecord.is_empty)
    ended = set(tx.execute(empty).scalars())
    return [
        OpenTransaction(
            row.id, row.account_nonce, row.purpose, row.subject, row.rejection, row.rejected_since, row.id in ended
        )
        for row in rows
    ]
