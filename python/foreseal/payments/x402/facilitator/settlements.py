"""Settlements of signed payments. Each is one transaction, stored before it is sent.

```text
wait for the payer's lock            only one settlement of a payer is in flight
  |
simulate on `pending`                would revert, or needs too much gas: rejected, nothing is stored
  |
  |  one database transaction:       the lock, if no other settlement held it since
  |                                  room in the budget of payers with code
  |                                  the settlement: unique by chain, contract, payer and nonce
  |                                  account nonce, signed bytes
commit
  |
send . . . receipt, which frees the lock -> provisional -> confirmed -> final
```

The simulation still holds when the transaction is sent: no process with the same database sent anything else of that
payer in between. A transaction therefore reverts only if the payer, or the token's administrator, acts faster than one
flashblock of the node. The locks are in the table `payer_locks`.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlalchemy import Connection, func, select, update

from foreseal.payments.chain import ChainReceipt, TooManyCalls, TransferParties
from foreseal.payments.chain.token import transfers
from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import DuplicateRecord, Ledger, SettlementState, Trigger, TxStatus, ensure, locked, read
from foreseal.payments.ledger.models import AttemptRecord, LostGasRecord, Purpose, TransactionRecord
from foreseal.payments.ledger.queries import ColumnValues, fetch_one_or_none
from foreseal.payments.signatures import SignerPath
from foreseal.payments.transactions import (
    GasBudgetInUse,
    GasBudgetSpent,
    RevertedPayment,
    TransactionCall,
    TransactionOutcome,
    TransactionSender,
    advance_rows,
    open_intent,
    open_subjects,
    record_delivery,
    record_outcome,
    release_code_gas,
)
from foreseal.payments.x402.crash_points import PaidPoint
from foreseal.payments.x402.models import PayerLockRecord, SettlementRecord
from foreseal.payments.x402.payment_key import Payment, PaymentKey
from foreseal.payments.x402.payment_status import spent_by

T = TypeVar("T")

MAX_PAYER_SETTLEMENTS = 8
"""Settlements of one payer in this process at the same time: one in flight, and those that wait for it."""

_RETRY_AFTER = 1.0


class AlreadySettling(Exception):
    """The payment is being settled, or was, on other terms than requested."""


@dataclass(frozen=True, slots=True)
class Waiter:
    """Timeouts of responses."""

    seconds: float = 5.0
    """Maximum wait for the payer's lock, and for a receipt."""
    poll_interval: float = 0.05
    """Seconds between two polls."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def until(self, poll: Callable[[], T | None], what: str) -> T:
        """Call `poll` until it returns a result other than None. Raises TimeoutError."""
        end = self.now() + self.seconds
        while True:
            polled = poll()
            if polled is not None:
                return polled
            if self.now() >= end:
                raise TimeoutError(f"{what}: not within {self.seconds} s")
            self.sleep(self.poll_interval)


@dataclass(frozen=True, slots=True)
class SettlementRequest:
    """A requested settlement."""

    payment: Payment
    digest: bytes
    """Hash of payload and demand. A request may be repeated with the same hash, not with another one."""
    path: SignerPath
    """Node for the calls about the payment."""


def _trusts_all(_: str) -> bool:
    return True


class Settlements:
    """Settlements whose gas one key pays."""

    def __init__(
        self,
        ledger: Ledger,
        sender: TransactionSender,
        patience: Waiter | None = None,
        trusts: Callable[[str], bool] = _trusts_all,
    ) -> None:
        """Set up. `trusts` returns False for a token whose code may be a stranger's."""
        self._trusts = trusts
        self._counts: Counter[str] = Counter()
        self._counts_lock = threading.Lock()
        self.ledger = ledger
        self.sender = sender
        self.patience = patience or Waiter()

    def find(self, key: PaymentKey) -> SettlementRecord | None:
        """Return the stored settlement of a payment."""
        with self.ledger.database.reading() as tx:
            return fetch_one_or_none(tx, select(SettlementRecord).where(SettlementRecord.id == key.name))

    def newest(self, key: PaymentKey) -> str | None:
        """Return the hash of the newest transaction signed for a payment."""
        query = (
            select(AttemptRecord.hash)
            .join(TransactionRecord)
            .where(TransactionRecord.purpose == Purpose.SETTLE, TransactionRecord.subject == key.name)
            .where(AttemptRecord.is_empty.is_(False))
            .order_by(TransactionRecord.round.desc(), AttemptRecord.ordinal.desc())
            .limit(1)
        )
        with self.ledger.database.reading() as tx:
            return tx.execute(query).scalar_one_or_none()

    def submit(self, request: SettlementRequest, target: str, data: bytes) -> str:
        """Return the hash of the transaction that settles a payment: a new one, or the one of an earlier request.

        Raises `AlreadySettling` if it is settled on other terms, `Reverted` if it would revert, `SendingError` such as
        `GasTooHigh`, `TooManyCalls` if the payer's lock stays taken, too many wait for it, or the budget of payers with
        code has no room, and the node's errors.
        """
        key = request.payment.key
        without_room: list[tuple[TransactionCall, GasBudgetInUse]] = []

        def attempt() -> int | None:
            if without_room and self.sender.lost_gas.is_in_use(without_room[-1][0]):
                return None  # a simulation would be in vain
            count = self._lock_count(key)
            if count is None and self.find(key) is None:
                return None  # another settlement of this payer is in flight
            if self._begun(request):
                return 0
            if request.payment.amount is not None:
                self.require_unspent(request.payment)
            call = self.call(request.path, target, data)
            call = replace(call, runs_code=self._counts_code(request))
            try:
                with self.ledger.database.transaction() as tx:
                    if count is None or not self._acquire(tx, key, count):
                        return None  # another settlement of this payer was sent since: simulate again
                    self.sender.lost_gas.require_room(tx, call)
                    stored = self._store(tx, request, call)
                    self.ledger.passed(PaidPoint.SETTLEMENT_DECIDED)
                    return stored
            except DuplicateRecord:
                return None  # another process just stored it: the next poll finds it
            except GasBudgetInUse as error:
                without_room.append((call, error))
                return None

        with self._counting(key.payer):
            try:
                intent = self.patience.until(attempt, f"turn of {key.payer}")
            except TimeoutError as error:
                message = str(without_room[-1][1] if without_room else error)
                raise TooManyCalls(message, _RETRY_AFTER) from error
        if intent:
            self.ledger.passed(PaidPoint.SETTLEMENT_STORED)
            record_delivery(self.ledger, SettlementRecord, key.name, self.sender.deliver(intent))
        newest_hash = self.newest(key)
        assert newest_hash is not None, "a stored settlement has signed bytes"
        return newest_hash

    @contextmanager
    def _counting(self, payer: str) -> Iterator[None]:
        """Count a settlement of a payer in this process: each holds a thread while it waits for the ones before it.

        Raises `TooManyCalls`.
        """
        with self._counts_lock:
            if self._counts[payer] >= MAX_PAYER_SETTLEMENTS:
                raise TooManyCalls(
                    f"{payer}: {MAX_PAYER_SETTLEMENTS} settlements of this payer are in progress", _RETRY_AFTER
                )
            self._counts[payer] += 1
        try:
            yield
        finally:
            with self._counts_lock:
                self._counts[payer] -= 1
                if not self._counts[payer]:
                    del self._counts[payer]

    def call(self, path: SignerPath, target: str, data: bytes) -> TransactionCall:
        """Return the call that settles a payment, with its estimates, and store nothing.

        If a signer has code, the final transaction is simulated as well; so is each one about channels, in which the
        code of several accounts may run. Raises `Reverted`, `SendingError` and the node's errors.
        """
        simulated = path.has_code or target == BATCH_SETTLEMENT
        return self.sender.with_node(path.node).call(target, data, simulated=simulated)

    def _counts_code(self, request: SettlementRequest) -> bool:
        """Return True if the settlement counts against the budget of payers with code: not a call about channels."""
        payment = request.payment
        return payment.amount is not None and (request.path.has_code or not self._trusts(payment.token))

    def require_unspent(self, payment: Payment) -> None:
        """Raise `GasBudgetSpent` if the payer spent its budget, or made an earlier settlement of this payment revert.

        Raises the node's errors.
        """
        key = payment.key
        is_trusted = self._trusts(payment.token)
        account = key.payer if is_trusted else payment.token
        self.sender.lost_gas.require_budget(account, runs_code=not is_trusted)
        query = (
            select(func.sum(LostGasRecord.gas))
            .join(AttemptRecord, AttemptRecord.hash == LostGasRecord.transaction_hash)
            .join(TransactionRecord, TransactionRecord.id == AttemptRecord.transaction_id)
            .where(TransactionRecord.purpose == Purpose.SETTLE, TransactionRecord.subject == key.name)
        )
        with self.ledger.database.reading() as tx:
            gas = tx.execute(query).scalar_one()
        if gas:
            raise GasBudgetSpent(f"the payer made the settlement of this payment revert, at the cost of {gas} gas")

    def release(self, request: SettlementRequest) -> None:
        """Record that a payment is settled with amount 0. Raises `AlreadySettling`."""
        try:
            with self.ledger.database.transaction() as tx:
                self.ledger.create(tx, SettlementRecord, Trigger.RELEASE, self._values(request))
        except DuplicateRecord:
            row = self.find(request.payment.key)
            if row is None or row.digest != request.digest:
                raise AlreadySettling(f"another settlement of {request.payment.key.name} exists") from None

    def receipt(self, key: PaymentKey) -> ChainReceipt:
        """Return the receipt of a settlement, pre-confirmed or in a block.

        Raises TimeoutError and the node's errors.
        """

        def find_receipt() -> ChainReceipt | None:
            outcome = self._record_outcome(key.name)
            if outcome is not None and outcome.receipt is not None:
                return outcome.receipt
            row = self.find(key)
            # The process that stored it may not have sent it, or a reorganization may have undone it.
            if row is not None and row.step in (TxStatus.INTENDED, TxStatus.UNKNOWN):
                self.advance(key.name)
            return None

        return self.patience.until(find_receipt, f"receipt of {key.name}")

    def advance(self, id: str) -> SettlementRecord:
        """Record the chain's state of a settlement, and resend its bytes if it has no receipt."""
        outcome = self._record_outcome(id)
        with self.ledger.database.reading() as tx:
            intent = open_intent(tx, Purpose.SETTLE, id)
        if (
            intent is not None
            and outcome is not None
            and outcome.receipt is None
            and outcome.step is not TxStatus.FAILED
        ):
            record_delivery(self.ledger, SettlementRecord, id, self.sender.deliver(intent))
        with self.ledger.database.reading() as tx:
            return read(tx, SettlementRecord, id)

    def resume(self) -> dict[str, Exception]:
        """Advance all settlements that are not final, for example after a start.

        Return the errors by the payment's name.
        """
        with self.ledger.database.reading() as tx:
            ids = open_subjects(tx, Purpose.SETTLE)
        return advance_rows(ids, self.advance)

    def count_open(self) -> int:
        """Return the number of settlements that are not final. Raises the database's errors."""
        count = select(func.count(TransactionRecord.subject.distinct())).where(
            TransactionRecord.purpose == Purpose.SETTLE, TransactionRecord.ending.is_(None)
        )
        with self.ledger.database.reading() as tx:
            return tx.execute(count).scalar_one()

    def _begun(self, request: SettlementRequest) -> bool:
        """Return True if it is pending or settled. Raises `AlreadySettling` for the same payment on other terms."""
        row = self.find(request.payment.key)
        if row is None:
            return False
        if row.step is TxStatus.FAILED:  # finally failed: another settlement may replace it
            return False
        if row.digest != request.digest or row.state is SettlementState.RELEASED:
            raise AlreadySettling(f"another settlement of {request.payment.key.name} exists")
        return True

    def _lock_count(self, key: PaymentKey) -> int | None:
        """Return how often this payer's lock was taken; None while it is held. Insert the payer's row if missing."""
        mine = (PayerLockRecord.chain_id == key.chain_id) & (PayerLockRecord.payer == key.payer)
        with self.ledger.database.reading() as tx:
            row = fetch_one_or_none(tx, select(PayerLockRecord).where(mine))
        if row is None:
            unlocked: ColumnValues = {
                PayerLockRecord.chain_id: key.chain_id,
                PayerLockRecord.payer: key.payer,
                PayerLockRecord.taken: 0,
            }
            with self.ledger.database.transaction() as tx:
                return 0 if ensure(tx, PayerLockRecord, unlocked) else None
        return None if row.holder is not None else row.taken

    def _acquire(self, tx: Connection, key: PaymentKey, count: int) -> bool:
        mine = (PayerLockRecord.chain_id == key.chain_id) & (PayerLockRecord.payer == key.payer)
        free = mine & PayerLockRecord.holder.is_(None) & (PayerLockRecord.taken == count)
        values: ColumnValues = {PayerLockRecord.holder: key.name, PayerLockRecord.taken: count + 1}
        return tx.execute(update(PayerLockRecord).where(free).values(values)).rowcount == 1

    def _store(self, tx: Connection, request: SettlementRequest, call: TransactionCall) -> int:
        id = request.payment.key.name
        again = tx.execute(select(SettlementRecord.id).where(SettlementRecord.id == id)).one_or_none()
        if again is None:
            self.ledger.create(tx, SettlementRecord, Trigger.SETTLE, self._values(request))
        else:
            row = locked(tx, SettlementRecord, id)
            if not self.ledger.allows(SettlementRecord, row, Trigger.SETTLE):
                raise DuplicateRecord(f"{id}: another process is settling it")
            tx.execute(update(SettlementRecord).where(SettlementRecord.id == id).values(self._values(request)))
            self.ledger.move(tx, SettlementRecord, row, Trigger.SETTLE)
        return self.sender.intents.store(tx, Purpose.SETTLE, id, call)

    def _values(self, request: SettlementRequest) -> ColumnValues:
        payment, key = request.payment, request.payment.key
        return {
            SettlementRecord.id: key.name,
            SettlementRecord.chain_id: key.chain_id,
            SettlementRecord.contract: key.contract,
            SettlementRecord.payer: key.payer,
            SettlementRecord.nonce: key.nonce,
            SettlementRecord.digest: request.digest,
            SettlementRecord.token: payment.token,
            SettlementRecord.payee: payment.payee,
            SettlementRecord.amount: payment.amount,
            SettlementRecord.deadline: payment.deadline,
        }

    def _record_outcome(self, id: str) -> TransactionOutcome | None:
        """Record the outcome of a settlement's transaction, and return it; None without a transaction."""
        with self.ledger.database.reading() as tx:
            row = read(tx, SettlementRecord, id)
            intent = open_intent(tx, Purpose.SETTLE, id)
            last = (
                select(TransactionRecord.id)
                .where(TransactionRecord.subject == id)
                .order_by(TransactionRecord.round.desc())
            )
            last = last.where(TransactionRecord.purpose == Purpose.SETTLE)
            closed = tx.execute(last.limit(1)).scalar_one_or_none()
        if intent is None:
            return None if closed is None else self.sender.outcome(closed)
        outcome = self.sender.outcome(intent)
        self.ledger.passed(CrashPoint.RECEIPT_READ)
        if outcome.receipt is not None and _shown(row, outcome.receipt) is None:
            self._record_lost_gas(row, outcome.receipt)
        with self.ledger.database.transaction() as tx:
            noted = record_outcome(self.ledger, tx, SettlementRecord, id, outcome, _shown)
            if noted and outcome.counts_code:
                release_code_gas(tx, [intent])
            if noted and (outcome.receipt is not None or outcome.step is TxStatus.FAILED):
                tx.execute(
                    update(PayerLockRecord).where(PayerLockRecord.holder == id).values({PayerLockRecord.holder: None})
                )
            self.ledger.passed(CrashPoint.RECEIPT_APPLIED)
        self.ledger.passed(CrashPoint.RECEIPT_STORED)
        return outcome

    def _record_lost_gas(self, row: SettlementRecord, receipt: ChainReceipt) -> None:
        """Record the gas of a settlement without effect. Of calls about channels, only a deposit has one payer."""
        if row.amount is None:
            return
        # Any account may submit the payment first; the payee then has the money.
        paid = spent_by(self.sender.node, stored_payment(row))
        if paid is not None and (paid.recipient, paid.amount) == (row.payee or BATCH_SETTLEMENT, row.amount):
            return
        executor = None if row.contract == row.token else row.contract
        parties = TransferParties(row.payer, [row.payee or BATCH_SETTLEMENT], executor)
        reverted = RevertedPayment(
            row.token, parties, row.deadline, receipt.gas_used, None if self._trusts(row.token) else row.token
        )
        # Anybody may have named the token.
        self.sender.lost_gas.record(receipt, [reverted], self.sender.node.for_party(row.token))


def stored_payment(row: SettlementRecord) -> Payment:
    """Return the payment of a stored settlement."""
    key = PaymentKey(row.chain_id, row.contract, row.payer, bytes(row.nonce))
    return Payment(key, row.token, row.payee, row.amount, row.deadline)


def _shown(row: SettlementRecord, receipt: ChainReceipt) -> dict[str, object] | None:
    """Return an empty dict if the receipt's logs show the settlement, else None. Its status alone proves nothing.

    A successful receipt without these logs is not a settlement, and not a fault of the node: any token contract may do
    nothing.
    """
    if row.amount is None:  # a call about channels: only the contract's own accounting shows its effect
        return {} if receipt.succeeded else None
    settled = any(
        moved.sender == row.payer
        and moved.amount == row.amount
        and (row.payee is None or moved.recipient == row.payee)
        and (row.contract != row.token or moved.nonce == row.nonce)
        for moved in transfers(receipt, row.token)
    )
    return {} if settled else None
