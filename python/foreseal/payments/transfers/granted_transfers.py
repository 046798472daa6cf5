"""Transfers that pay x402 responses: each grant of a seller has one authorization, and at most one transfer.

The seller's process enters and deletes the authorization of a grant, the watcher records transfers. Both lock the
payer first, so neither misses what the other one has not committed yet.
"""

from collections.abc import Collection, Iterator

from sqlalchemy import ColumnElement, Connection, and_, select

from foreseal.payments.ledger import lock_names
from foreseal.payments.ledger.models import AuthorizationRecord, TransferRecord
from foreseal.payments.ledger.queries import chunks, fetch_all, fetch_one_or_none
from foreseal.payments.transfers.observed_transfer import ObservedTransfer


def lock_payers(tx: Connection, chain_id: int, payers: Collection[str]) -> None:
    """Lock the grants of payers, and the matching of the payers' transfers, until this transaction ends."""
    lock_names(tx, {f"grants {chain_id} {payer}" for payer in payers})


def payers_with_grants(tx: Connection, chain_id: int, payers: Collection[str]) -> set[str]:
    """Return those of the payers that have grants. They must be locked."""
    with_grants: set[str] = set()
    for chunk in chunks(sorted(payers)):
        mine = (AuthorizationRecord.chain_id == chain_id) & AuthorizationRecord.payer.in_(chunk)
        query = select(AuthorizationRecord.payer).where(mine, AuthorizationRecord.grant_id.is_not(None)).distinct()
        with_grants |= set(tx.execute(query).scalars())
    return with_grants


def find_grant(tx: Connection, observed: ObservedTransfer) -> tuple[str | None, TransferRecord | None]:
    """Return the grant that a transfer pays, and the transfer that is recorded for it although it left the chain.

    The payer must be locked.
    """
    for grant_id in _paid_grants(tx, observed):
        before = fetch_one_or_none(tx, select(TransferRecord).where(TransferRecord.grant_id == grant_id))
        # A nonce allows one transfer, so another one belongs to a chain that was reorganized away. Within one
        # transaction, each transfer without a nonce pays a grant of its own.
        if before is None or before.transaction_hash != observed.transfer.log.transaction_hash:
            return grant_id, before
    return None, None


def _paid_grants(tx: Connection, observed: ObservedTransfer) -> Iterator[str]:
    """Yield the grants whose terms a transfer fulfils."""
    transfer = observed.transfer
    if transfer.checkout is not None:
        return
    if transfer.nonce is None:
        used = and_(
            AuthorizationRecord.contract != transfer.log.address,
            AuthorizationRecord.transaction_hash == transfer.log.transaction_hash,
        )
    else:
        used = and_(AuthorizationRecord.contract == transfer.log.address, AuthorizationRecord.nonce == transfer.nonce)
    terms = _granted(observed) & (AuthorizationRecord.amount == transfer.amount)
    for row in fetch_all(tx, select(AuthorizationRecord).where(terms, used).order_by(AuthorizationRecord.nonce)):
        assert row.grant_id is not None, "the query selects grants"
        yield row.grant_id


def is_shared(tx: Connection, observed: ObservedTransfer) -> bool:
    """Return True if another service with the same payee may have delivered for a transfer that pays no sale here.

    Either no sale of this database has its authorization, or a Permit2 payment of its payer may turn out to be it.
    """
    transfer = observed.transfer
    if transfer.nonce is None:
        waiting = AuthorizationRecord.transaction_hash.is_(None) & (
            AuthorizationRecord.contract != transfer.log.address
        )
        return tx.execute(select(AuthorizationRecord.nonce).where(_granted(observed), waiting)).first() is not None
    same = and_(
        AuthorizationRecord.chain_id == observed.chain_id,
        AuthorizationRecord.contract == (transfer.checkout or transfer.log.address),
        AuthorizationRecord.payer == transfer.sender,
        AuthorizationRecord.nonce == transfer.nonce,
    )
    return tx.execute(select(AuthorizationRecord.nonce).where(same)).first() is None


def _granted(observed: ObservedTransfer) -> ColumnElement[bool]:
    return and_(
        AuthorizationRecord.chain_id == observed.chain_id,
        AuthorizationRecord.payer == observed.transfer.sender,
        AuthorizationRecord.payee == observed.transfer.recipient,
        AuthorizationRecord.grant_id.is_not(None),
    )
