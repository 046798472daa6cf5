"""Intents: signed transactions in the database, each with one fixed account nonce."""

from dataclasses import dataclass
from typing import Any

from eth_account.datastructures import SignedTransaction
from eth_account.signers.local import LocalAccount
from eth_typing import ChecksumAddress, HexAddress, HexStr
from sqlalchemy import Connection, Select, func, insert, select, update

from foreseal.payments.ledger import ensure
from foreseal.payments.ledger.models import AccountRecord, AttemptRecord, Purpose, TransactionRecord, TxResult
from foreseal.payments.ledger.queries import ColumnValues, fetch_all, fetch_one
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
        same = (TransactionRecord.purpose == purpose) & (TransactionRecord.subject == subject)
        earlier = tx.execute(select(TransactionRecord.ending).where(same)).scalars().all()
        if None in earlier:
            raise TransactionStillOpen(f"{purpose} of {subject}: its transaction may still be included")
        nonce = self._allocate(tx, call.next_nonce)
        values: ColumnValues = {
            TransactionRecord.chain_id: self.chain_id,
            TransactionRecord.sender: self.account.address,
            TransactionRecord.account_nonce: nonce,
            TransactionRecord.purpose: purpose,
            TransactionRecord.subject: subject,
            TransactionRecord.round: len(earlier),
            TransactionRecord.target: call.target,
            TransactionRecord.data: call.data,
            TransactionRecord.gas: call.gas,
        }
        stored = fetch_one(tx, insert(TransactionRecord).values(values).returning(TransactionRecord))
        self.attempt(tx, stored, 0, call.quote, call.block)
        return stored.id

    def attempt(self, tx: Connection, intent: TransactionRecord, ordinal: int, quote: FeeQuote, block: int) -> None:
        """Sign an intent with these fees, and store the bytes."""
        signed = self.signed(intent.account_nonce, intent.target, intent.data, intent.gas, quote)
        tx.execute(
            insert(AttemptRecord).values(
                {
                    AttemptRecord.transaction_id: intent.id,
                    AttemptRecord.ordinal: ordinal,
                    AttemptRecord.hash: "0x" + bytes(signed.hash).hex(),
                    AttemptRecord.raw: bytes(signed.raw_transaction),
                    AttemptRecord.fee: quote.fee,
                    AttemptRecord.priority_fee: quote.priority_fee,
                    AttemptRecord.since_block: block,
                }
            )
        )

    def signed(self, nonce: int, target: str, data: bytes, gas: int, quote: FeeQuote) -> SignedTransaction:
        """Sign an EIP-1559 transaction that transfers no ether."""
        return self.account.sign_transaction(
            {
                "type": 2,
                "chainId": self.chain_id,
                "nonce": nonce,
                "to": ChecksumAddress(HexAddress(HexStr(target))),
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
        mine = (AccountRecord.chain_id == self.chain_id) & (AccountRecord.address == self.account.address)
        query = select(AccountRecord.next_nonce).where(mine).with_for_update()
        found = tx.execute(query).scalar_one_or_none()
        if found is None:
            # If another process inserted the row first, lock that one.
            ensure(
                tx,
                AccountRecord,
                {
                    AccountRecord.chain_id: self.chain_id,
                    AccountRecord.address: self.account.address,
                    AccountRecord.next_nonce: minimum,
                },
            )
            found = tx.execute(query).scalar_one()
        nonce = max(int(found), minimum)
        tx.execute(update(AccountRecord).where(mine).values({AccountRecord.next_nonce: nonce + 1}))
        return nonce


def open_intent(tx: Connection, purpose: Purpose, subject: str) -> int | None:
    """Return the intent that may still be included or undone; there is at most one."""
    same = (TransactionRecord.purpose == purpose) & (TransactionRecord.subject == subject)
    return tx.execute(select(TransactionRecord.id).where(same, TransactionRecord.ending.is_(None))).scalar_one_or_none()


def open_subjects(tx: Connection, *purposes: Purpose, without: Select[Any] | None = None) -> list[str]:
    """Return the subjects of open intents, without the ids that `without` selects, ordered by account nonce."""
    query = select(TransactionRecord.subject).where(
        TransactionRecord.purpose.in_(purposes), TransactionRecord.ending.is_(None)
    )
    if without is not None:
        query = query.where(TransactionRecord.subject.not_in(without))
    return list(dict.fromkeys(tx.execute(query.order_by(TransactionRecord.account_nonce)).scalars()))


def is_intent_open(tx: Connection, intent: int) -> bool:
    """Return True if the intent is still open. Call it with the intent's subject locked."""
    return tx.execute(select(TransactionRecord.ending).where(TransactionRecord.id == intent)).scalar_one() is None


def close_intent(tx: Connection, intent: int, ending: TxResult) -> None:
    """Record that an intent needs no further tracking."""
    tx.execute(
        update(TransactionRecord).where(TransactionRecord.id == intent).values({TransactionRecord.ending: ending})
    )


def read_intent(tx: Connection, intent: int) -> tuple[TransactionRecord, list[AttemptRecord]]:
    """Return an intent and its attempts, newest last."""
    found = fetch_one(tx, select(TransactionRecord).where(TransactionRecord.id == intent))
    of_it = select(AttemptRecord).where(AttemptRecord.transaction_id == intent).order_by(AttemptRecord.ordinal)
    return found, fetch_all(tx, of_it)


def newest_ordinal(tx: Connection, intent: int) -> int:
    """Return the ordinal of the newest attempt, and lock the intent until the transaction ends."""
    tx.execute(select(TransactionRecord.id).where(TransactionRecord.id == intent).with_for_update())
    found = select(func.max(AttemptRecord.ordinal)).where(AttemptRecord.transaction_id == intent)
    return int(tx.execute(found).scalar_one())
