"""Gaps: unused account nonces that block all later transactions.

The next account nonce also depends on the node's count, which includes transactions outside of this ledger: sent
manually with the same key, or counted by mistake. If such a transaction vanishes, its nonce stays unused, and no
transaction with a later nonce can be included. A transfer of 0 wei to the account itself fills the gap. Doubling it has
no effect, so it is not stored but made again while the gap exists.
"""

import contextlib

from sqlalchemy import Connection, select

from foreseal.payments.chain import ChainNode, RejectedByNode
from foreseal.payments.ledger.models import TransactionRecord
from foreseal.payments.transactions.fees import FeeQuote
from foreseal.payments.transactions.intents import TransactionIntents


def is_nonce_used(tx: Connection, chain_id: int, sender: str, nonce: int) -> bool:
    """Return True if an intent has this account nonce."""
    same = (TransactionRecord.chain_id == chain_id) & (TransactionRecord.sender == sender)
    return (
        tx.execute(select(TransactionRecord.id).where(same, TransactionRecord.account_nonce == nonce)).first()
        is not None
    )


def fill_gap(node: ChainNode, intents: TransactionIntents, nonce: int, fees: FeeQuote) -> None:
    """Use up an account nonce. A rejection means that another transaction has it. Raises the node's errors."""
    raw = intents.sign_empty_transfer(nonce, fees)
    with contextlib.suppress(RejectedByNode):
        node.send(raw)
