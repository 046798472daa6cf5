"""Intents: signed transactions in the database, each with one fixed account nonce."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from eth_account.signers.local import LocalAccount
from sqlalchemy import Connection, Row, Select, func, insert, select, update

from foreseal._core import sign_transactions
from foreseal.payments.ledger import ensure
from foreseal.payments.ledger.tables import Purpose, TxResult, accounts, attempts, transactions
from foreseal.payments.transactions.errors import TransactionStillOpen
from foreseal.payments.transactions.fees import FeeQuote

# Values per query; databases limit their number.
_CHUNK_SIZE = 500


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
class NewIntent:
    """A transaction to sign and store."""

    purpose: Purpose
    subject: str
    """Id of the row that it serves."""
    call: TransactionCall


@dataclass(frozen=True, slots=True)
class TransactionIntents:
    """Intents of one key on one chain."""

    chain_id: int
    account: LocalAccount

    def store(self, tx: Connection, purpose: Purpose, subject: str, call: TransactionCall) -> int:
        """Store one new intent like `store_all`. Return its id."""
        return self.store_all(tx, [NewIntent(purpose, subject, call)])[0]

    def store_all(self, tx: Connection, new: Sequence[NewIntent]) -> list[int]:
        """Allocate consecutive account nonces, sign and store. Return the ids of the intents. Nothing is sent.

        Raises `TransactionStillOpen` while an earlier intent of the same purpose and subject may be included.
        """
        if not new:
            return []
        rounds = self._next_rounds(tx, new)
        first = self._allocate(tx, max(each.call.next_nonce for each in new), len(new))
        rows = [
            {
                "chain_id": self.chain_id,
                "sender": self.account.address,
                "account_nonce": first + position,
                "purpose": each.purpose,
                "subject": each.subject,
                "round": rounds[position],
                "target": each.call.target,
                "data": each.call.data,
                "gas": each.call.gas,
            }
            for position, each in enumerate(new)
        ]
        inserting = insert(transactions).returning(transactions.c.id, sort_by_parameter_order=True)
        ids = [int(id) for id in tx.execute(inserting, rows).scalars()]
        signed = self._sign_all(first, [each.call for each in new])
        attempted = [
            _attempt(id, 0, raw, hash, each.call.quote, each.call.block)
            for id, (raw, hash), each in zip(ids, signed, new, strict=True)
        ]
        tx.execute(insert(attempts), attempted)
        return ids

    def attempt(self, tx: Connection, intent: Row[Any], ordinal: int, quote: FeeQuote, block: int) -> None:
        """Sign an intent with these fees, and store the bytes."""
        call = TransactionCall(intent.target, intent.data, intent.gas, quote, intent.account_nonce, block)
        ((raw, hash),) = self._sign_all(intent.account_nonce, [call])
        tx.execute(insert(attempts), [_attempt(intent.id, ordinal, raw, hash, quote, block)])

    def signed(self, nonce: int, target: str, data: bytes, gas: int, quote: FeeQuote) -> bytes:
        """Sign an EIP-1559 transaction that transfers no ether. Return its bytes."""
        return self._sign_all(nonce, [TransactionCall(target, data, gas, quote, nonce, 0)])[0][0]

    def _sign_all(self, first: int, calls: Sequence[TransactionCall]) -> list[tuple[bytes, bytes]]:
        """Sign calls with consecutive account nonces. Return bytes and hash of each."""
        found: list[tuple[bytes, bytes]] = []
        # The core signs a run of transactions with the same fees.
        for quote, run in groupby(calls, key=lambda call: call.quote):
            specs = [(bytes.fromhex(call.target[2:]), 0, call.gas, call.data) for call in run]
            fees = (quote.fee, quote.priority_fee)
            found += sign_transactions(bytes(self.account.key), self.chain_id, fees, first + len(found), specs)
        return found

    @staticmethod
    def _next_rounds(tx: Connection, new: Sequence[NewIntent]) -> list[int]:
        """Return the number of earlier intents with the purpose and subject of each. All must have ended."""
        earlier: dict[tuple[Purpose, str], int] = {}
        subjects = {each.subject for each in new}
        query = select(transactions.c.purpose, transactions.c.subject, transactions.c.ending)
        for row in tx.execute(query.where(transactions.c.subject.in_(subjects))):
            if row.ending is None and any((each.purpose, each.subject) == (row.purpose, row.subject) for each in new):
                message = f"{row.purpose} of {row.subject}: its transaction may still be included"
                raise TransactionStillOpen(message)
            earlier[row.purpose, row.subject] = earlier.get((row.purpose, row.subject), 0) + 1
        return [earlier.get((each.purpose, each.subject), 0) for each in new]

    def _allocate(self, tx: Connection, minimum: int, count: int) -> int:
        """Allocate consecutive account nonces. Return the first.

        The row stays locked until the commit, so no other process gets the same nonces.
        """
        mine = (accounts.c.chain_id == self.chain_id) & (accounts.c.address == self.account.address)
        query = select(accounts.c.next_nonce).where(mine).with_for_update()
        found = tx.execute(query).scalar_one_or_none()
        if found is None:
            # If another process inserted the row first, lock that one.
            ensure(tx, accounts, chain_id=self.chain_id, address=self.account.address, next_nonce=minimum)
            found = tx.execute(query).scalar_one()
        nonce = max(int(found), minimum)
        tx.execute(update(accounts).where(mine).values(next_nonce=nonce + count))
        return nonce


def _attempt(intent: int, ordinal: int, raw: bytes, hash: bytes, quote: FeeQuote, block: int) -> dict[str, Any]:
    return {
        "transaction_id": intent,
        "ordinal": ordinal,
        "hash": "0x" + hash.hex(),
        "raw": raw,
        "fee": quote.fee,
        "priority_fee": quote.priority_fee,
        "since_block": block,
    }


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


def close_included(tx: Connection, purpose: Purpose, hashes: Mapping[str, str]) -> None:
    """Close the open intents of these subjects that final blocks include, by the hash of the included attempt."""
    attempted = select(attempts.c.transaction_id).where(attempts.c.hash.in_(list(hashes.values())))
    mine = (transactions.c.purpose == purpose) & transactions.c.subject.in_(list(hashes))
    included = mine & transactions.c.ending.is_(None) & transactions.c.id.in_(attempted)
    tx.execute(update(transactions).where(included).values(ending=TxResult.INCLUDED))


def read_intent(tx: Connection, intent: int) -> tuple[Row[Any], list[Row[Any]]]:
    """Return an intent and its attempts, newest last."""
    found = tx.execute(select(transactions).where(transactions.c.id == intent)).one()
    of_it = select(attempts).where(attempts.c.transaction_id == intent).order_by(attempts.c.ordinal)
    return found, list(tx.execute(of_it))


def read_new_intents(tx: Connection, purpose: Purpose, subjects: Sequence[str]) -> list[tuple[str, bytes]]:
    """Return subject and first bytes of the open intents of these subjects, ordered by account nonce."""
    found: list[tuple[int, str, bytes]] = []
    for first in range(0, len(subjects), _CHUNK_SIZE):
        mine = transactions.c.subject.in_(subjects[first : first + _CHUNK_SIZE])
        query = (
            select(transactions.c.account_nonce, transactions.c.subject, attempts.c.raw)
            .join(attempts, attempts.c.transaction_id == transactions.c.id)
            .where(mine, transactions.c.purpose == purpose, transactions.c.ending.is_(None), attempts.c.ordinal == 0)
        )
        found += [(row.account_nonce, row.subject, bytes(row.raw)) for row in tx.execute(query)]
    return [(subject, raw) for _, subject, raw in sorted(found)]


def newest_ordinal(tx: Connection, intent: int) -> int:
    """Return the ordinal of the newest attempt, and lock the intent until the transaction ends."""
    tx.execute(select(transactions.c.id).where(transactions.c.id == intent).with_for_update())
    found = select(func.max(attempts.c.ordinal)).where(attempts.c.transaction_id == intent)
    return int(tx.execute(found).scalar_one())
