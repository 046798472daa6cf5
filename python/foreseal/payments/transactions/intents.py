"""Intents: signed transactions in the database, each with one fixed account nonce."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select, update

from foreseal.payments.ledger import ensure
from foreseal.payments.ledger.models import AccountRecord, AttemptRecord, Purpose, TransactionRecord, TxResult
from foreseal.payments.ledger.queries import (
    ColumnValues,
    chunks,
    fetch_all,
    fetch_one,
    insert_all,
    insert_all_returning,
)
from foreseal.payments.transactions.errors import TransactionStillOpen, WrongAccount
from foreseal.payments.transactions.fees import FeeQuote
from foreseal.payments.transactions.signer import RawTransaction, TransactionSigner, UnsignedTransaction

# Gas of a transfer of 0 wei.
_EMPTY_TRANSFER_GAS = 21_000


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
    runs_code: bool = False
    """True if the code of a payer, or of a token that a stranger named, runs in it."""


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
    account: TransactionSigner

    def store(self, tx: Connection, purpose: Purpose, subject: str, call: TransactionCall) -> int:
        """Store one new intent like `store_all`. Return its id."""
        return self.store_all(tx, [NewIntent(purpose, subject, call)])[0]

    def store_all(self, tx: Connection, new: Sequence[NewIntent]) -> list[int]:
        """Allocate consecutive account nonces, sign and store. Return the ids of the intents. Nothing is sent.

        Raises `TransactionStillOpen` while an earlier intent of the same purpose and subject may be included, and
        `SignerUnavailable`.
        """
        if not new:
            return []
        rounds = self._next_rounds(tx, new)
        first = self._allocate(tx, max(each.call.next_nonce for each in new), len(new))
        rows: list[ColumnValues] = [
            {
                TransactionRecord.chain_id: self.chain_id,
                TransactionRecord.sender: self.account.address,
                TransactionRecord.account_nonce: first + position,
                TransactionRecord.purpose: each.purpose,
                TransactionRecord.subject: each.subject,
                TransactionRecord.round: rounds[position],
                TransactionRecord.target: each.call.target,
                TransactionRecord.data: each.call.data,
                TransactionRecord.gas: each.call.gas,
                TransactionRecord.code_gas: each.call.gas if each.call.runs_code else None,
            }
            for position, each in enumerate(new)
        ]
        ids = insert_all_returning(tx, TransactionRecord.id, rows)
        signed = self._sign_all(first, [each.call for each in new])
        attempted = [
            _attempt(id, 0, raw, hash, each.call.quote, each.call.block)
            for id, (raw, hash), each in zip(ids, signed, new, strict=True)
        ]
        insert_all(tx, AttemptRecord, attempted)
        return ids

    def attempt(
        self,
        tx: Connection,
        intent: TransactionRecord,
        ordinal: int,
        quote: FeeQuote,
        block: int,
        *,
        is_empty: bool = False,
    ) -> None:
        """Sign an intent, or an empty transfer with its account nonce, with these fees, and store the bytes.

        Raises `WrongAccount` and `SignerUnavailable`.
        """
        if intent.sender != self.account.address:
            raise WrongAccount(f"transaction {intent.id} is of {intent.sender}, the key of {self.account.address}")
        nonce = intent.account_nonce
        call = TransactionCall(intent.target, intent.data, intent.gas, quote, nonce, block)
        ((raw, hash),) = self._sign_all(nonce, [self._empty_transfer(nonce, quote) if is_empty else call])
        row = _attempt(intent.id, ordinal, raw, hash, quote, block)
        insert_all(tx, AttemptRecord, [{**row, AttemptRecord.is_empty: is_empty}])

    def sign_empty_transfer(self, nonce: int, quote: FeeQuote) -> bytes:
        """Sign a transfer of 0 wei to the account itself, which only takes an account nonce. Return its bytes."""
        return self._sign_all(nonce, [self._empty_transfer(nonce, quote)])[0].raw

    def _empty_transfer(self, nonce: int, quote: FeeQuote) -> TransactionCall:
        return TransactionCall(self.account.address, b"", _EMPTY_TRANSFER_GAS, quote, nonce, 0)

    def _sign_all(self, first: int, calls: Sequence[TransactionCall]) -> list[RawTransaction]:
        """Sign calls with consecutive account nonces. Raises `SignerUnavailable`."""
        unsigned = [
            UnsignedTransaction(nonce, call.target, call.data, call.gas, call.quote)
            for nonce, call in enumerate(calls, first)
        ]
        return self.account.sign(self.chain_id, unsigned)

    @staticmethod
    def _next_rounds(tx: Connection, new: Sequence[NewIntent]) -> list[int]:
        """Return the number of earlier intents with the purpose and subject of each. All must have ended."""
        earlier: dict[tuple[Purpose, str], int] = {}
        subjects = {each.subject for each in new}
        query = select(TransactionRecord.purpose, TransactionRecord.subject, TransactionRecord.ending)
        for row in tx.execute(query.where(TransactionRecord.subject.in_(subjects))):
            if row.ending is None and any((each.purpose, each.subject) == (row.purpose, row.subject) for each in new):
                message = f"{row.purpose} of {row.subject}: its transaction may still be included"
                raise TransactionStillOpen(message)
            earlier[row.purpose, row.subject] = earlier.get((row.purpose, row.subject), 0) + 1
        return [earlier.get((each.purpose, each.subject), 0) for each in new]

    def _allocate(self, tx: Connection, minimum: int, count: int) -> int:
        """Allocate consecutive account nonces. Return the first.

        The row stays locked until the commit, so no other process gets the same nonces.
        """
        mine = (AccountRecord.chain_id == self.chain_id) & (AccountRecord.address == self.account.address)
        query = select(AccountRecord.next_nonce).where(mine).with_for_update()
        next_nonce = tx.execute(query).scalar_one_or_none()
        if next_nonce is None:
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
            next_nonce = tx.execute(query).scalar_one()
        nonce = max(int(next_nonce), minimum)
        tx.execute(update(AccountRecord).where(mine).values({AccountRecord.next_nonce: nonce + count}))
        return nonce


def _attempt(intent: int, ordinal: int, raw: bytes, hash: bytes, quote: FeeQuote, block: int) -> ColumnValues:
    return {
        AttemptRecord.transaction_id: intent,
        AttemptRecord.ordinal: ordinal,
        AttemptRecord.hash: "0x" + hash.hex(),
        AttemptRecord.raw: raw,
        AttemptRecord.fee: quote.fee,
        AttemptRecord.priority_fee: quote.priority_fee,
        AttemptRecord.since_block: block,
    }


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
    tx.execute(update(TransactionRecord).where(TransactionRecord.id == intent).values(_closed(ending)))


def close_included(tx: Connection, purpose: Purpose, hashes: Mapping[str, str]) -> None:
    """Close the open intents of these subjects that final blocks include, by the hash of the included attempt."""
    attempted = select(AttemptRecord.transaction_id).where(AttemptRecord.hash.in_(list(hashes.values())))
    mine = (TransactionRecord.purpose == purpose) & TransactionRecord.subject.in_(list(hashes))
    included = mine & TransactionRecord.ending.is_(None) & TransactionRecord.id.in_(attempted)
    tx.execute(update(TransactionRecord).where(included).values(_closed(TxResult.INCLUDED)))


def _closed(ending: TxResult) -> ColumnValues:
    return {TransactionRecord.ending: ending, TransactionRecord.code_gas: None}


def read_intent(tx: Connection, intent: int) -> tuple[TransactionRecord, list[AttemptRecord]]:
    """Return an intent and its attempts, newest last."""
    record = fetch_one(tx, select(TransactionRecord).where(TransactionRecord.id == intent))
    of_it = select(AttemptRecord).where(AttemptRecord.transaction_id == intent).order_by(AttemptRecord.ordinal)
    return record, fetch_all(tx, of_it)


def read_new_intents(tx: Connection, purpose: Purpose, subjects: Sequence[str]) -> list[tuple[str, bytes]]:
    """Return subject and first bytes of the open intents of these subjects, ordered by account nonce."""
    intents: list[tuple[int, str, bytes]] = []
    columns = (TransactionRecord.account_nonce, TransactionRecord.subject, AttemptRecord.raw)
    for chunk in chunks(subjects):
        mine = (TransactionRecord.purpose == purpose) & TransactionRecord.subject.in_(chunk)
        new = TransactionRecord.ending.is_(None) & (AttemptRecord.ordinal == 0)
        query = select(*columns).join(AttemptRecord, AttemptRecord.transaction_id == TransactionRecord.id)
        intents += [(nonce, subject, bytes(raw)) for nonce, subject, raw in tx.execute(query.where(mine, new))]
    return [(subject, raw) for _, subject, raw in sorted(intents)]


def record_rejection(tx: Connection, intent: int, message: str | None, since: int | None) -> None:
    """Record the node's last rejection of an intent, and the block since which it rejects it; None after acceptance."""
    values: ColumnValues = {TransactionRecord.rejection: message, TransactionRecord.rejected_since: since}
    tx.execute(update(TransactionRecord).where(TransactionRecord.id == intent).values(values))


def newest_ordinal(tx: Connection, intent: int) -> int:
    """Return the ordinal of the newest attempt, and lock the intent until the transaction ends."""
    tx.execute(select(TransactionRecord.id).where(TransactionRecord.id == intent).with_for_update())
    query = select(func.max(AttemptRecord.ordinal)).where(AttemptRecord.transaction_id == intent)
    return int(tx.execute(query).scalar_one())
