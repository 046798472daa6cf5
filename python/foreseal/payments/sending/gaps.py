"""Account nonces that nobody uses, and behind which everything waits.

The next account nonce is asked of the node as well, which counts transactions that this ledger knows nothing of: sent
by hand with the same key, or counted by mistake. If one of them vanishes, its nonce is left over, and nothing that was
signed with a later one can ever land. A transfer of nothing to oneself takes it. It has no effect that could be
doubled, so it is not stored: it is made again as long as there is a gap.
"""

import contextlib

from sqlalchemy import Connection, select

from foreseal.payments.chain import Node, Refused
from foreseal.payments.ledger.tables import transactions
from foreseal.payments.sending.fees import Quote
from foreseal.payments.sending.intents import Intents

_GAS = 21_000


def is_used(tx: Connection, chain_id: int, sender: str, nonce: int) -> bool:
    """Whether an intent has this account nonce."""
    same = (transactions.c.chain_id == chain_id) & (transactions.c.sender == sender)
    return tx.execute(select(transactions.c.id).where(same, transactions.c.account_nonce == nonce)).first() is not None


def fill(node: Node, intents: Intents, nonce: int, fees: Quote) -> None:
    """Use up an account nonce. Where the node refuses, somebody has it after all. Raises what the node raises."""
    signed = intents.signed(nonce, intents.account.address, b"", _GAS, fees)
    with contextlib.suppress(Refused):
        node.send(bytes(signed.raw_transaction))
