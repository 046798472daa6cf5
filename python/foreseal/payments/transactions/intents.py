"""Intents: signed transactions in the database, each with one fixed account nonce."""

from dataclasses import dataclass
from typing import Any

from eth_account.datastructures import SignedTransaction
from eth_account.signers.local import LocalAccount
from eth_typing import ChecksumAddress
from sqlalchemy import Connection, Row, Select, func, insert, select, update

from foreseal.payments.ledger import ensure
from foreseal.payments.ledger.tables import Purpose, TxResult, accounts, attempts, transactions
from foreseal.payments.transactions.errors import TransactionStillOpen
from foreseal.payments.transactions.fees import FeeQuote


@dataclass(frozen=True, slots=True)
class TransactionCall:
    """Content of a transaction, with the node's estimates for it."""

    target: str
    data: bytes
    gas: int
    """Gas limit."""
    quote: FeeQuote
    next_nonce: int
    """The account's next nonce by the node. The database's count applies if it is higher."""
    block: int
    """Number of the pending block at the time of the estimate."""


@dataclass(frozen=True, slots=True)
class TransactionIntents:
    """Intents of one key on one chain."""

    chain_id: int
    account: LocalAccount

    def store(self, tx: Connection, purpose: Purpose, subject: str, call: TransactionCall) -> int:
        """Allocate the next account nonce, sign and store. Return the intent's id. Nothing is sent.

        Raises `TransactionStillOpen` while an earlier intent of the same purpose and subject may be included.
        """
        same = (transactions.c.purpose == purpose) & (transactions.c.subject == subject)
        earlier = tx.execute(select(transactions.c.ending).where(same)).scalars().all()
        if None in earlier:
            raise TransactionStillOpen(f"{purpose} of {subject}: its transaction may still be included")
        nonce = self._allocate(tx, call.next_nonce)
        stored = tx.execute(
            insert(transactions)
            .values(
                chain_id=self.chain_id,
                sender=self.account.address,
                account_nonce=nonce,
                purpose=purpose,
                subject=subject,
                round=len(earlier),
                target=call.target,
                data=call.data,
                gas=call.gas,
            )
            .returning(transactions)
        ).one()
        self.attempt(tx, stored, 0, call.quote, call.block)
        return int(stored.id)

    def attempt(self, tx: Connection, intent: Row[Any], ordinal: int, quote: FeeQuote, block: int) -> None:
        """Sign an intent with these fees, and store the bytes."""
        signed = self.signed(intent.account_nonce, intent.target, intent.data, intent.gas, quote)
        tx.execute(
            insert(attempts).values(
                transaction_id=intent.id,
                ordinal=ordinal,
                hash="0x" + bytes(signed.hash).hex(),
                raw=bytes(signed.raw_transaction),
                fee=quote.fee,
                priority_fee=quote.priority_fee,
                since_block=block,
            )
        )

    def signed(self, nonce: int, target: ChecksumAddress, data: bytes, gas: int, quote: FeeQuote) -> SignedTransaction:
        """Sign an EIP-1559 transaction that transfers no ether."""
        return self.account.sign_transaction(
            {
                "type": 2,
                "chainId": self.chain_id,
                "nonce": nonce,
                "to": target,
                "value": 0,
                "data": data,
                "gas": gas,
                "maxFeePerGas": quote.fee,
                "maxPriorityFeePerGas": quote.priority_fee,
            }
        )

    def _allocate(self, tx: Connection, minimum: int) -> int:
        """Allocate the next account nonce.

        The row stays locked until the commit, so no other process gets the same nonce.
        """
        mine = (accounts.c.chain_id == self.chain_id) & (accounts.c.address == self.account.address)
        query = select(accounts.c.next_nonce).where(mine).with_for_update()
        found = tx.execute(query).scalar_one_or_none()
        if found is None:
            # If another process inserted the row first, lock that one.
            ensure(tx, accounts, chain_id=self.chain_id, address=self.account.address, next_nonce=minimum)
            found = tx.execute(query).scalar_one()
        nonce = max(int(found), minimum)
        tx.execute(update(accounts).where(mine).values(next_nonce=nonce + 1))
        return nonce


def open_intent(tx: Connection, purpose: Purpose, subject: str) -> int | None:
    """Return the intent that may still be included or undone; there is at most one."""
    same = (transactions.c.purpose == purpose) & (transactions.c.subject == subject)
    return tx.execute(select(transactions.c.id).where(same, transactions.c.ending.is_(None))).scalar_one_or_none()


def open_subjects(tx: Connection, *purposes: Purpose, without: Select[Any] | None = None) -> list[str]:
    """Return the subjects of open intents, without the ids that `without` selects, ordered by account nonce."""
    query = select(transactions.c.subject).where(transactions.c.purpose.in_(purposes), transactions.c.ending.is_(None))
    if without is not None:
        query = query.where(transactions.c.subject.not_in(without))
    return list(dict.fromkeys(tx.execute(query.order_by(transactions.c.account_nonce)).scalars()))


def is_intent_open(tx: Connection, intent: int) -> bool:
    """Return True if the intent is still open. Call it with the intent's subject locked."""
    return tx.execute(select(transactions.c.ending).where(transactions.c.id == intent)).scalar_one() is None


def close_intent(tx: Connection, intent: int, ending: TxResult) -> None:
    """Record that an intent needs no further tracking."""
    tx.execute(update(transactions).where(transactions.c.id == intent).values(ending=ending))


def read_intent(tx: Connection, intent: int) -> tuple[Row[Any], list[Row[Any]]]:
    """Return an intent and its attempts, newest last."""
    found = tx.execute(select(transactions).where(transactions.c.id == intent)).one()
    of_it = select(attempts).where(attempts.c.transaction_id == intent).order_by(attempts.c.ordinal)
    return found, list(tx.execute(of_it))


def newest_ordinal(tx: Connection, intent: int) -> int:
    """Return the ordinal of the newest attempt, and lock the intent until the transaction ends."""
    tx.execute(select(transactions.c.id).where(transactions.c.id == intent).with_for_update())
    found = select(func.max(attempts.c.ordinal)).where(attempts.c.transaction_id == intent)
    return int(tx.execute(found).scalar_one())
