"""Payments in one step: terms and signature of many orders of one payee, each captured if requested.

A payment that cannot be captured stores nothing. States and crash points are those of orders that take each step in a
request of its own. `payment_groups` has the steps.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from foreseal.payments.chain import ChainError, RequestBatch, node_requests
from foreseal.payments.ledger import DuplicateRecord, Ledger, OrderStatus, TimelineEntry, Trigger
from foreseal.payments.ledger.identifiers import identifier
from foreseal.payments.ledger.models import OrderRecord, Purpose
from foreseal.payments.ledger.states import ORDER_TRANSITIONS, next_status
from foreseal.payments.ledger.timeline import record_entries
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.capture_batches import BatchedCapture, plan_batches
from foreseal.payments.orders.capture_checks import (
    CaptureChecks,
    CaptureObstacle,
    CaptureTarget,
    NotCapturable,
    is_used_request,
)
from foreseal.payments.orders.merchant_data import NO_DATA, MerchantData
from foreseal.payments.orders.new_orders import (
    ANOTHER_ORDER,
    PreparedOrder,
    StoredOrder,
    bind_authorizations,
    bound_authorizations,
    insert_orders,
    stored_ids,
)
from foreseal.payments.orders.payers import assigned_payer, require_buyer
from foreseal.payments.orders.terms import EarliestBlock, Expired, OrderTerms, memo, message, require_open
from foreseal.payments.signatures import InvalidSignature, SignatureChecks, SignedMessage, SignerPath
from foreseal.payments.transactions import NewIntent, SendingError, TransactionCall, TransactionSender
from foreseal.payments.typed_data import Domain


@dataclass(frozen=True, slots=True)
class NewPayment(PreparedOrder):
    """A signed order that is not stored yet."""

    capture: bool = False
    """True to capture it at once."""


@dataclass(frozen=True, slots=True)
class CheckedPayment:
    """A payment that passed the checks."""

    payment: NewPayment
    since_block: int
    """Earliest block that can include its authorization."""
    call: TransactionCall | None
    """Call that captures it, if requested."""


class PendingPaymentChecks:
    """Checks whose requests are in a batch. Available after the batch was executed."""

    def __init__(
        self,
        checks: CaptureChecks,
        domain: Domain,
        payments: Sequence[NewPayment],
        batch: RequestBatch,
        path: SignerPath,
    ) -> None:
        """Add the requests to the batch."""
        self._payments = payments
        self._earliest = EarliestBlock(batch)
        self._pending = batch.add(node_requests.head("pending"))
        kept = [payment for payment in payments if not payment.capture]
        signed = [
            SignedMessage(message(payment), assigned_payer(payment), payment.signature or b"") for payment in kept
        ]
        self._signatures = SignatureChecks(batch, domain, signed, has_code=path.has_code)
        # If the watcher has recorded the transfer of a used authorization, it never captures an order stored later.
        self._used = [batch.add(is_used_request(payment, "pending")) for payment in kept]
        captured = [CaptureTarget(payment, payment.amount) for payment in payments if payment.capture]
        self._lost_gas = checks.lost_gas
        self._captures = checks.begin(captured, batch, path)

    def results(self) -> list[CheckedPayment | Exception]:
        """Return each payment that can be stored, and captured if requested, or the reason against it.

        Reasons are `InvalidSignature`, `Expired`, `NotCapturable`, `SendingError` and `ChainError`.
        """
        calls = iter(self._captures.results())
        captured = [assigned_payer(each) for each in self._payments if each.capture]
        spent = self._lost_gas.find_spent(captured) if captured else {}
        results: list[CheckedPayment | Exception] = []
        positions = itertools.count()
        for payment in self._payments:
            call: TransactionCall | None = None
            try:
                if payment.capture:
                    outcome = next(calls)
                    outcome = (
                        outcome if isinstance(outcome, Exception) else spent.get(assigned_payer(payment)) or outcome
                    )
                    if isinstance(outcome, Exception):
                        results.append(outcome)
                        continue
                    call = outcome
                else:
                    self._require_storable(payment, next(positions))
                results.append(CheckedPayment(payment, self._earliest.number(), call))
            except (InvalidSignature, Expired, NotCapturable, ChainError) as error:
                results.append(error)
        return results

    def _require_storable(self, payment: NewPayment, position: int) -> None:
        """Raise the reason against a payment that is not captured at once. `position` is its position among those."""
        self._signatures.require(position)
        head = self._pending.result()
        require_open(payment.valid_before, self._earliest.timestamp() if head is None else head.timestamp)
        if self._used[position].result():
            raise NotCapturable(payment.id, CaptureObstacle.USED)


class Payments:
    """Payments to one merchant's key. `PaymentGroups` combines those of several."""

    def __init__(self, ledger: Ledger, sender: TransactionSender, merchant: Merchant) -> None:
        self.merchant = merchant
        self._ledger = ledger
        self._sender = sender
        self._checks = CaptureChecks(sender, merchant)

    def new(
        self, id: str, terms: OrderTerms, signature: bytes, *, capture: bool, data: MerchantData = NO_DATA
    ) -> NewPayment:
        """Return a payment with these terms. Raises ValueError and TypeError that begin with the argument's name."""
        self.merchant.check_payment(terms.amount)
        if not terms.valid_after < terms.valid_before:
            raise ValueError(f"valid_before: must be after valid_after, got {terms.valid_before}")
        require_buyer(terms.payer, self.merchant)
        domain = self.merchant.domain
        return NewPayment(
            id=identifier(id),
            chain_id=domain.chain_id,
            token=domain.contract,
            payer=terms.payer,
            payee=self.merchant.receiver,
            amount=terms.amount,
            valid_after=terms.valid_after,
            valid_before=terms.valid_before,
            nonce=terms.nonce,
            signature=signature,
            reference=data.reference,
            metadata_json=data.metadata_json,
            capture=capture,
        )

    def begin(self, payments: Sequence[NewPayment], batch: RequestBatch, path: SignerPath) -> PendingPaymentChecks:
        """Add the requests for the checks of these payments to a batch. All payers have code, or none has."""
        return PendingPaymentChecks(self._checks, self.merchant.domain, payments, batch, path)

    def find_without_room(self, tx: Connection, new: Sequence[CheckedPayment]) -> dict[str, SendingError]:
        """Return the payments, by id, whose capture the budget of payers with code has no room for, with the reason.

        The caller inserts the others in this transaction.
        """
        captured = [BatchedCapture(each.payment, each.call) for each in new if each.call is not None]
        return self._checks.find_without_room(tx, captured)

    def insert(self, tx: Connection, new: Sequence[CheckedPayment]) -> list[StoredOrder]:
        """Store payments, which have no duplicates, in the caller's transaction. Nothing is sent.

        Raises `sqlalchemy.exc.IntegrityError`, which ends the transaction, if another process stores one of them at
        the same time. Raises `SendingError`.
        """
        if not new:
            return []
        now = self._ledger.clock()
        created = next_status(ORDER_TRANSITIONS, None, Trigger.STORE_SIGNED)
        submitted = next_status(ORDER_TRANSITIONS, created, Trigger.CAPTURE)
        batches = plan_batches(
            [
                BatchedCapture(each.payment, each.call)
                for each in new
                if each.call is not None and self._checks.is_batched(each.payment)
            ]
        )
        batch_of = {id: batch.id for batch in batches for id in batch.order_ids}
        stored: list[StoredOrder] = []
        for each in new:
            status, id = created if each.call is None else submitted, each.payment.id
            stored.append(StoredOrder(each.payment, status, memo(id), now, batch_of.get(id)))
        insert_orders(tx, stored, [each.since_block for each in new])
        bind_authorizations(tx, [each.payment for each in new])
        intents = [
            NewIntent(Purpose.CAPTURE, each.payment.id, each.call)
            for each in new
            if each.call is not None and each.payment.id not in batch_of
        ]
        intents += [NewIntent(Purpose.CAPTURE_BATCH, batch.id, batch.call) for batch in batches]
        self._sender.intents.store_all(tx, intents)
        # After the signatures: entries that are recorded are counted, even if the caller undoes the rest.
        record_entries(tx, list(_entries(stored, created, submitted)))
        return stored


def find_duplicates(tx: Connection, payments: Sequence[NewPayment]) -> dict[int, DuplicateRecord]:
    """Return the payments, by position, whose id or authorization is stored, or occurs earlier in the list."""
    if not payments:
        return {}
    ids = stored_ids(tx, [each.id for each in payments])
    used = bound_authorizations(tx, payments[0].chain_id, [each.nonce for each in payments])
    duplicates: dict[int, DuplicateRecord] = {}
    for position, payment in enumerate(payments):
        key = (payment.token, assigned_payer(payment), payment.nonce)
        if payment.id in ids:
            duplicates[position] = DuplicateRecord(f"orders: {payment.id} already exists")
        elif key in used:
            duplicates[position] = DuplicateRecord(f"orders: the authorization of {payment.id} belongs to {used[key]}")
        ids.add(payment.id)
        used[key] = ANOTHER_ORDER
    return duplicates


def _entries(stored: Sequence[StoredOrder], created: OrderStatus, submitted: OrderStatus) -> list[TimelineEntry]:
    timeline = []
    for each in stored:
        id, time = each.order.id, each.created
        timeline.append(
            TimelineEntry(OrderRecord.__tablename__, id, time, Trigger.STORE_SIGNED, None, str(created), {})
        )
        if each.status == submitted:
            details = {} if each.capture_batch is None else {"batch": each.capture_batch}
            before, after = str(created), str(submitted)
            timeline.append(TimelineEntry(OrderRecord.__tablename__, id, time, Trigger.CAPTURE, before, after, details))
    return timeline
