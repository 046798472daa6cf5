"""Facilitator: checks signed payments, settles them on the chain, and pays the gas.

It uses the schemes of the package `x402` unchanged. In addition, a settlement is stored before it is sent, happens once
per payment despite repeated requests, and has a status that reports its outcome.

Sellers with the same payee account must share a database of grants. A facilitator answers a repeated settlement request
with the first transaction, because it cannot distinguish a retry from a second seller.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace

from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak
from starlette.concurrency import run_in_threadpool
from x402 import x402FacilitatorSync
from x402.extensions.eip2612_gas_sponsoring import EIP2612_GAS_SPONSORING
from x402.mechanisms.evm.batch_settlement.facilitator import BatchSettlementEvmFacilitator
from x402.mechanisms.evm.exact.facilitator import ExactEvmScheme
from x402.mechanisms.evm.upto.facilitator import UptoEvmScheme
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse, SupportedResponse, VerifyResponse

from foreseal.payments.chain import ChainNode, ChainReceipt, RequestBatch, node_requests
from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.ledger import Finality, SettlementState, TxStatus
from foreseal.payments.signatures import SignerPath
from foreseal.payments.task_progress import TaskProgress
from foreseal.payments.transactions import GasBudgetSpent, TransactionSigner
from foreseal.payments.x402.facilitator.bounds import FacilitatorBounds, signers
from foreseal.payments.x402.facilitator.settlements import (
    AlreadySettling,
    SettlementRequest,
    Settlements,
    stored_payment,
)
from foreseal.payments.x402.facilitator.signer import GAS_BUDGET_SPENT, NodeSigner
from foreseal.payments.x402.payment_key import (
    BATCH,
    EXACT,
    PENDING,
    UPTO,
    Payment,
    PaymentKey,
    digest,
    granted,
    settled,
)
from foreseal.payments.x402.payment_status import PaymentFate, PaymentStatus, find_status, spent_by

_log = logging.getLogger(__name__)

_RECEIVERS = keccak(text="receivers(address,address)")[:4]


class _Writing:
    """One settlement, as the schemes' submitter and as their store of pending transactions."""

    def __init__(self, settlements: Settlements, request: SettlementRequest) -> None:
        self._settlements = settlements
        self._request = request
        self.landed: ChainReceipt | None = None

    def submit(self, target: str, data: bytes) -> str:
        return self._settlements.submit(self._request, target, data)

    def receipt(self) -> ChainReceipt:
        self.landed = self._settlements.receipt(self._request.payment.key)
        return self.landed

    def get(self, key: str) -> str | None:
        """Return the hash of the pending or completed transaction. A scheme waits for it instead of sending another."""
        row = self._settlements.find(self._request.payment.key)
        in_flight = row is not None and row.digest == self._request.digest and row.step is not TxStatus.FAILED
        return self._settlements.newest(self._request.payment.key) if in_flight else None

    def set(self, key: str, tx_hash: str) -> None:
        """Do nothing: the transaction was stored before it was sent."""

    def delete(self, key: str) -> None:
        """Do nothing: settlements are never deleted."""


class _Rehearsal:
    """A simulated settlement, which ends where the transaction would be stored."""

    def __init__(self, settlements: Settlements, path: SignerPath) -> None:
        self._settlements = settlements
        self._path = path

    def submit(self, target: str, data: bytes) -> str:
        self._settlements.call(self._path, target, data)
        return "0x" + "ff" * 32

    def receipt(self) -> ChainReceipt:
        raise TimeoutError("nothing was sent")

    def get(self, key: str) -> str | None:
        return None

    def set(self, key: str, tx_hash: str) -> None:
        """Do nothing: the transaction does not exist."""

    def delete(self, key: str) -> None:
        """Do nothing."""


class Facilitator:
    """Verifier and settler for one chain and one key. Safe for use from any thread."""

    def __init__(
        self,
        settlements: Settlements,
        bounds: FacilitatorBounds | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settlements = settlements
        self.bounds = bounds or FacilitatorBounds()
        self.followed = TaskProgress(monotonic)
        """Last complete check of the settlements that are not final."""
        self._network = f"eip155:{settlements.sender.intents.chain_id}"

    @property
    def node(self) -> ChainNode:
        """Node used for settlements."""
        return self.settlements.sender.node

    @property
    def account(self) -> TransactionSigner:
        """Account that pays the gas, and that payers of `upto` name."""
        return self.settlements.sender.account

    def supported(self) -> SupportedResponse:
        """Return schemes, extensions and the account."""
        return _schemes(self._signer(self.node), self._network, None).get_supported()

    def verify(self, payment: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        """Check that a payment would be settled now, at `pending`. Raises `Malformed` and the node's errors."""
        payer = granted(payment).key.payer
        refused = self._refused(payment, requirements)
        if refused is not None:
            return VerifyResponse(is_valid=False, invalid_reason=refused, payer=payer)
        path = self._path(payment, requirements)
        signer = self._signer(path.node)
        response = _schemes(signer, self._network, None).verify(payment, requirements)
        if not response.is_valid:
            rejection = signer.rejection()
            if rejection is not None:
                return _invalid(payer, rejection.reason, rejection.message)
        if response.is_valid and _is_transfer(payment):
            rejected = self._budget_or_rehearsal_rejection(payment, requirements, path)
            if rejected is not None:
                return _invalid(payer, rejected.error_reason, rejected.error_message)
        return response

    def _path(self, payment: PaymentPayload, requirements: PaymentRequirements) -> SignerPath:
        """Return the node for the calls about a payment, which limits those of code that strangers chose.

        Raises `Malformed` and the node's errors.
        """
        batch = RequestBatch()
        codes = {account: batch.add(node_requests.code(account, "pending")) for account in signers(payment)}
        batch.execute(self.node)
        wallets = [account for account, code in codes.items() if code.result()]
        token = self.bounds.strange_token(payment, requirements)
        party = token or next(iter(wallets), None)
        return SignerPath(self.node if party is None else self.node.for_party(party), bool(wallets))

    def _budget_or_rehearsal_rejection(
        self, payment: PaymentPayload, requirements: PaymentRequirements, path: SignerPath
    ) -> SettleResponse | None:
        """Return why a valid transfer costs gas that it should not, or None."""
        requested = settled(payment, requirements)
        try:
            self.settlements.require_unspent(requested)
        except GasBudgetSpent as error:
            return self._failure(requested, GAS_BUDGET_SPENT, str(error))
        if path.has_code or _is_unsimulated(payment):
            return self._rehearse(payment, requirements, path)
        return None

    def _rehearse(
        self, payment: PaymentPayload, requirements: PaymentRequirements, path: SignerPath
    ) -> SettleResponse | None:
        """Return the failure of a simulated settlement, or None if the payment would be settled."""
        requested = settled(payment, requirements)
        rehearsal = _Rehearsal(self.settlements, path)
        signer = self._signer(path.node, rehearsal)
        response = _schemes(signer, self._network, rehearsal).settle(payment, requirements)
        if response.error_reason == PENDING:
            return None
        rejection = signer.rejection()
        return response if rejection is None else self._failure(requested, rejection.reason, rejection.message)

    def settle(self, payment: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        """Settle a payment, or return its earlier settlement. Raises `Malformed` and the node's errors.

        `settlement_pending` with a transaction means that it was sent; a retry is safe.
        """
        requested = self._requested_payment(payment, requirements)
        refused = self._refused(payment, requirements)
        if refused is not None:
            return self._failure(requested, refused)
        content = digest(payment, requirements)
        row = self.settlements.find(requested.key)
        if row is not None and row.state is SettlementState.RELEASED and row.digest == content:
            return self._success(requested, "", 0)
        if row is not None and row.digest != content and row.step is not TxStatus.FAILED:
            return self._failure(requested, "payment_settled_otherwise")
        request = SettlementRequest(requested, content, self._path(payment, requirements))
        writing = _Writing(self.settlements, request)
        signer = self._signer(request.path.node, writing)
        response = _schemes(signer, self._network, writing).settle(payment, requirements)
        try:
            if response.success and requirements.scheme == UPTO and requested.amount == 0:
                self.settlements.release(request)
        except AlreadySettling:
            return self._failure(requested, "payment_settled_otherwise")
        if not response.success:
            elsewhere = self._elsewhere(requested)
            if elsewhere is None and response.error_reason != PENDING:
                rejection = signer.rejection()
                sent = None if rejection is None else writing.get(requested.key.name)
                if sent is not None:  # another request has sent it since
                    return self._failure(requested, PENDING).model_copy(update={"transaction": sent})
                if rejection is not None:
                    return self._failure(requested, rejection.reason, rejection.message)
            return elsewhere or response
        landed = response.transaction if writing.landed is None else writing.landed.transaction_hash
        return response.model_copy(update={"transaction": landed})

    def status(self, key: PaymentKey, deadline: int | None = None) -> PaymentStatus:
        """Return the status of a payment. For a payment never settled here, the caller gives its deadline.

        Raises ValueError for a payment of another chain, and the node's errors.
        """
        if f"eip155:{key.chain_id}" != self._network:
            raise ValueError(f"payment: network must be {self._network}, got eip155:{key.chain_id}")
        row = self.settlements.find(key)
        node = self.node if self.bounds.trusts(key.contract) else self.node.for_party(key.contract)
        if row is None:
            return find_status(node, Payment(key, key.contract, None, None, deadline))
        if row.state is SettlementState.RELEASED:
            return PaymentStatus(PaymentFate.SETTLED, final=True, amount=0)
        row = self.settlements.advance(key.name)
        if row.state is SettlementState.SETTLED:
            return PaymentStatus(
                PaymentFate.SETTLED, row.step is Finality.FINAL, self.settlements.newest(key), row.amount
            )
        return find_status(node, stored_payment(row))

    def follow(self) -> None:
        """Check once all settlements that are not final, and resend those that are not on the chain."""
        for payment, error in self.settlements.resume().items():
            _log.warning("cannot track settlement", extra={"payment": payment, "reason": str(error)})
        self.followed.record()

    def _signer(self, node: ChainNode, writing: _Writing | _Rehearsal | None = None) -> NodeSigner:
        return NodeSigner(node, self.account.address, writing)

    def _requested_payment(self, payment: PaymentPayload, requirements: PaymentRequirements) -> Payment:
        totals: tuple[int, ...] = ()
        if requirements.scheme == BATCH and payment.payload.get("type") == "settle":
            settled(payment, requirements)
            data = _RECEIVERS + encode(["address", "address"], [payment.payload["receiver"], payment.payload["token"]])
            totals = tuple(decode(["uint256", "uint256"], self.node.call(BATCH_SETTLEMENT, data, "pending")))
        requested = settled(payment, requirements, totals)
        return replace(requested, amount=int(requirements.amount)) if requirements.scheme == UPTO else requested

    def _refused(self, payment: PaymentPayload, requirements: PaymentRequirements) -> str | None:
        if requirements.network != self._network or payment.accepted.network != self._network:
            return "network_mismatch"
        if requirements.scheme != payment.accepted.scheme:
            return "unsupported_scheme"
        if requirements.scheme == EXACT and int(requirements.amount) == 0:
            return "amount_is_zero"  # it would only cost gas
        return self.bounds.refuses(payment, requirements)

    def _elsewhere(self, requested: Payment) -> SettleResponse | None:
        """Return a success if another account submitted the payment first and it paid the same payee.

        Any account may submit a signed transfer that it has seen, by EIP-3009 or to the exact proxy of Permit2.
        """
        if requested.payee is None:
            return None
        use = spent_by(self.node, requested)
        if use is None or (use.recipient, use.amount) != (requested.payee, requested.amount):
            return None
        return self._success(requested, use.transaction_hash, use.amount)

    def _success(self, requested: Payment, transaction: str, amount: int) -> SettleResponse:
        return SettleResponse(
            success=True,
            payer=requested.key.payer,
            transaction=transaction,
            network=self._network,
            amount=str(amount),
        )

    def _failure(self, requested: Payment, reason: str, message: str | None = None) -> SettleResponse:
        return SettleResponse(
            success=False,
            error_reason=reason,
            error_message=message,
            payer=requested.key.payer,
            transaction="",
            network=self._network,
        )


def _invalid(payer: str, reason: str | None, message: str | None) -> VerifyResponse:
    return VerifyResponse(is_valid=False, invalid_reason=reason, invalid_message=message, payer=payer)


def _is_unsimulated(payment: PaymentPayload) -> bool:
    """Return True if the scheme checks signature, allowance and balance, but simulates nothing."""
    return payment.accepted.scheme == EXACT and "permit2Authorization" in payment.payload


def _is_transfer(payment: PaymentPayload) -> bool:
    """Return True if the settlement of a payment is a transaction that its payer signed."""
    return payment.accepted.scheme in (EXACT, UPTO) or payment.payload.get("type") == "deposit"


def _schemes(signer: NodeSigner, network: str, writing: _Writing | _Rehearsal | None) -> x402FacilitatorSync:
    networks = [network]
    schemes = x402FacilitatorSync()
    schemes.register(networks, ExactEvmScheme(signer, pending_store=writing))
    schemes.register(networks, UptoEvmScheme(signer, pending_store=writing))
    # No authorizer key is passed. With one, a payer's refund request would return money that the seller has not
    # claimed yet.
    schemes.register(networks, BatchSettlementEvmFacilitator(signer, None, pending_store=writing))
    schemes.register_extension(EIP2612_GAS_SPONSORING)
    return schemes


class InProcessFacilitator:
    """A facilitator in the seller's process, with the package's client interface. The seller also runs `follow`."""

    def __init__(self, facilitator: Facilitator) -> None:
        self._facilitator = facilitator
        self.follow = facilitator.follow

    async def verify(self, payload: PaymentPayload, requirements: PaymentRequirements) -> VerifyResponse:
        """Verify like the HTTP client."""
        return await run_in_threadpool(self._facilitator.verify, payload, requirements)

    async def settle(self, payload: PaymentPayload, requirements: PaymentRequirements) -> SettleResponse:
        """Settle like the HTTP client."""
        return await run_in_threadpool(self._facilitator.settle, payload, requirements)

    def get_supported(self) -> SupportedResponse:
        """Return the supported kinds like the HTTP client."""
        return self._facilitator.supported()
