"""Ends of transfers: captured, granted, refunded or resolved. The key of the table admits one for each transfer.

Each end is part of the database transaction that gives the transfer its order, grant, refund or resolution.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, delete, select
from sqlalchemy.exc import IntegrityError

from foreseal.payments.ledger import ConcurrentUpdate, ensure
from foreseal.payments.ledger.models import TransferEnd, TransferEndRecord, TransferRecord
from foreseal.payments.ledger.queries import ColumnValues, chunks, insert_all
from foreseal.payments.transfers.observed_transfer import ObservedTransfer, TransferKey

_REVERSIBLE = (TransferEnd.CAPTURED, TransferEnd.GRANTED)


def end_transfer(tx: Connection, chain_id: int, key: TransferKey, kind: TransferEnd) -> bool:
    """Record the end of a transfer. Return False if it has one, even if that commits only now."""
    return ensure(tx, TransferEndRecord, _values(chain_id, key, kind))


def end_transfers(tx: Connection, ended: Sequence[ObservedTransfer], kind: TransferEnd) -> None:
    """Record the same end of transfers without one. Raises `ConcurrentUpdate` if one has an end meanwhile."""
    try:
        insert_all(tx, TransferEndRecord, [_values(each.chain_id, each.key, kind) for each in ended])
    except IntegrityError as error:
        raise ConcurrentUpdate("a transfer was ended by another process") from error


def find_end(tx: Connection, row: TransferRecord) -> TransferEnd | None:
    """Return the end of a transfer; None if it has none."""
    return tx.execute(select(TransferEndRecord.kind).where(_is_end(row))).scalar_one_or_none()


def ended_transfers(tx: Connection, transfers: Sequence[ObservedTransfer]) -> set[TransferKey]:
    """Return the keys of the transfers that have an end."""
    ended: set[TransferKey] = set()
    for hashes in chunks(sorted({each.transfer.log.transaction_hash for each in transfers})):
        same = TransferEndRecord.chain_id == transfers[0].chain_id
        query = select(TransferEndRecord.transaction_hash, TransferEndRecord.position)
        rows = tx.execute(query.where(same, TransferEndRecord.transaction_hash.in_(hashes)))
        ended |= {(row.transaction_hash, row.position) for row in rows}
    return ended


def reopen_transfer(tx: Connection, row: TransferRecord) -> None:
    """Delete the end of a transfer that pays nothing any more. A refund or a resolution stays."""
    tx.execute(delete(TransferEndRecord).where(_is_end(row), TransferEndRecord.kind.in_(_REVERSIBLE)))


def _is_end(row: TransferRecord) -> ColumnElement[bool]:
    return and_(
        TransferEndRecord.chain_id == row.chain_id,
        TransferEndRecord.transaction_hash == row.transaction_hash,
        TransferEndRecord.position == row.position,
    )


def _values(chain_id: int, key: TransferKey, kind: TransferEnd) -> ColumnValues:
    return {
        TransferEndRecord.chain_id: chain_id,
        TransferEndRecord.transaction_hash: key[0],
        TransferEndRecord.position: key[1],
        TransferEndRecord.kind: kind,
    }
