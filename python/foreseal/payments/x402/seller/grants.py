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
from typing import Any

import orjson
from sqlalchemy import Connection, Row, select, update
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
from foreseal.payments.x402.payment_key import Payment
from foreseal.payments.x402.tables import grants

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

    def find(self, id: str) -> Row[Any] | None:
        """Return a grant by the payment's name."""
        with self.ledger.database.reading() as tx:
            return tx.execute(select(grants).where(grants.c.id == id)).one_or_none()

    def grant(self, claim: GrantRequest) -> bool:
        """Create a grant. Return True if the caller got it, and so may run the handler."""
        id = claim.payment.key.name
        values = {
            "request": claim.request,
            "payment": claim.payload.model_dump_json(by_alias=True, exclude_none=True),
            "requirements": claim.requirements.model_dump_json(by_alias=True),
            "deadline": claim.payment.deadline,
            "lease": 0,
        }
        try:
            with self.ledger.database.transaction() as tx:
                self.ledger.create(tx, grants, Trigger.GRANT, id=id, **values)
        except DuplicateRecord:
            return self._grant_again(id, values)
        return True

    def answer(self, id: str, answer: GrantedResponse, charged: int) -> None:
        """Store the handler's response, and take the lease to settle it."""
        with self.ledger.database.transaction() as tx:
            self._record_answer(tx, id, answer, charged=charged, lease=self.ledger.clock() + self._lease)
            self.ledger.move(tx, grants, locked(tx, grants, id), Trigger.ANSWER)

    def decline(self, id: str, answer: GrantedResponse) -> None:
        """Store the handler's error response."""
        with self.ledger.database.transaction() as tx:
            self._record_answer(tx, id, answer)
            self.ledger.move(tx, grants, locked(tx, grants, id), Trigger.DECLINE)

    def settle(self, id: str, found: SettleResponse) -> Row[Any]:
        """Record the settlement. One without a transaction is final at once. Return the updated grant."""
        hash = found.transaction.lower() or None
        values = {"settlement": found.model_dump_json(by_alias=True, exclude_none=True), "transaction_hash": hash}
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if row.state is GrantState.ANSWERED:
                tx.execute(update(grants).where(grants.c.id == id).values(**values, lease=0))
                row = self.ledger.move(tx, grants, row, Trigger.LANDED, transaction=hash)
                if hash is None:
                    self.ledger.move(tx, grants, row, Trigger.FINALIZE)
            return read(tx, grants, id)

    def unsettled(self, id: str, lost: str | None = None) -> None:
        """Release the lease. If `lost` is given, record why the outcome is unknown."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            tx.execute(update(grants).where(grants.c.id == id).values(lease=0))
            if lost is not None and self.ledger.allows(grants, row, Trigger.LOST):
                self.ledger.move(tx, grants, row, Trigger.LOST, reason=lost)

    def lease(self, row: Row[Any]) -> bool:
        """Return True if the caller got the lease to settle now."""
        now = self.ledger.clock()
        if row.lease > now:  # of many concurrent copies, none blocks a writer
            return False
        mine = (grants.c.id == row.id) & (grants.c.state == GrantState.ANSWERED) & (grants.c.lease <= now)
        with self.ledger.database.transaction() as tx:
            result = tx.execute(update(grants).where(mine).values(lease=now + self._lease))
        return result.rowcount == 1

    def release(self, id: str, reason: str) -> None:
        """Record the proof that nothing was charged and nothing will be."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if self.ledger.allows(grants, row, Trigger.RELEASE):
                self.ledger.move(tx, grants, row, Trigger.RELEASE, reason=reason)

    def reopen(self, id: str, reason: str) -> None:
        """Record that the chain no longer includes the settlement."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if self.ledger.allows(grants, row, Trigger.REOPEN):
                self.ledger.move(tx, grants, row, Trigger.REOPEN, transaction=row.transaction_hash, reason=reason)

    def deepen(self, id: str, step: StatusStep) -> None:
        """Record the settlement's current step."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if row.state is GrantState.SETTLED:
                self.ledger.follow(tx, grants, row, step)

    def unfinished(self) -> list[Row[Any]]:
        """Return the grants whose settlement is not final, or was undone by a reorganization."""
        settled = (grants.c.state == GrantState.SETTLED) & (grants.c.step != Finality.FINAL)
        lost = (grants.c.state == GrantState.ANSWERED) & grants.c.transaction_hash.is_not(None)
        with self.ledger.database.reading() as tx:
            return list(tx.execute(select(grants).where(settled | lost).order_by(grants.c.id)))

    def _grant_again(self, id: str, values: dict[str, Any]) -> bool:
        """Grant a released payment without a deadline again: a voucher that was never charged."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if row.state is not GrantState.RELEASED or row.deadline is not None:
                return False
            tx.execute(update(grants).where(grants.c.id == id).values(**values, status=None, settlement=None))
            self.ledger.move(tx, grants, row, Trigger.GRANT)
        return True

    def _record_answer(self, tx: Connection, id: str, answer: GrantedResponse, **values: Any) -> None:
        headers = orjson.dumps(answer.headers).decode()
        statement = update(grants).where(grants.c.id == id)
        changed = tx.execute(statement.values(status=answer.status, headers=headers, body=answer.body, **values))
        if changed.rowcount != 1:
            raise UnknownRecord(f"{grants.name}: no row has the id {id}")


def stored_answer(row: Row[Any]) -> GrantedResponse:
    """Return the handler's stored response."""
    headers: HeaderList = tuple((name, value) for name, value in orjson.loads(row.headers))
    return GrantedResponse(row.status, headers, row.body)


def stored_payment(row: Row[Any]) -> tuple[PaymentPayload, PaymentRequirements]:
    """Return the stored payment, and the requirements that it pays."""
    payload = PaymentPayload.model_validate_json(row.payment)
    return payload, PaymentRequirements.model_validate_json(row.requirements)
