"""Money that the merchant sends: what refunds and payouts have in common.

Nothing on the chain keeps a plain transfer from happening twice. So each has one transaction, whose account nonce it
keeps until it is final that it did nothing; only then may there be another one.

```text
Reserved --submit--> Reserved (intended) --> Broadcast --logs--> Complete (provisional, confirmed, final)
   |  ^---- final, and nothing was moved ----'  ^------reopen----'
   '--recipient is forbidden--> Blocked
```
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Table, or_, select

from foreseal.payments.chain import (
    Incomplete,
    Parts,
    Receipt,
    Reverted,
    Token,
    Transfer,
    forbidden,
)
from foreseal.payments.chain.token import BLACKLISTED, POLICY_FORBIDS, RECEIVER_POLICY
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.evidence import WIDEST, Topics, newest_logs
from foreseal.payments.ledger import (
    REVERSIBLE,
    DisbursementState,
    Entry,
    Ledger,
    LedgerError,
    Place,
    Step,
    Trigger,
    entries,
    read,
)
from foreseal.payments.ledger import locked as lock
from foreseal.payments.ledger.states import DISBURSEMENT, following
from foreseal.payments.ledger.tables import Purpose
from foreseal.payments.merchant import Merchant
from foreseal.payments.sending import (
    Outcome,
    Sender,
    advance_each,
    note_delivery,
    note_outcome,
    open_intent,
    read_intent,
)


class Forbidden(LedgerError):
    """The token lets an account neither send nor receive. `account` is at fault."""

    def __init__(self, account: str) -> None:
        super().__init__(account)
        self.account = account

    def __str__(self) -> str:
        return f"{self.account} is forbidden by the token"


class Disbursements(ABC):
    """Refunds, or payouts."""

    table: Table
    purpose: Purpose
    decided: CrashPoint
    stored: CrashPoint

    def __init__(self, ledger: Ledger, sender: Sender, merchant: Merchant) -> None:
        if sender.account.address != merchant.payee:
            raise ValueError(f"payee: {merchant.payee} is not the key's account {sender.account.address}")
        self.ledger = ledger
        self.sender = sender
        self.merchant = merchant

    @abstractmethod
    def recipients(self, tx: Connection, row: Row[Any]) -> list[tuple[str, int]]:
        """Who gets how many units."""

    @abstractmethod
    def call(self, row: Row[Any], legs: list[tuple[str, int]]) -> tuple[str, bytes]:
        """Contract and call data."""

    @abstractmethod
    def trace(self, row: Row[Any], legs: list[tuple[str, int]]) -> tuple[str, Topics]:
        """Contract and topics of a log that there is if it was paid."""

    @abstractmethod
    def shown(self, row: Row[Any], legs: list[tuple[str, int]], receipt: Receipt) -> list[int] | None:
        """Positions in the block of the Transfers that paid all of it, as a receipt has them; None if it was not."""

    def get(self, id: str) -> Row[Any]:
        """One as it is. Raises `Unknown`."""
        with self.ledger.database.reading() as tx:
            return read(tx, self.table, id)

    def timeline(self, id: str) -> list[Entry]:
        """What happened to one, oldest first."""
        with self.ledger.database.reading() as tx:
            return entries(tx, self.table.name, id)

    def submit(self, id: str) -> Row[Any]:
        """Sign, store and send what is reserved; as it is then.

        It is Blocked where a recipient is forbidden. Raises `Forbidden` if the merchant or the contract is,
        `NotAllowed` if it is under way or done, `Reverted` if it would revert for another reason, `FeeTooHigh`,
        `Overtaken`, and what the node raises.
        """
        with self.ledger.database.reading() as tx:
            row = read(tx, self.table, id)
            legs = self.recipients(tx, row)
        following(DISBURSEMENT, Place(row.state, row.step), Trigger.SUBMIT)
        contract, data = self.call(row, legs)
        at_fault = self.forbidden(row.token, contract, legs)
        if at_fault in (self.merchant.payee, contract):
            raise Forbidden(at_fault)
        if at_fault is not None:
            return self._block(id, at_fault)
        try:
            call = self.sender.call(contract, data)
        except Reverted as error:
            if forbids(error):
                return self._block(id, error.reason)
            raise
        with self.ledger.database.transaction() as tx:
            self.ledger.move(tx, self.table, lock(tx, self.table, id), Trigger.SUBMIT)
            intent = self.sender.intents.store(tx, self.purpose, id, call)
            self.ledger.passed(self.decided)
        self.ledger.passed(self.stored)
        return self._deliver(id, intent)

    def advance(self, id: str) -> Row[Any]:
        """Do whatever it waits for, also to be sent for the first time; as it is then. Repeating it is safe.

        Raises as `submit` does.
        """
        with self.ledger.database.reading() as tx:
            row = read(tx, self.table, id)
            intent = open_intent(tx, self.purpose, id)
        if intent is not None:
            outcome = self.sender.outcome(intent)
            if outcome.step is Step.FAILED:
                self._look(row, intent)
            self.ledger.passed(CrashPoint.RECEIPT_READ)
            self._apply(id, outcome)
            if outcome.receipt is None and outcome.step is not Step.FAILED:
                return self._deliver(id, intent)
        elif row.state is DisbursementState.RESERVED:
            return self.submit(id)
        return self.get(id)

    def waiting(self) -> list[str]:
        """All that is not done."""
        columns = self.table.c
        waiting = or_(
            columns.state.in_((DisbursementState.RESERVED, DisbursementState.BROADCAST)),
            (columns.state == DisbursementState.COMPLETE) & columns.step.in_(REVERSIBLE),
        )
        with self.ledger.database.reading() as tx:
            return list(tx.execute(select(columns.id).where(waiting).order_by(columns.id)).scalars())

    def resume(self) -> dict[str, Exception]:
        """Advance all that is not done, as after a start; what went wrong, by id."""
        return advance_each(self.waiting(), self.advance)

    def forbidden(self, token: str, contract: str, legs: list[tuple[str, int]]) -> str | None:
        """The first account that the token lets not take part, by blacklist or holder policy, as of `pending`.

        `contract` is who executes the transfers: the token itself where the merchant sends them.
        """
        asked, payee = Token(self.sender.node, token), self.merchant.payee
        executor = None if contract == token else contract
        return forbidden(asked, Parts(payee, [recipient for recipient, _ in legs], executor), "pending")

    def _look(self, row: Row[Any], intent: int) -> None:
        """Raise `Incomplete` if logs show a transaction of which the node withholds the receipt.

        Nodes forget receipts, or find them late; without one it would be paid a second time.
        """
        with self.ledger.database.reading() as tx:
            _, tried = read_intent(tx, intent)
            contract, topics = self.trace(row, self.recipients(tx, row))
        hashes = {attempt.hash for attempt in tried}
        # A reorganisation may have brought it into a block below the one that it was signed at.
        since = max(0, tried[0].since_block - WIDEST)
        for log in newest_logs(self.sender.node, contract, topics, since):
            if log.transaction_hash in hashes:
                raise Incomplete(f"{self.table.name}: {row.id} was paid by {log.transaction_hash}, without a receipt")

    def _apply(self, id: str, outcome: Outcome) -> None:
        with self.ledger.database.transaction() as tx:
            note_outcome(self.ledger, tx, self.table, id, outcome, partial(self._paid, tx, outcome.step))
            self.ledger.passed(CrashPoint.RECEIPT_APPLIED)
        self.ledger.passed(CrashPoint.RECEIPT_STORED)

    def _paid(self, tx: Connection, step: Step, row: Row[Any], receipt: Receipt) -> dict[str, Any] | None:
        paid = self.shown(row, self.recipients(tx, row), receipt)
        if paid is not None:
            return {"log_index": paid}
        if receipt.succeeded and step is Step.FINAL:
            # What lacks its logs may have been paid: never again by itself.
            raise Incomplete(f"{receipt.transaction_hash} succeeded, and its receipt lacks the token's logs")
        return None

    def _deliver(self, id: str, intent: int) -> Row[Any]:
        note_delivery(self.ledger, self.table, id, self.sender.deliver(intent))
        return self.get(id)

    def _block(self, id: str, why: str) -> Row[Any]:
        with self.ledger.database.transaction() as tx:
            return self.ledger.move(tx, self.table, lock(tx, self.table, id), Trigger.BLOCK, reason=why)


def paid_by(moved: Sequence[Transfer], legs: Sequence[tuple[str, int]]) -> list[int] | None:
    """Log indices of transfers that are these legs, each one of its own; None if there are not enough."""
    left, found = list(moved), []
    for leg in legs:
        match = next((each for each in left if (each.recipient, each.amount) == leg), None)
        if match is None:
            return None
        left.remove(match)
        found.append(match.log.log_index)
    return found


def forbids(error: Reverted) -> bool:
    """Whether a revert says that a recipient is forbidden. A policy may also forbid the merchant, or who executes."""
    return error.data[:36] == POLICY_FORBIDS + RECEIVER_POLICY or error.reason == BLACKLISTED
