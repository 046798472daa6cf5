"""Grants: one per payment, stored before the handler runs.

```text
             payment verified        handler answers       settled, pre-confirmed
  (none) ----------------------> Held -----------> Answered ----------------> Settled -> final
                                  |                  |    ^---- reorganised ----'
                                  | answers an error '--> 409 while it is unknown
                                  '----> Declined
  Held, Answered, Declined ----> Released      it is proven that the payment was not settled and never will be
```

Every process of a seller shares the table; whoever inserts the row runs the handler.
"""

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Row, select, update
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse

from foreseal.payments.ledger import Duplicate, GrantState, Ledger, Step, Trigger, Unknown, locked, read
from foreseal.payments.x402.identities import Payment
from foreseal.payments.x402.tables import grants

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as a whole."""

    status: int
    headers: Headers
    body: bytes

    def having(self, **headers: str) -> "Answer":
        """The same with these headers, written with underscores, in place of what it had of them."""
        new = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = tuple(pair for pair in self.headers if pair[0].lower() not in new)
        return Answer(self.status, (*kept, *new.items()), self.body)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request asks a grant for."""

    payment: Payment
    payload: PaymentPayload
    requirements: PaymentRequirements
    request: bytes
    """32 bytes of the request that it was made for."""


class Grants:
    """The table, for the processes of one seller."""

    def __init__(self, ledger: Ledger, lease: int = 60) -> None:
        """`lease`: seconds for which a process that begins to settle is taken to be at work."""
        self.ledger = ledger
        self._lease = lease

    def find(self, id: str) -> Row[Any] | None:
        """A grant by the payment's name."""
        with self.ledger.database.reading() as tx:
            return tx.execute(select(grants).where(grants.c.id == id)).one_or_none()

    def grant(self, claim: Claim) -> bool:
        """Whether it is granted now, to the caller alone."""
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
        except Duplicate:
            return self._grant_again(id, values)
        return True

    def answer(self, id: str, answer: Answer, charged: int) -> None:
        """Store what the handler answered, and take the lease to settle it."""
        with self.ledger.database.transaction() as tx:
            self._keep(tx, id, answer, charged=charged, lease=self.ledger.clock() + self._lease)
            self.ledger.move(tx, grants, locked(tx, grants, id), Trigger.ANSWER)

    def decline(self, id: str, answer: Answer) -> None:
        """Store that the handler answered an error."""
        with self.ledger.database.transaction() as tx:
            self._keep(tx, id, answer)
            self.ledger.move(tx, grants, locked(tx, grants, id), Trigger.DECLINE)

    def settle(self, id: str, found: SettleResponse) -> Row[Any]:
        """Note how it was settled; what moves nothing on the chain is final. The grant as it is then."""
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
        """Give the lease back; note why it is not known whether it was settled, if it is not."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            tx.execute(update(grants).where(grants.c.id == id).values(lease=0))
            if lost is not None and self.ledger.allows(grants, row, Trigger.LOST):
                self.ledger.move(tx, grants, row, Trigger.LOST, reason=lost)

    def lease(self, row: Row[Any]) -> bool:
        """Whether the caller is the one to settle it now."""
        now = self.ledger.clock()
        if row.lease > now:  # of many copies none keeps a writer waiting
            return False
        mine = (grants.c.id == row.id) & (grants.c.state == GrantState.ANSWERED) & (grants.c.lease <= now)
        with self.ledger.database.transaction() as tx:
            taken = tx.execute(update(grants).where(mine).values(lease=now + self._lease))
        return taken.rowcount == 1

    def release(self, id: str, reason: str) -> None:
        """Note the proof that nothing was charged and nothing will be."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if self.ledger.allows(grants, row, Trigger.RELEASE):
                self.ledger.move(tx, grants, row, Trigger.RELEASE, reason=reason)

    def reopen(self, id: str, reason: str) -> None:
        """Note that the chain does not have the settlement any more."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if self.ledger.allows(grants, row, Trigger.REOPEN):
                self.ledger.move(tx, grants, row, Trigger.REOPEN, transaction=row.transaction_hash, reason=reason)

    def deepen(self, id: str, step: Step) -> None:
        """Note how safe the settlement is."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if row.state is GrantState.SETTLED:
                self.ledger.follow(tx, grants, row, step)

    def unfinished(self) -> list[Row[Any]]:
        """What is settled and not final, and what a reorganisation took back."""
        settled = (grants.c.state == GrantState.SETTLED) & (grants.c.step != Step.FINAL)
        lost = (grants.c.state == GrantState.ANSWERED) & grants.c.transaction_hash.is_not(None)
        with self.ledger.database.reading() as tx:
            return list(tx.execute(select(grants).where(settled | lost).order_by(grants.c.id)))

    def _grant_again(self, id: str, values: dict[str, Any]) -> bool:
        """Grant what was released and has no end: a voucher that was never charged."""
        with self.ledger.database.transaction() as tx:
            row = locked(tx, grants, id)
            if row.state is not GrantState.RELEASED or row.deadline is not None:
                return False
            tx.execute(update(grants).where(grants.c.id == id).values(**values, status=None, settlement=None))
            self.ledger.move(tx, grants, row, Trigger.GRANT)
        return True

    def _keep(self, tx: Connection, id: str, answer: Answer, **values: Any) -> None:
        headers = orjson.dumps(answer.headers).decode()
        kept = update(grants).where(grants.c.id == id)
        changed = tx.execute(kept.values(status=answer.status, headers=headers, body=answer.body, **values))
        if changed.rowcount != 1:
            raise Unknown(f"{grants.name}: there is no {id}")


def stored_answer(row: Row[Any]) -> Answer:
    """What the handler answered."""
    headers: Headers = tuple((name, value) for name, value in orjson.loads(row.headers))
    return Answer(row.status, headers, row.body)


def stored_payment(row: Row[Any]) -> tuple[PaymentPayload, PaymentRequirements]:
    """What was paid with, and what for."""
    payload = PaymentPayload.model_validate_json(row.payment)
    return payload, PaymentRequirements.model_validate_json(row.requirements)
