"""Grants: one per payment, stored before the handler runs.

```text
             payment verified        handler responds      settled, pre-confirmed
  (none) ----------------------> Held -----------> Answered ----------------> Settled -> final
                                  |                  |    ^---- reorganized ----'
                                  | error response   '--> 409 while it is unknown
                                  '----> Declined
  Held, Answered, Declined ----> Released      it is proven that the payment was not settled and never will be
```

Every process of a seller shares the table; the process that inserts the row runs the handler. The same transaction
enters the grant as the one sale of the payment's authorization, which therefore pays no order. `Declined` and
`Released` end that: they deliver nothing.

A grant that is `Held` without a lease, and whose payment the chain shows, gets another run: the payer has paid for it.

A lease excludes a second run and a second settlement. It has an end and a fence: a number that grows with every lease
of the grant. The process that works renews its lease; the lease of a process that died ends. Every write of a run
names the fence, so a run that lost its lease changes nothing.
"""

from dataclasses import dataclass

import orjson
from sqlalchemy import ColumnElement, Connection, select, update
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse

from foreseal.payments.ledger import (
    ConcurrentUpdate,
    DuplicateRecord,
    Finality,
    GrantState,
    Ledger,
    LedgerError,
    StatusStep,
    Trigger,
    locked,
)
from foreseal.payments.ledger.models import AuthorizationRecord
from foreseal.payments.ledger.queries import ColumnValues, fetch_all, fetch_one_or_none
from foreseal.payments.transfers.grant_authorizations import (
    GrantedAuthorization,
    delete_authorization,
    enter_authorization,
    record_settlement,
)
from foreseal.payments.x402.models import GrantRecord
from foreseal.payments.x402.payment_key import UPTO, Payment, granted

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
    available: int | None = None
    """Balance of the payer in smallest units; None for a payment out of a channel."""

    def authorization(self) -> GrantedAuthorization:
        """Return the authorization that pays it."""
        key, payment = self.payment.key, self.payment
        amount = None if self.requirements.scheme == UPTO else payment.amount
        return GrantedAuthorization(key.name, key.chain_id, key.contract, key.payer, key.nonce, payment.payee, amount)


class BalanceCommitted(LedgerError):
    """The payer's balance does not cover the payments of its open grants."""


@dataclass(frozen=True, slots=True)
class GrantLease:
    """Right of one run to work on a grant, until another lease of the grant exists."""

    id: str
    fence: int


class Grants:
    """The table of grants, for the processes of one seller."""

    def __init__(self, ledger: Ledger, lease: int = 60) -> None:
        """Set up the grants. `lease` is the number of seconds after its last renewal at which a lease ends."""
        self.ledger = ledger
        self.seconds = lease

    def find(self, id: str) -> GrantRecord | None:
        """Return a grant by the payment's name."""
        with self.ledger.database.reading() as tx:
            return fetch_one_or_none(tx, select(GrantRecord).where(GrantRecord.id == id))

    def grant(self, claim: GrantRequest) -> GrantLease | None:
        """Create a grant. Return the lease if the caller got it, and so may run the handler.

        Raises `AuthorizationTaken` if the payment's authorization pays an order or was used otherwise, and
        `BalanceCommitted`.
        """
        id = claim.payment.key.name
        values: ColumnValues = {
            GrantRecord.request: claim.request,
            GrantRecord.payment: claim.payload.model_dump_json(by_alias=True, exclude_none=True),
            GrantRecord.requirements: claim.requirements.model_dump_json(by_alias=True),
            GrantRecord.deadline: claim.payment.deadline,
            GrantRecord.lease: self._end(),
        }
        try:
            with self.ledger.database.transaction() as tx:
                first: ColumnValues = {GrantRecord.id: id, GrantRecord.fence: 1}
                self.ledger.create(tx, GrantRecord, Trigger.GRANT, {**values, **first})
                enter_authorization(self.ledger, tx, claim.authorization())
                _require_covered(tx, claim)
        except DuplicateRecord:
            return self._grant_again(claim.authorization(), values)
        return GrantLease(id, 1)

    def lease(self, row: GrantRecord) -> GrantLease | None:
        """Return the lease to settle a stored response, or to run the handler again; None while another run has it."""
        now = self.ledger.clock()
        if row.lease > now:  # of many concurrent copies, none blocks a writer
            return None
        free = (GrantRecord.id == row.id) & (GrantRecord.state == row.state) & (GrantRecord.lease <= now)
        values: ColumnValues = {GrantRecord.lease: self._end(), GrantRecord.fence: GrantRecord.fence + 1}
        with self.ledger.database.transaction() as tx:
            leased = fetch_one_or_none(tx, update(GrantRecord).where(free).values(values).returning(GrantRecord))
        return None if leased is None else GrantLease(row.id, leased.fence)

    def renew(self, lease: GrantLease) -> bool:
        """Extend a lease of a run in progress. Return False if the run ended or lost its lease."""
        active = (GrantRecord.state == GrantState.HELD) | (GrantRecord.state == GrantState.ANSWERED)
        mine = _held(lease) & active & (GrantRecord.lease > 0)
        with self.ledger.database.transaction() as tx:
            result = tx.execute(update(GrantRecord).where(mine).values({GrantRecord.lease: self._end()}))
        return result.rowcount == 1

    def answer(self, lease: GrantLease, answer: GrantedResponse, charged: int) -> None:
        """Store the handler's response. Like all writes of a run, raises `ConcurrentUpdate` if its lease is lost."""
        values = {**_response(answer), GrantRecord.charged: charged, GrantRecord.lease: self._end()}
        with self.ledger.database.transaction() as tx:
            self.ledger.move(tx, GrantRecord, _write(tx, lease, values), Trigger.ANSWER)

    def decline(self, lease: GrantLease, answer: GrantedResponse) -> None:
        """Store the handler's error response, and end the lease."""
        with self.ledger.database.transaction() as tx:
            row = _write(tx, lease, {**_response(answer), GrantRecord.lease: 0})
            self.ledger.move(tx, GrantRecord, row, Trigger.DECLINE)
            delete_authorization(self.ledger, tx, lease.id)

    def settle(self, lease: GrantLease, settlement: SettleResponse) -> GrantRecord:
        """Record the settlement, and end the lease. One without a transaction is final at once.

        Return the updated grant.
        """
        hash = settlement.transaction.lower() or None
        values: ColumnValues = {
            GrantRecord.settlement: settlement.model_dump_json(by_alias=True, exclude_none=True),
            GrantRecord.transaction_hash: hash,
            GrantRecord.lease: 0,
        }
        with self.ledger.database.transaction() as tx:
            row = self.ledger.move(tx, GrantRecord, _write(tx, lease, values), Trigger.LANDED, transaction=hash)
            if hash is not None:
                record_settlement(self.ledger, tx, lease.id, hash, charged_amount(row))
            return row if hash is not None else self.ledger.move(tx, GrantRecord, row, Trigger.FINALIZE)

    def end(self, lease: GrantLease, lost: str | None = None) -> GrantRecord:
        """End a lease. If `lost` is given, record why the outcome is unknown. Return the updated grant."""
        with self.ledger.database.transaction() as tx:
            row = _write(tx, lease, {GrantRecord.lease: 0})
            if lost is not None and self.ledger.allows(GrantRecord, row, Trigger.LOST):
                return self.ledger.move(tx, GrantRecord, row, Trigger.LOST, reason=lost)
            return row

    def release(self, row: GrantRecord, reason: str, lease: GrantLease | None = None) -> bool:
        """Record the proof that nothing was charged and nothing will be. Return True if the grant is released.

        Does nothing if the grant has changed since it was read, or if a lease other than the caller's has not ended.
        """
        if not self.ledger.allows(GrantRecord, row, Trigger.RELEASE):
            return False
        same = (GrantRecord.id == row.id) & (GrantRecord.state == row.state) & (GrantRecord.step == row.step)
        # The run whose lease has ended may still work: its later writes fail.
        values: ColumnValues = {GrantRecord.lease: 0, GrantRecord.fence: GrantRecord.fence + int(lease is None)}
        free = GrantRecord.lease <= self.ledger.clock() if lease is None else _held(lease)
        with self.ledger.database.transaction() as tx:
            released = fetch_one_or_none(
                tx, update(GrantRecord).where(same & free).values(values).returning(GrantRecord)
            )
            if released is not None:
                self.ledger.move(tx, GrantRecord, released, Trigger.RELEASE, reason=reason)
                delete_authorization(self.ledger, tx, row.id)
        return released is not None

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

    def _grant_again(self, authorization: GrantedAuthorization, values: ColumnValues) -> GrantLease | None:
        """Grant a released payment without a deadline again: a voucher that was never charged."""
        id = authorization.grant_id
        with self.ledger.database.transaction() as tx:
            row = locked(tx, GrantRecord, id)
            if row.state is not GrantState.RELEASED or row.deadline is not None:
                return None
            fence = row.fence + 1
            cleared: ColumnValues = {GrantRecord.status: None, GrantRecord.settlement: None, GrantRecord.fence: fence}
            tx.execute(update(GrantRecord).where(GrantRecord.id == id).values({**values, **cleared}))
            self.ledger.move(tx, GrantRecord, row, Trigger.GRANT)
            enter_authorization(self.ledger, tx, authorization)
        return GrantLease(id, fence)

    def _end(self) -> int:
        return self.ledger.clock() + self.seconds


def _require_covered(tx: Connection, claim: GrantRequest) -> None:
    """Raise `BalanceCommitted` unless the payer can pay all its open grants: a handler runs before it is paid."""
    if claim.available is None:
        return
    key = claim.payment.key
    mine = (AuthorizationRecord.chain_id == key.chain_id) & (AuthorizationRecord.payer == key.payer)
    query = select(GrantRecord.payment).join(AuthorizationRecord, AuthorizationRecord.grant_id == GrantRecord.id)
    query = query.where(mine, GrantRecord.state.in_((GrantState.HELD, GrantState.ANSWERED)))
    payments = [granted(PaymentPayload.model_validate_json(text)) for text in tx.execute(query).scalars()]
    if len(payments) == 1:  # the facilitator has verified it alone
        return
    committed = sum(each.amount or 0 for each in payments if each.token == claim.payment.token)
    if committed > claim.available:
        raise BalanceCommitted(f"{key.payer} has {claim.available} units, and open payments of {committed}")


def _held(lease: GrantLease) -> ColumnElement[bool]:
    return (GrantRecord.id == lease.id) & (GrantRecord.fence == lease.fence)


def _write(tx: Connection, lease: GrantLease, values: ColumnValues) -> GrantRecord:
    """Write columns of a leased grant. Raises `ConcurrentUpdate` if the lease is lost."""
    row = fetch_one_or_none(tx, update(GrantRecord).where(_held(lease)).values(values).returning(GrantRecord))
    if row is None:
        raise ConcurrentUpdate(f"{GrantRecord.__tablename__}: lease {lease.fence} of {lease.id} is lost")
    return row


def _response(answer: GrantedResponse) -> ColumnValues:
    return {
        GrantRecord.status: answer.status,
        GrantRecord.headers: orjson.dumps(answer.headers).decode(),
        GrantRecord.body: answer.body,
    }


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
