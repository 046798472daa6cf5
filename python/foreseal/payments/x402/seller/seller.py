"""Seller logic without HTTP: verify and settle payments, determine their outcome, and follow them until final.

The facilitator runs over HTTP or in this process. Its reports count until the chain contradicts them. The node is the
seller's own: the proof that a payment was not settled comes from the chain, whichever facilitator is used.
"""

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import httpx
from starlette.concurrency import run_in_threadpool
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse, VerifiedPaymentCancelOptions
from x402.schemas.errors import PaymentAbortedError
from x402.schemas.hooks import SkipHandlerDirective
from x402.server_base import FacilitatorClient

from foreseal.payments.chain import ChainError, ChainNode, ConfirmationPolicy, Token
from foreseal.payments.chain.token import transfers
from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.ledger import Finality, GrantState, Ledger, LedgerError
from foreseal.payments.task_progress import TaskProgress
from foreseal.payments.transactions import SendingError, block_finality
from foreseal.payments.transfers.bounded_reads import UNREAD
from foreseal.payments.x402 import channels
from foreseal.payments.x402.channels import SellerChannels
from foreseal.payments.x402.facilitator.facilitator import InProcessFacilitator
from foreseal.payments.x402.models import GrantRecord
from foreseal.payments.x402.payloads import HASH
from foreseal.payments.x402.payment_key import BATCH, EXACT, PENDING, Payment, PaymentKey, granted
from foreseal.payments.x402.payment_status import PaymentFate, PaymentStatus, find_status, spent_by
from foreseal.payments.x402.seller.grants import GrantLease, Grants, charged_amount, stored_payment
from foreseal.payments.x402.seller.heartbeats import Heartbeats
from foreseal.payments.x402.seller.payment_requirements import Offers, SellerSettings

_log = logging.getLogger(__name__)

Silent = (httpx.HTTPError, OSError, TimeoutError, ChainError, SendingError)
"""Errors that leave the outcome open: the facilitator or the node did not answer."""


class Unavailable(Exception):
    """The facilitator or the node does not answer; nothing was done."""


class PaymentRejected(Exception):
    """The payment is rejected. `reason` is the package's error reason."""

    def __init__(self, reason: str, settlement: SettleResponse | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.settlement = settlement


class Undecided(Exception):
    """The payment may or may not be settled."""


@dataclass(frozen=True, slots=True)
class _Settlement:
    """A settlement on the chain."""

    block_number: int
    block_hash: str
    pays: bool
    """True if it transfers the charged amount."""


class Seller:
    """One process of a seller; several may share the database."""

    def __init__(
        self,
        ledger: Ledger,
        node: ChainNode,
        facilitator: FacilitatorClient,
        shop: SellerSettings,
        policy: ConfirmationPolicy | None = None,
        milliseconds: Callable[[], int] | None = None,
    ) -> None:
        self.ledger = ledger
        self.node = node
        self.grants = Grants(ledger)
        self.heartbeats = Heartbeats(lambda: self.ledger.clock())
        self.channels = SellerChannels(ledger.database)
        self.offers = Offers(shop, facilitator, self.channels)
        self.facilitator = facilitator
        self.followed = TaskProgress(lambda: self.ledger.clock())
        """Last complete check of the settlements that are not final."""
        self.policy = policy or ConfirmationPolicy()
        self._large_receipts: set[str] = set()
        # The package's scheme uses this clock for reservations of channels.
        self._milliseconds = milliseconds or (lambda: int(time.time() * 1000))

    async def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SkipHandlerDirective | None:
        """Verify a payment. For a payment without a handler (a channel's refund), return the response to send.

        Raises `PaymentRejected` and `Unavailable`.
        """
        obstacle = channels.claim_obstacle(payload) if requirements.scheme == BATCH else None
        if obstacle is not None:
            raise PaymentRejected(obstacle)
        try:
            verification = await self.offers.server.verify_payment(payload, requirements)
        except PaymentAbortedError as error:
            raise PaymentRejected(error.reason or "payment_refused") from error
        except (*Silent, ValueError) as error:  # the package raises ValueError if a facilitator's response is not 200
            raise Unavailable(str(error)) from error
        if not verification.is_valid:
            raise PaymentRejected(verification.invalid_reason or "payment_invalid")
        return verification.skip_handler

    def available(self, payment: Payment) -> int | None:
        """Return a payer's pre-confirmed balance; None for a payment out of a channel. Raises the node's errors."""
        if payment.key.contract == BATCH_SETTLEMENT:
            return None
        return Token(self.node, payment.token).balance(payment.key.payer, "pending")

    async def settle(self, payload: PaymentPayload, requirements: PaymentRequirements, charged: int) -> SettleResponse:
        """Settle a payment. Raises `PaymentRejected` if it is not settled, `Undecided` if the outcome is open."""
        charged_requirements = requirements.model_copy(update={"amount": str(charged)})
        try:
            settlement = await self.offers.server.settle_payment(payload, charged_requirements)
        except PaymentAbortedError as error:
            raise PaymentRejected(error.reason or "payment_refused") from error
        except Exception as error:
            # After any other error, the facilitator may still have sent it.
            _log.warning("settlement is undecided", extra={"reason": str(error)})
            raise Undecided(str(error)) from error
        moves = settlement.transaction or (charged and requirements.scheme != BATCH)
        if settlement.success and (not moves or HASH.fullmatch(settlement.transaction)):
            return settlement
        if settlement.success:
            raise Undecided("the facilitator returned no transaction")
        if settlement.error_reason == PENDING:
            raise Undecided(settlement.error_message or PENDING)
        await self._require_unpaid(payload, requirements)
        raise PaymentRejected(settlement.error_reason or "settlement_failed", settlement)

    async def _require_unpaid(self, payload: PaymentPayload, requirements: PaymentRequirements) -> None:
        """Raise `Undecided` if a payment that the facilitator did not settle may have been paid.

        Any account may submit it. The payer must not be asked to pay again then.
        """
        if requirements.scheme == BATCH:
            return
        try:
            status = await run_in_threadpool(find_status, self.node, granted(payload))
        except Silent as error:
            raise Undecided(str(error)) from error
        if status.fate is PaymentFate.SETTLED:
            raise Undecided(f"transaction {status.transaction} paid it")
        if status.fate is PaymentFate.SPENT and status.transaction is None:
            raise Undecided("its nonce is used, and the chain does not show for which transfer")

    async def cancel(self, payload: PaymentPayload, requirements: PaymentRequirements, status: int | None) -> None:
        """Release the reservations of `verify` after an error response of the handler, or after none."""
        dispatcher = self.offers.server.create_payment_cancellation_dispatcher(payload, requirements, None, None, [])
        threw = VerifiedPaymentCancelOptions(reason="handler_threw")
        failed = VerifiedPaymentCancelOptions(reason="handler_failed", response_status=status)
        await dispatcher.cancel(threw if status is None else failed)

    def working(
        self, lease: GrantLease, payload: PaymentPayload, requirements: PaymentRequirements
    ) -> AbstractContextManager[None]:
        """Return a context in which a lease, and the reservation of a channel, are renewed."""
        # A reservation of the package lasts as long as the payment is valid.
        interval = max(1, min(self.grants.seconds, requirements.max_timeout_seconds) // 3)

        def renew() -> bool:
            is_renewed = self.grants.renew(lease)
            if is_renewed and requirements.scheme == BATCH:
                end = self._milliseconds() + 1000 * self.grants.seconds
                channels.extend_reservation(self.channels, payload, end)
            return is_renewed

        return self.heartbeats.running(lease.id, renew, interval)

    async def finish(self, row: GrantRecord, lease: GrantLease) -> GrantRecord:
        """Settle a stored response that its process did not settle. Return the updated grant.

        Raises `PaymentRejected`, `Undecided`, and `ConcurrentUpdate` if the lease is lost. The chain is checked first,
        so a settled payment is not settled again.
        """
        with self.working(lease, *stored_payment(row)):
            try:
                response = await self._finished(row, lease)
            except PaymentRejected:
                await run_in_threadpool(self.grants.end, lease)
                raise
            except (Undecided, *Silent) as error:
                await run_in_threadpool(self.grants.end, lease, str(error))
                raise Undecided(str(error)) from error
            return await run_in_threadpool(self.grants.settle, lease, response)

    def is_good(self, row: GrantRecord) -> bool:
        """Return True if a grant's payment has a deadline that has not passed."""
        return row.state is not GrantState.RELEASED and row.deadline is not None and self.ledger.clock() <= row.deadline

    def fate(self, row: GrantRecord) -> PaymentStatus:
        """Return the status of a grant's payment. Raises the node's errors."""
        if row.state is GrantState.SETTLED:
            return PaymentStatus(PaymentFate.SETTLED, row.step is Finality.FINAL, row.transaction_hash, row.charged)
        if row.state is GrantState.RELEASED:
            return PaymentStatus(PaymentFate.UNSETTLED, final=True)
        payload, requirements = stored_payment(row)
        if requirements.scheme != BATCH:
            return find_status(self.node, granted(payload))
        if payload.payload["type"] == "refund":  # a refund charges nothing, and only the facilitator executes it
            return PaymentStatus(PaymentFate.OPEN, final=False)
        channel = self.channels.get(payload.payload["voucher"]["channelId"])
        if channels.is_charged(channel, payload):
            return PaymentStatus(PaymentFate.SETTLED, final=True, amount=row.charged)
        # Only this seller charges the channel. Without charge, reservation or lease, it will not be charged, unless a
        # stored response waits for settlement.
        idle = row.state is not GrantState.ANSWERED and row.lease <= self.ledger.clock()
        free = idle and not channels.is_reserved(channel, self._milliseconds())
        return PaymentStatus(PaymentFate.UNSETTLED if free else PaymentFate.OPEN, final=free)

    def is_paid(self, row: GrantRecord) -> bool:
        """Return True if the chain shows the transfer of the price, though nothing settled it here.

        Any account may submit a payment by `exact`. Raises the node's errors.
        """
        _, requirements = stored_payment(row)
        if requirements.scheme != EXACT:
            return False
        status = self.fate(row)
        return status.fate is PaymentFate.SETTLED and status.amount == int(requirements.amount)

    async def settled_status(self, row: GrantRecord) -> PaymentStatus:
        """Return the status from `fate`, and release the grant if non-payment is proven and no run has its lease."""
        status = await run_in_threadpool(self.fate, row)
        if not status.never or row.state is GrantState.RELEASED:
            return status
        if await run_in_threadpool(self.grants.release, row, status.fate):
            return status
        # A run has the lease, or the grant has changed since it was read.
        newest = await run_in_threadpool(self.grants.find, row.id)
        assert newest is not None, "a grant is never removed"
        return await run_in_threadpool(self.fate, newest)

    async def follow(self) -> None:
        """Check every settlement that is not final, and settle again if a reorganization undid it."""
        if isinstance(self.facilitator, InProcessFacilitator):
            await run_in_threadpool(self.facilitator.follow)
        for row in await run_in_threadpool(self.grants.unfinished):
            try:
                if row.state is GrantState.SETTLED:
                    await run_in_threadpool(self._deepen, row)
                elif (lease := await run_in_threadpool(self.grants.lease, row)) is not None:
                    await self.finish(row, lease)
            except (PaymentRejected, Undecided, LedgerError, ValueError, *Silent) as error:
                _log.warning("cannot track grant", extra={"payment": row.id, "reason": str(error)})
        self.followed.record()

    def _deepen(self, row: GrantRecord) -> None:
        receipt = self._settlement(row)
        if receipt is None:
            self.grants.reopen(row.id, "the transaction is no longer on the chain")
            return
        if not receipt.pays:
            self.grants.reopen(row.id, "the transaction does not pay the requested amount")
            return
        step = block_finality(self.node, self.policy, receipt.block_number, receipt.block_hash)
        if step is not None:
            self.grants.deepen(row.id, step)
            if step is Finality.FINAL:
                self._large_receipts.discard(row.id)

    def _settlement(self, row: GrantRecord) -> _Settlement | None:
        """Return the settlement of a grant that the chain has. Raises the node's errors."""
        payload, requirements = stored_payment(row)
        payment = granted(payload)
        wanted = (payment.payee, row.charged)
        if row.transaction_hash is None:
            return None
        is_authorized = requirements.scheme != BATCH and payment.key.contract == payment.token
        if row.id not in self._large_receipts:
            try:
                receipt = self.node.receipt(row.transaction_hash)
            except UNREAD:
                # Any account may submit an authorization, with any number of further logs.
                if not is_authorized:
                    raise
                self._large_receipts.add(row.id)
            else:
                if receipt is None:
                    return None
                # A deposit pays the channel contract, not the payee; the channel's record covers the charge.
                pays = requirements.scheme == BATCH or any(
                    (each.sender, each.recipient, each.amount) == (payment.key.payer, *wanted)
                    for each in transfers(receipt, payment.token)
                )
                return _Settlement(receipt.block_number, receipt.block_hash, receipt.succeeded and pays)
        use = spent_by(self.node, payment)
        if use is None:
            return None
        return _Settlement(use.block_number, use.block_hash, (use.recipient, use.amount) == wanted)

    async def _finished(self, row: GrantRecord, lease: GrantLease) -> SettleResponse:
        payload, requirements = stored_payment(row)
        status = await run_in_threadpool(self.fate, row)
        if status.never:
            await run_in_threadpool(self.grants.release, row, status.fate, lease)
            raise PaymentRejected("payment_expired")
        response = _on_chain(row, requirements, status)
        if response is not None:
            return response
        if requirements.scheme == BATCH:
            return await self._finish_voucher(row, payload, requirements)
        return await self.settle(payload, requirements, charged_amount(row))

    async def _finish_voucher(
        self, row: GrantRecord, payload: PaymentPayload, requirements: PaymentRequirements
    ) -> SettleResponse:
        """Charge a channel for a process that crashed before it did."""
        kind, balance = payload.payload.get("type"), None
        response = _response(row, requirements)
        if kind == "refund":
            raise PaymentRejected("refund_interrupted")
        if kind == "deposit":
            charged_requirements = requirements.model_copy(update={"amount": str(row.charged)})
            response = await self.facilitator.settle(payload, charged_requirements)
            if response.error_reason == PENDING:
                raise Undecided(PENDING)
            if not response.success:
                raise PaymentRejected(response.error_reason or "settlement_failed", response)
            balance = ((response.extra or {}).get("channelState") or {}).get("balance")
        await run_in_threadpool(channels.charge, self.channels, payload, charged_amount(row), balance)
        return response


def _on_chain(row: GrantRecord, requirements: PaymentRequirements, status: PaymentStatus) -> SettleResponse | None:
    """Return the settlement that the chain already shows; None unless it has the full amount."""
    if requirements.scheme == BATCH and status.fate is PaymentFate.SETTLED:
        return _response(row, requirements)
    if status.fate is not PaymentFate.SETTLED or status.transaction is None or status.amount != row.charged:
        return None
    return _response(row, requirements, status.transaction, str(status.amount))


def _response(
    row: GrantRecord, requirements: PaymentRequirements, transaction: str = "", amount: str = ""
) -> SettleResponse:
    payer = PaymentKey.parse(row.id).payer
    return SettleResponse(
        success=True, transaction=transaction, network=requirements.network, payer=payer, amount=amount
    )
