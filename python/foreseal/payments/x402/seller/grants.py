"""Grants: one per payment, stored before the handler runs.

```text
             payment verified        handler responds      settled, pre-confirmed
  (none) ----------------------> Held -----------> Answered ----------------> Settled -> final
                                  |                  |    ^---- reorganized ----'
                                  | error response   '--> 409 while it is unknown
                                  '----> Declined
  Held, Answered, Declined ----> Released      it is proven that the payment was not settled and never will be
```

Every process of a seller shares the table; the process that inserts the row runs the handler.
"""

from dataclasses import dataclass

import orjson
from sqlalchemy import Connection, select, update
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse

from foreseal.payments.ledger import (
    DuplicateRecord,
    Finality,
    GrantState,
    Ledger,
    StatusStep,
    Trigger,
    UnknownRecord,
    locked,
    read,
)
from foreseal.payments.ledger.queries import ColumnValues, fetch_all, fetch_one_or_none
from foreseal.payments.x402.models import GrantRecord
from foreseal.payments.x402.payment_key import Payment

HeaderList = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class GrantedResponse:
    """A complete response."""

    status: int
    headers: HeaderList
    body: bytes

    def having(self, **headers: str) -> "GrantedResponse":
        """Return a copy with these headers, written with underscores, in place of headers with the same name."""
        new = {name.replace("_", "-"): value for name, value in headers.items()}
        unchanged = tuple(pair for pair in self.headers if pair[0].lower() not in new)
        return GrantedResponse(self.status, (*unchanged, *new.items()), self.body)


@dataclass(frozen=True, slots=True)
class GrantRequest:
    """A request for a grant."""

    payment: Payment
    payload: PaymentPayload
    requirements: PaymentRequirements
    request: bytes
    """32-byte hash of the paid request."""


class Grants:
    """The table of grants, for the processes of one seller."""

    def __init__(self, ledger: Ledger, lease: int = 60) -> None:
        """Set up the grants. `lease` is the number of seconds that a process has to settle before another may."""
        self.ledger = ledger
        self._lease = lease

    def find(self, id: str) -> GrantRecord | None:
        """Return a grant by the payment's name."""
        with self.ledger.database.reading() as tx:
            return fetch_one_or_none(tx, select(GrantRecord).where(GrantRecord.id == id))

    def grant(self, claim: GrantRequest) -> bool:
        """Create a grant. Return True if the caller got it, and so may run the handler."""
        id = claim.payment.key.name
        values: ColumnValues = {
            GrantRecord.request: claim.request,
            GrantRecord.payment: claim.payload.model_dump_json(by_alias=True, exclude_none=True),
            GrantRecord.requirements: claim.requirements.model_dump_json(by_alias=True),
            GrantRecord.deadline: claim.payment.deadline,
            GrantRecord.lease: 0,
        }
        try:
            with self.ledger.database.transaction() as tx:
                self.ledger.create(tx, GrantRecord, Trigger.GRANT, {**values, GrantRecord.id: id})
        except DuplicateRecord:
            return self._grant_again(id, values)
        return True

    def answer(self, id: str, answer: GrantedResponse, charged: int) -> None:
        """Store the handler's response, and take the lease to settle it."""
        with self.ledger.database.transaction() as tx:
            lease = self.ledger.clock() + self._lease
            self._record_answer(tx, id, answer, {GrantRecord.charged: charged, GrantRecord.lease: lease})
            self.ledger.move(tx, GrantRecord, locked(tx, GrantRecord, id), Trigger.ANSWER)

    def decline(self, id: str, answer: GrantedResponse) -> None:
        """Store the handler's error response."""
        with self.ledger.database.transaction() as tx:
            self._record_answer(tx, id, answer, {})
            self.ledger.move(tx, GrantRecord, locked(tx, GrantRecord, id), Trigger.DECLINE)

    def settle(self, id: str, found: SettleResponse) -> GrantRecord:
        """Record the settlement. One without a transaction is final at once. Return the updated grant."""
        hash = found.transaction.lower() or None
        values: ColumnValues = {
            GrantRecord.settlement: found.model_dump_json(by_alias=True, exclude_none=True),
            GrantRecord.transaction_hash: hash,
            GrantRecord.lease: 0,
        }
        with self.ledger.database.transaction() as tx:
            row = locked(tx, GrantRecord, id)
            if row.state is GrantState.ANSWERED:
                tx.execute(update(GrantRecord).where(GrantRecord.id == id).values(values))
                row = self.ledger.move(tx, GrantRecord, row, Trigger.LANDED, transaction=hash)
                if hash is None:
                    self.ledger.move(tx, GrantRecord, row, Trigger.FINALIZE)
            return read(tx, GrantRecord, id)

    def unsettled(self, id: str, lost: str | None = None) -> None:
        """Release the lease. If `lost` is given, record why the outcome is unknown."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, GrantRecord, id)
            tx.execute(update(GrantRecord).where(GrantRecord.id == id).values({GrantRecord.lease: 0}))
            if lost is not None and self.ledger.allows(GrantRecord, row, Trigger.LOST):
                self.ledger.move(tx, GrantRecord, row, Trigger.LOST, reason=lost)

    def lease(self, row: GrantRecord) -> bool:
        """Return True if the caller got the lease to settle now."""
        now = self.ledger.clock()
        if row.lease > now:  # of many concurrent copies, none blocks a writer
            return False
        mine = (GrantRecord.id == row.id) & (GrantRecord.state == GrantState.ANSWERED) & (GrantRecord.lease <= now)
        with self.ledger.database.transaction() as tx:
            result = tx.execute(update(GrantRecord).where(mine).values({GrantRecord.lease: now + self._lease}))
        return result.rowcount == 1

    def release(self, id: str, reason: str) -> None:
        """Record the proof that nothing was charged and nothing will be."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, GrantRecord, id)
            if self.ledger.allows(GrantRecord, row, Trigger.RELEASE):
                self.ledger.move(tx, GrantRecord, row, Trigger.RELEASE, reason=reason)

    def reopen(self, id: str, reason: str) -> None:
        """Record that the chain no longer includes the settlement."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, GrantRecord, id)
            if self.ledger.allows(GrantRecord, row, Trigger.REOPEN):
                self.ledger.move(tx, GrantRecord, row, Trigger.REOPEN, transaction=row.transaction_hash, reason=reason)

    def deepen(self, id: str, step: StatusStep) -> None:
        """Record the settlement's current step."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, GrantRecord, id)
            if row.state is GrantState.SETTLED:
                self.ledger.follow(tx, GrantRecord, row, step)

    def unfinished(self) -> list[GrantRecord]:
        """Return the grants whose settlement is not final, or was undone by a reorganization."""
        settled = (GrantRecord.state == GrantState.SETTLED) & (GrantRecord.step != Finality.FINAL)
        lost = (GrantRecord.state == GrantState.ANSWERED) & GrantRecord.transaction_hash.is_not(None)
        with self.ledger.database.reading() as tx:
            return fetch_all(tx, select(GrantRecord).where(settled | lost).order_by(GrantRecord.id))

    def _grant_again(self, id: str, values: ColumnValues) -> bool:
        """Grant a released payment without a deadline again: a voucher that was never charged."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, GrantRecord, id)
            if row.state is not GrantState.RELEASED or row.deadline is not None:
                return False
            unsettled: ColumnValues = {GrantRecord.status: None, GrantRecord.settlement: None}
            tx.execute(update(GrantRecord).where(GrantRecord.id == id).values({**values, **unsettled}))
            self.ledger.move(tx, GrantRecord, row, Trigger.GRANT)
        return True

    def _record_answer(self, tx: Connection, id: str, answer: GrantedResponse, values: ColumnValues) -> None:
        response: ColumnValues = {
            GrantRecord.status: answer.status,
            GrantRecord.headers: orjson.dumps(answer.headers).decode(),
            GrantRecord.body: answer.body,
        }
        statement = update(GrantRecord).where(GrantRecord.id == id)
        changed = tx.execute(statement.values({**response, **values}))
        if changed.rowcount != 1:
            raise UnknownRecord(f"{GrantRecord.__tablename__}: no row has the id {id}")


def stored_answer(row: GrantRecord) -> GrantedResponse:
    """Return the handler's stored response."""
    assert row.status is not None, "the response is stored"
    assert row.headers is not None, "the response is stored"
    assert row.body is not None, "the response is stored"
    headers: HeaderList = tuple((name, value) for name, value in orjson.loads(row.headers))
    return GrantedResponse(row.status, headers, row.body)


def charged_amount(row: GrantRecord) -> int:
    """Return the amount to charge for the stored response, in smallest units."""
    assert row.charged is not None, "a stored response has an amount"
    return row.charged


def stored_payment(row: GrantRecord) -> tuple[PaymentPayload, PaymentRequirements]:
    """Return the stored payment, and the requirements that it pays."""
    payload = PaymentPayload.model_validate_json(row.payment)
    return payload, PaymentRequirements.model_validate_json(row.requirements)
