"""Gas of transactions without a receipt in which the code of payers runs.

```text
store    code_gas = gas limit       all of it may be lost
receipt  lost gas, if it reverted   then code_gas = null, in a later database transaction or the same
end      code_gas = null            no block can include it any more
```

`LostGas` counts it against the budget of payers with code.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, func, select, update

from foreseal.payments.ledger import lock_names
from foreseal.payments.ledger.models import AttemptRecord, Purpose, TransactionRecord
from foreseal.payments.ledger.queries import chunks


@dataclass(frozen=True, slots=True)
class CountedIntent:
    """An intent whose gas counts as in flight."""

    id: int
    purpose: Purpose
    subject: str
    """Id of the row that it serves."""


def lock_code_gas(tx: Connection, chain_id: int) -> None:
    """Lock the decisions that depend on this gas, of all accounts, until the transaction ends."""
    lock_names(tx, {f"code gas {chain_id}"})


def read_code_gas(tx: Connection, chain_id: int) -> int:
    """Return the sum of the gas in flight on a chain."""
    mine = (TransactionRecord.chain_id == chain_id) & TransactionRecord.code_gas.is_not(None)
    return int(tx.execute(select(func.sum(TransactionRecord.code_gas)).where(mine)).scalar_one() or 0)


def find_included(tx: Connection, chain_id: int, hashes: Collection[str]) -> list[CountedIntent]:
    """Return the intents in flight of which one of these transactions is an attempt."""
    mine = (TransactionRecord.chain_id == chain_id) & TransactionRecord.code_gas.is_not(None)
    # Nearly always there is none, and an index without entries shows it.
    if tx.execute(select(TransactionRecord.code_gas).where(mine).limit(1)).first() is None:
        return []
    query = select(TransactionRecord.id, TransactionRecord.purpose, TransactionRecord.subject).join(
        AttemptRecord, AttemptRecord.transaction_id == TransactionRecord.id
    )
    return [
        CountedIntent(id, purpose, subject)
        for chunk in chunks(sorted(hashes))
        for id, purpose, subject in tx.execute(query.where(mine, AttemptRecord.hash.in_(chunk)))
    ]


def release_code_gas(tx: Connection, intents: Collection[int]) -> None:
    """Record that the gas of these intents is no longer in flight."""
    for chunk in chunks(sorted(intents)):
        mine = TransactionRecord.id.in_(chunk)
        tx.execute(update(TransactionRecord).where(mine).values({TransactionRecord.code_gas: None}))
