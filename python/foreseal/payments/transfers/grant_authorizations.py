"""Authorizations of x402 grants: entered with a grant, before its response is produced, and deleted with its release.

The key of an authorization is unique, so it pays one sale. Everything here is part of the database transaction that
changes the grant.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, select, update

from foreseal.payments.ledger import Ledger, LedgerError, ensure, locked
from foreseal.payments.ledger.models import AuthorizationRecord, OrderRecord, TransferEnd, TransferRecord
from foreseal.payments.ledger.queries import ColumnValues, fetch_all, fetch_one, fetch_one_or_none
from foreseal.payments.transfers.granted_transfers import lock_payers
from foreseal.payments.transfers.matching import match_again
from foreseal.payments.transfers.observed_transfer import is_transfer
from foreseal.payments.transfers.referenced_orders import ENDED
from foreseal.payments.transfers.transfer_ends import find_end, reopen_transfer


class AuthorizationTaken(LedgerError):
    """The authorization pays an order, or its transfer ended otherwise. `reason` is a code for the payer."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class GrantedAuthorization:
    """Authorization of a grant: the key by which its contract accepts it once, and the terms of its transfer."""

    grant_id: str
    chain_id: int
    contract: str
    payer: str
    nonce: bytes
    """32 bytes."""
    payee: str | None
    """None if the money goes into payment channels."""
    amount: int | None
    """Amount of the transfer in smallest units; None if it is decided later."""

    def values(self) -> ColumnValues:
        """Return the columns of its row."""
        return {
            AuthorizationRecord.chain_id: self.chain_id,
            AuthorizationRecord.contract: self.contract,
            AuthorizationRecord.payer: self.payer,
            AuthorizationRecord.nonce: self.nonce,
            AuthorizationRecord.order_id: None,
            AuthorizationRecord.grant_id: self.grant_id,
            AuthorizationRecord.payee: self.payee,
            AuthorizationRecord.amount: self.amount,
        }

    def is_row(self) -> ColumnElement[bool]:
        """Return the condition for the row of its key."""
        return and_(
            AuthorizationRecord.chain_id == self.chain_id,
            AuthorizationRecord.contract == self.contract,
            AuthorizationRecord.payer == self.payer,
            AuthorizationRecord.nonce == self.nonce,
        )

    def is_paid_by(self, row: TransferRecord) -> bool:
        """Return True if a transfer that used the authorization has its terms."""
        return (row.recipient, row.amount) == (self.payee, self.amount)


def enter_authorization(ledger: Ledger, tx: Connection, granted: GrantedAuthorization) -> None:
    """Enter the authorization of a grant, with the transfer that already used it.

    Raises `AuthorizationTaken` if it pays an order, or if its transfer has other terms, is refunded or is resolved. An
    order that ended is never paid, so the grant replaces it.
    """
    lock_payers(tx, granted.chain_id, {granted.payer})
    if not ensure(tx, AuthorizationRecord, granted.values()):
        _replace_order(tx, granted)
    used = and_(
        TransferRecord.chain_id == granted.chain_id,
        TransferRecord.token == granted.contract,
        TransferRecord.sender == granted.payer,
        TransferRecord.nonce == granted.nonce,
        TransferRecord.checkout.is_(None),
    )
    row = fetch_one_or_none(tx, select(TransferRecord).where(used).with_for_update())
    if row is None:
        return
    if granted.is_paid_by(row) and find_end(tx, row) is None:
        match_again(ledger, tx, row)
        # Another process may have ended it since: its end has a key, so only one of both is recorded.
        if find_end(tx, row) in (None, TransferEnd.GRANTED):
            return
    message = f"transfer {row.transaction_hash} used the authorization, and does not pay grant {granted.grant_id}"
    raise AuthorizationTaken("authorization_already_used", message)


def _replace_order(tx: Connection, granted: GrantedAuthorization) -> None:
    """Make a grant the sale of an authorization that an order has. Raises `AuthorizationTaken` unless it ended."""
    before = fetch_one(tx, select(AuthorizationRecord).where(granted.is_row()))
    order = None if before.order_id is None else locked(tx, OrderRecord, before.order_id)
    if order is None or order.state not in ENDED:
        message = f"the authorization of grant {granted.grant_id} belongs to order {before.order_id}"
        raise AuthorizationTaken("authorization_pays_an_order", message)
    tx.execute(update(AuthorizationRecord).where(granted.is_row()).values(granted.values()))


def record_settlement(ledger: Ledger, tx: Connection, grant_id: str, transaction_hash: str, charged: int) -> None:
    """Record the transaction that settled a grant, and match its transfer if that is recorded already.

    `charged` is the settled amount in smallest units.
    """
    granted = fetch_one_or_none(tx, select(AuthorizationRecord).where(AuthorizationRecord.grant_id == grant_id))
    if granted is None or granted.payee is None:
        return
    lock_payers(tx, granted.chain_id, {granted.payer})
    settled: ColumnValues = {
        AuthorizationRecord.transaction_hash: transaction_hash,
        AuthorizationRecord.amount: charged,
    }
    tx.execute(update(AuthorizationRecord).where(AuthorizationRecord.grant_id == grant_id).values(settled))
    unmatched = and_(
        TransferRecord.chain_id == granted.chain_id,
        TransferRecord.transaction_hash == transaction_hash,
        TransferRecord.sender == granted.payer,
        TransferRecord.recipient == granted.payee,
        TransferRecord.amount == charged,
        TransferRecord.order_id.is_(None),
        TransferRecord.grant_id.is_(None),
    )
    query = select(TransferRecord).where(unmatched).order_by(TransferRecord.position)
    for row in fetch_all(tx, query.with_for_update()):
        match_again(ledger, tx, row)


def delete_authorization(ledger: Ledger, tx: Connection, grant_id: str) -> None:
    """Delete the authorization of a grant that delivers nothing. A transfer that used it pays nothing, too."""
    mine = AuthorizationRecord.grant_id == grant_id
    granted = fetch_one_or_none(tx, select(AuthorizationRecord).where(mine))
    if granted is None:
        return
    lock_payers(tx, granted.chain_id, {granted.payer})
    tx.execute(delete(AuthorizationRecord).where(mine))
    row = fetch_one_or_none(tx, select(TransferRecord).where(TransferRecord.grant_id == grant_id).with_for_update())
    if row is not None:
        same = is_transfer(row.chain_id, row.transaction_hash, row.position)
        tx.execute(update(TransferRecord).where(same).values({TransferRecord.grant_id: None}))
        reopen_transfer(tx, row)
        match_again(ledger, tx, row)
