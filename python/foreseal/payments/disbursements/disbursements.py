"""Outgoing payments of the merchant: the common part of refunds and payouts.

Nothing on the chain prevents a plain transfer from happening twice. Each disbursement therefore has one transaction
with one account nonce. A second transaction is possible only once it is final that the first had no effect.

```text
Reserved --submit--> Reserved (intended) --> Broadcast --logs--> Complete (provisional, confirmed, final)
   |  ^---- final, and nothing was moved ----'  ^------reopen----'
   '--recipient is forbidden--> Blocked
```
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Generic, TypeVar

from sqlalchemy import Connection, or_, select

from foreseal.payments.chain import (
    ChainReceipt,
    Incomplete,
    Reverted,
    Transfer,
    TransferParties,
    find_forbidden_account,
)
from foreseal.payments.chain.token import BLACKLISTED, POLICY_FORBIDS, RECEIVER_POLICY
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import (
    REVERSIBLE,
    DisbursementState,
    DisbursementStatus,
    Finality,
    Ledger,
    LedgerError,
    StatusStep,
    TimelineEntry,
    Trigger,
    TxStatus,
    entries,
    locked,
    read,
)
from foreseal.payments.ledger.models import PayoutRecord, Purpose, RefundRecord
from foreseal.payments.ledger.states import DISBURSEMENT_TRANSITIONS, next_status
from foreseal.payments.merchant import Merchant
from foreseal.payments.transactions import (
    TransactionOutcome,
    TransactionSender,
    advance_rows,
    open_intent,
    read_intent,
    record_delivery,
    record_outcome,
)
from foreseal.payments.transfers.authorization_logs import MAX_LOG_RANGE, Topics, newest_logs

D = TypeVar("D", RefundRecord, PayoutRecord)


class RecipientForbidden(LedgerError):
    """The token forbids `account` to send or receive."""

    def __init__(self, account: str) -> None:
        super().__init__(account)
        self.account = account

    def __str__(self) -> str:
        return f"{self.account} is forbidden by the token"


class Disbursements(ABC, Generic[D]):
    """Base class of refunds and payouts."""

    model: type[D]
    purpose: Purpose
    decided: CrashPoint
    stored: CrashPoint

    def __init__(self, ledger: Ledger, sender: TransactionSender, merchant: Merchant) -> None:
        if sender.account.address != merchant.payee:
            raise ValueError(f"payee: {merchant.payee} is not the key's account {sender.account.address}")
        self.ledger = ledger
        self.sender = sender
        self.merchant = merchant

    @abstractmethod
    def recipients(self, tx: Connection, row: D) -> list[tuple[str, int]]:
        """Return recipients and their amounts in smallest units."""

    @abstractmethod
    def call(self, row: D, legs: list[tuple[str, int]]) -> tuple[str, bytes]:
        """Return contract and call data."""

    @abstractmethod
    def trace(self, row: D, legs: list[tuple[str, int]]) -> tuple[str, Topics]:
        """Return contract and topics of a log that exists if the row was paid."""

    @abstractmethod
    def find_effect(self, row: D, legs: list[tuple[str, int]], receipt: ChainReceipt) -> list[int] | None:
        """Return the log indices of the Transfers in a receipt that paid all of it; None if it was not paid."""

    def get(self, id: str) -> D:
        """Return the current row. Raises `UnknownRecord`."""
        with self.ledger.database.reading() as tx:
            return read(tx, self.model, id)

    def timeline(self, id: str) -> list[TimelineEntry]:
        """Return the timeline of a row, oldest entry first."""
        with self.ledger.database.reading() as tx:
            return entries(tx, self.model.__tablename__, id)

    def submit(self, id: str) -> D:
        """Sign, store and send a reserved disbursement. Return the updated row.

        A forbidden recipient makes it Blocked. Raises `RecipientForbidden` if the token forbids the merchant or the
        contract, `TransitionNotAllowed` if it is under way or done, `Reverted` if it would revert for another reason,
        `FeeTooHigh`, `ConcurrentUpdate`, and the node's errors.
        """
        with self.ledger.database.reading() as tx:
            row = read(tx, self.model, id)
            legs = self.recipients(tx, row)
        next_status(DISBURSEMENT_TRANSITIONS, DisbursementStatus(row.state, row.step), Trigger.SUBMIT)
        contract, data = self.call(row, legs)
        at_fault = self.forbidden(row.token, contract, legs)
        if at_fault in (self.merchant.payee, contract):
            raise RecipientForbidden(at_fault)
        if at_fault is not None:
            return self._block(id, f"{at_fault} is forbidden")
        try:
            call = self.sender.call(contract, data)
        except Reverted as error:
            if forbids(error):
                return self._block(id, error.reason)
            raise
        with self.ledger.database.transaction() as tx:
            self.ledger.move(tx, self.model, locked(tx, self.model, id), Trigger.SUBMIT)
            intent = self.sender.intents.store(tx, self.purpose, id, call)
            self.ledger.passed(self.decided)
        self.ledger.passed(self.stored)
        return self._deliver(id, intent)

    def advance(self, id: str) -> D:
        """Take the next step, including the first send. Return the updated row. Safe to repeat.

        Raises the same errors as `submit`.
        """
        with self.ledger.database.reading() as tx:
            row = read(tx, self.model, id)
            intent = open_intent(tx, self.purpose, id)
        if intent is not None:
            outcome = self.sender.outcome(intent)
            if outcome.step is TxStatus.FAILED:
                self._check_logs(row, intent)
            self.ledger.passed(CrashPoint.RECEIPT_READ)
            self._apply(id, outcome)
            if outcome.receipt is None and outcome.step is not TxStatus.FAILED:
                return self._deliver(id, intent)
        elif row.state is DisbursementState.RESERVED:
            return self.submit(id)
        return self.get(id)

    def waiting(self) -> list[str]:
        """Return the ids of all rows that are not done."""
        model = self.model
        waiting = or_(
            model.state.in_((DisbursementState.RESERVED, DisbursementState.BROADCAST)),
            (model.state == DisbursementState.COMPLETE) & model.step.in_(REVERSIBLE),
        )
        with self.ledger.database.reading() as tx:
            return list(tx.execute(select(model.id).where(waiting).order_by(model.id)).scalars())

    def resume(self) -> dict[str, Exception]:
        """Advance all rows that are not done, for example after a start. Return the errors by id."""
        return advance_rows(self.waiting(), self.advance)

    def forbidden(self, token: str, contract: str, legs: list[tuple[str, int]]) -> str | None:
        """Return the first account that the token forbids, by blacklist or holder policy, at `pending`.

        `contract` executes the transfers; it is the token itself if the merchant sends them.
        """
        executor = None if contract == token else contract
        parties = TransferParties(self.merchant.payee, [recipient for recipient, _ in legs], executor)
        return find_forbidden_account(self.sender.node, token, parties, "pending")

    def _check_logs(self, row: D, intent: int) -> None:
        """Raise `Incomplete` if logs show a transaction whose receipt the node withholds.

        Nodes may drop receipts, or index them late. Without this check the row would be paid a second time.
        """
        with self.ledger.database.reading() as tx:
            _, history = read_intent(tx, intent)
            contract, topics = self.trace(row, self.recipients(tx, row))
        hashes = {attempt.hash for attempt in history}
        # A reorganization may have moved it into a block below the one at which it was signed.
        since = max(0, history[0].since_block - MAX_LOG_RANGE)
        for log in newest_logs(self.sender.node, contract, topics, since):
            if log.transaction_hash in hashes:
                raise Incomplete(
                    f"{self.model.__tablename__}: {row.id} was paid by {log.transaction_hash}, which has no receipt"
                )

    def _apply(self, id: str, outcome: TransactionOutcome) -> None:
        with self.ledger.database.transaction() as tx:
            record_outcome(self.ledger, tx, self.model, id, outcome, partial(self._paid, tx, outcome.step))
            self.ledger.passed(CrashPoint.RECEIPT_APPLIED)
        self.ledger.passed(CrashPoint.RECEIPT_STORED)

    def _paid(self, tx: Connection, step: StatusStep, row: D, receipt: ChainReceipt) -> dict[str, object] | None:
        paid = self.find_effect(row, self.recipients(tx, row), receipt)
        if paid is not None:
            return {"log_index": paid, "block_number": receipt.block_number}
        if receipt.succeeded and step is Finality.FINAL:
            # A success without logs may still have paid, so it is never retried automatically.
            raise Incomplete(f"{receipt.transaction_hash} succeeded, and its receipt lacks the token's logs")
        return None

    def _deliver(self, id: str, intent: int) -> D:
        record_delivery(self.ledger, self.model, id, self.sender.deliver(intent))
        return self.get(id)

    def _block(self, id: str, why: str) -> D:
        with self.ledger.database.transaction() as tx:
            return self.ledger.move(
                tx, self.model, locked(tx, self.model, id), Trigger.BLOCK, reason="recipient_forbidden", message=why
            )


def paid_by(moved: Sequence[Transfer], legs: Sequence[tuple[str, int]]) -> list[int] | None:
    """Return the log indices of transfers that match these legs one to one; None if a leg has no match."""
    left, indices = list(moved), []
    for leg in legs:
        match = next((transfer for transfer in left if (transfer.recipient, transfer.amount) == leg), None)
        if match is None:
            return None
        left.remove(match)
        indices.append(match.log.log_index)
    return indices


def forbids(error: Reverted) -> bool:
    """Return True if a revert is about a forbidden recipient. A policy may also forbid the merchant or the executor."""
    return error.data[:36] == POLICY_FORBIDS + RECEIVER_POLICY or error.reason == BLACKLISTED
