"""Checks before captures, for any number of orders with one or two batches of requests.

No check reserves money; only a receipt proves payment.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlalchemy import Connection

from foreseal.payments.chain import (
    ChainError,
    NodeRequest,
    PendingAnswer,
    RequestBatch,
    RestrictionReads,
    Reverted,
    TokenReads,
    TransferParties,
)
from foreseal.payments.chain.batch_capture import forwarding_code, merchant_request, token_request
from foreseal.payments.chain.checkout import capture_call, captured_request
from foreseal.payments.chain.node import BlockTag
from foreseal.payments.chain.token import receive_call
from foreseal.payments.group_operation import ItemResult
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.capture_batches import (
    MAX_CALL_GAS,
    BatchedCapture,
    capture_alone,
    forwarded_gas,
    max_transaction_gas,
)
from foreseal.payments.orders.payers import assigned_payer
from foreseal.payments.orders.terms import SignedOrder, authorization, message, permit
from foreseal.payments.signatures import InvalidSignature, SignatureChecks, SignedMessage, SignerPath, check_apart
from foreseal.payments.transactions import (
    GasTooHigh,
    LostGas,
    RevertedPayment,
    SendingError,
    TransactionCall,
    TransactionSender,
)

_BLOCK: BlockTag = "pending"


class CaptureObstacle(StrEnum):
    """Reason why a capture would fail now."""

    DOMAIN = "domain_mismatch"
    EARLY = "not_yet_valid"
    LATE = "too_late"
    USED = "authorization_used"
    BALANCE = "insufficient_balance"
    PAUSED = "token_paused"
    FORBIDDEN = "account_forbidden"
    REVERTS = "would_revert"

    @property
    def message(self) -> str:
        """A description for people."""
        return _MESSAGES[self]


_MESSAGES = {
    CaptureObstacle.DOMAIN: "the token's domain, or the order's token or payee, is not the configured one",
    CaptureObstacle.EARLY: "not yet valid",
    CaptureObstacle.LATE: "too close to validBefore, or past it",
    CaptureObstacle.USED: "used or canceled",
    CaptureObstacle.BALANCE: "payer's balance is too low",
    CaptureObstacle.PAUSED: "token is paused",
    CaptureObstacle.FORBIDDEN: "payer, payee or checkout is forbidden",
    CaptureObstacle.REVERTS: "would revert",
}


class NotCapturable(Exception):
    """The capture was rejected before signing; the order is unchanged."""

    def __init__(self, id: str, obstacle: CaptureObstacle, detail: str = "") -> None:
        super().__init__(id, obstacle, detail)
        self.id = id
        self.obstacle = obstacle
        self.detail = detail

    def __str__(self) -> str:
        return f"orders: {self.id} cannot be captured: {self.obstacle.message}" + (
            f": {self.detail}" if self.detail else ""
        )


@dataclass(frozen=True, slots=True)
class CaptureTarget:
    """An order to capture."""

    order: SignedOrder
    amount: int
    """Amount to capture, in smallest units."""


CaptureRejection = NotCapturable | InvalidSignature | SendingError | ChainError
"""Reason why a target is not captured. Nothing is stored."""


class _ContractReads:
    """Answers that concern the merchant's batch capture contract."""

    def __init__(self, contract: str, merchant: Merchant, batch: RequestBatch, restrictions: RestrictionReads) -> None:
        self._merchant = merchant
        self._restrictions = restrictions
        self._owner = batch.add(merchant_request(contract, _BLOCK))
        self._token = batch.add(token_request(contract, _BLOCK))
        self._usable = False
        self.forward = TransferParties(contract, [merchant.payee], contract)
        restrictions.add(self.forward)

    def require_usable(self, id: str) -> None:
        """Raise `NotCapturable` unless the contract pays this merchant, and the node's errors."""
        if self._usable:
            return
        actual = (self._owner.result(), self._token.result())
        if actual != (self._merchant.payee, self._merchant.domain.contract):
            raise NotCapturable(id, CaptureObstacle.DOMAIN, f"batch capture of {actual[0]} for the token {actual[1]}")
        holder = self._restrictions.forbidden(self.forward)
        if holder is not None:
            raise NotCapturable(id, CaptureObstacle.FORBIDDEN, holder)
        self._usable = True


@dataclass(frozen=True, slots=True)
class _Reads:
    """Answers that concern one target."""

    used: PendingAnswer[bool]
    balance: PendingAnswer[int]
    gas: PendingAnswer[int]


class PendingCaptureChecks:
    """Checks whose requests are in a batch. Available after the batch was executed."""

    def __init__(
        self,
        sender: TransactionSender,
        merchant: Merchant,
        targets: Sequence[CaptureTarget],
        batch: RequestBatch,
        path: SignerPath,
    ) -> None:
        """Add the requests to the batch."""
        self._path = path
        self._sender = sender
        self._merchant = merchant
        self._targets = targets
        self._token = TokenReads(merchant.domain.contract)
        self._estimates = sender.estimates(batch)
        self._separator = batch.add(self._token.domain_separator(_BLOCK))
        self._paused = batch.add(self._token.paused(_BLOCK))
        signed = [
            SignedMessage(message(each.order), assigned_payer(each.order), each.order.signature or b"")
            for each in targets
        ]
        self._signatures = SignatureChecks(batch, merchant.domain, signed, has_code=path.has_code)
        self._restrictions = RestrictionReads(self._token, _BLOCK, batch)
        self._parties = [capture_parties(each.order) for each in targets]
        for each in self._parties:
            self._restrictions.add(each)
        self._contract = self._contract_reads(batch)
        self._reads = [self._add_reads(batch, target) for target in targets]

    def results(self) -> list[TransactionCall | CaptureRejection]:
        """Return the call that captures each target, or the reason why it cannot be captured."""
        contract = self._contract
        parties = self._parties if contract is None else [*self._parties, contract.forward]
        self._restrictions.read_policies(self._path.node, parties)
        results: list[TransactionCall | CaptureRejection] = []
        for position, (target, read) in enumerate(zip(self._targets, self._reads, strict=True)):
            try:
                self._estimates.require_chain()
                self._check_terms(target.order)
                if contract is not None and is_batched(target.order, self._merchant):
                    contract.require_usable(target.order.id)
                self._signatures.require(position)
                self._check_state(target, read)
                self._check_holders(target)
                self._check_balance(target, read)
                results.append(self._call(target, read))
            except (NotCapturable, InvalidSignature, SendingError, ChainError) as error:
                results.append(error)
        if self._path.has_code:
            self._simulate(results)
        return results

    def _simulate(self, results: list[TransactionCall | CaptureRejection]) -> None:
        """Replace the calls that revert with the fees and the gas limit of the transaction by the reason."""
        batch = RequestBatch()
        outputs = {
            position: batch.add(self._simulation(self._targets[position].order, call))
            for position, call in enumerate(results)
            if isinstance(call, TransactionCall)
        }
        batch.execute(self._path.node)
        for position, output in outputs.items():
            try:
                output.result()
            except Reverted as error:
                obstacle = NotCapturable(self._targets[position].order.id, CaptureObstacle.REVERTS, error.reason)
                obstacle.__cause__ = error
                results[position] = obstacle
            except ChainError as error:
                results[position] = error

    def _simulation(self, order: SignedOrder, call: TransactionCall) -> NodeRequest[bytes]:
        if not is_batched(order, self._merchant):
            return self._sender.simulation(call)
        alone = capture_alone(BatchedCapture(order, call))
        forwarded = replace(call, target=order.payee, gas=alone.gas)
        return self._sender.simulation(forwarded, forwarding_code(order.token, forwarded_gas(call)))

    def _contract_reads(self, batch: RequestBatch) -> _ContractReads | None:
        contract = self._merchant.batch_capture
        if contract is None or not any(is_batched(target.order, self._merchant) for target in self._targets):
            return None
        return _ContractReads(contract, self._merchant, batch, self._restrictions)

    def _call(self, target: CaptureTarget, reads: _Reads) -> TransactionCall:
        order = target.order
        try:
            call = self._estimates.call(*build_capture_call(order, target.amount), reads.gas)
        except Reverted as error:
            raise NotCapturable(order.id, CaptureObstacle.REVERTS, error.reason) from error
        except GasTooHigh as error:
            if error.payer_maximum is None or not is_batched(order, self._merchant):
                raise
            limit = max_transaction_gas(order, error.payer_maximum)
            message = f"{error}; the transaction of the batch capture contract around this call may have {limit}"
            raise GasTooHigh(message, error.payer_maximum) from error
        if is_batched(order, self._merchant) and call.gas > MAX_CALL_GAS:
            detail = f"it needs {call.gas} gas, the contract can forward at most {MAX_CALL_GAS}"
            raise NotCapturable(order.id, CaptureObstacle.REVERTS, detail)
        return replace(call, runs_code=True) if self._path.has_code else call

    def _add_reads(self, batch: RequestBatch, target: CaptureTarget) -> _Reads:
        order = target.order
        caller = order.payee if is_batched(order, self._merchant) else None
        return _Reads(
            batch.add(is_used_request(order, _BLOCK)),
            batch.add(self._token.balance(assigned_payer(order), _BLOCK)),
            self._estimates.add(*build_capture_call(order, target.amount), caller),
        )

    def _check_terms(self, order: SignedOrder) -> None:
        domain = self._merchant.domain
        if (order.chain_id, order.token) != (domain.chain_id, domain.contract):
            raise NotCapturable(order.id, CaptureObstacle.DOMAIN)
        payees = self._merchant.receivers if order.checkout is None else (self._merchant.payee,)
        if order.payee not in payees:
            raise NotCapturable(order.id, CaptureObstacle.DOMAIN)
        if order.checkout not in (None, self._merchant.checkout) or self._separator.result() != domain.separator():
            raise NotCapturable(order.id, CaptureObstacle.DOMAIN)
        now = self._estimates.head().timestamp
        if now <= order.valid_after:
            detail = f"valid after {order.valid_after}, the block time is {now}"
            raise NotCapturable(order.id, CaptureObstacle.EARLY, detail)
        if now >= order.valid_before - self._merchant.margin:
            detail = f"valid before {order.valid_before}, the block time is {now}"
            raise NotCapturable(order.id, CaptureObstacle.LATE, detail)

    def _check_state(self, target: CaptureTarget, reads: _Reads) -> None:
        if reads.used.result():
            raise NotCapturable(target.order.id, CaptureObstacle.USED)
        if self._paused.result():
            raise NotCapturable(target.order.id, CaptureObstacle.PAUSED)

    def _check_holders(self, target: CaptureTarget) -> None:
        holder = self._restrictions.forbidden(capture_parties(target.order))
        if holder is not None:
            raise NotCapturable(target.order.id, CaptureObstacle.FORBIDDEN, holder)

    @staticmethod
    def _check_balance(target: CaptureTarget, reads: _Reads) -> None:
        balance = reads.balance.result()
        if balance < target.amount:
            detail = f"{balance} of {target.amount} units"
            raise NotCapturable(target.order.id, CaptureObstacle.BALANCE, detail)


class CaptureChecks:
    """Checks of all that can prevent captures by one merchant's key, at `pending`.

    The merchant's account makes each call. If the payee is the merchant's batch capture contract, the contract makes
    it; `capture_batches` combines such calls to transactions.
    """

    def __init__(self, sender: TransactionSender, merchant: Merchant) -> None:
        if sender.account.address != merchant.payee:
            raise ValueError(f"payee: {merchant.payee} is not the key's account {sender.account.address}")
        self._sender = sender
        self._merchant = merchant

    @property
    def lost_gas(self) -> LostGas:
        """Gas of the merchant's account that payers have wasted."""
        return self._sender.lost_gas

    def begin(self, targets: Sequence[CaptureTarget], batch: RequestBatch, path: SignerPath) -> PendingCaptureChecks:
        """Add the requests for these targets to a batch. All payers have code, or none has."""
        return PendingCaptureChecks(self._sender, self._merchant, targets, batch, path)

    def check(self, targets: Sequence[CaptureTarget]) -> list[ItemResult[TransactionCall]]:
        """Return the call that captures each target, or the reason why it cannot be captured.

        A target whose payer is a wallet has a `DeferredCheck` instead.
        """
        return check_apart(self._sender.node, targets, lambda target: assigned_payer(target.order), self._check)

    def _check(self, targets: Sequence[CaptureTarget], path: SignerPath) -> list[TransactionCall | CaptureRejection]:
        batch = RequestBatch()
        checks = self.begin(targets, batch, path)
        batch.execute(path.node)
        return checks.results()

    def is_batched(self, order: SignedOrder) -> bool:
        """Return True if the merchant's batch capture contract captures the order."""
        return is_batched(order, self._merchant)

    def find_without_room(self, tx: Connection, captures: Sequence[BatchedCapture]) -> dict[str, SendingError]:
        """Return the orders, by id, whose capture the budget of payers with code has no room for, with the reason.

        The caller stores the other captures in this transaction (`LostGas.find_without_room`).
        """
        running = [each for each in captures if each.call.runs_code]
        calls = [capture_alone(each) if self.is_batched(each.order) else each.call for each in running]
        return {running[at].order.id: error for at, error in self.lost_gas.find_without_room(tx, calls).items()}


def is_batched(order: SignedOrder, merchant: Merchant) -> bool:
    """Return True if the merchant's batch capture contract captures the order."""
    return order.payee == merchant.batch_capture


def capture_parties(order: SignedOrder) -> TransferParties:
    """Return the accounts that a capture involves."""
    return TransferParties(assigned_payer(order), [order.payee], order.checkout or order.payee)


def reverted_payment(order: SignedOrder, gas: int) -> RevertedPayment:
    """Return the payment of an order whose transaction, or share of one, reverted and used this much gas."""
    return RevertedPayment(order.token, capture_parties(order), order.valid_before, gas)


def is_used_request(order: SignedOrder, block: BlockTag) -> NodeRequest[bool]:
    """Request if an order is already captured or canceled."""
    if order.checkout is None:
        return TokenReads(order.token).authorization_used(assigned_payer(order), order.nonce, block)
    return captured_request(order.checkout, order.nonce, block)


def build_capture_call(order: SignedOrder, amount: int) -> tuple[str, bytes]:
    """Return contract and call data of a capture. `amount`, in smallest units, applies to orders with a permit."""
    signature = order.signature or b""
    if order.checkout is None:
        return order.token, receive_call(authorization(order), signature)
    return order.checkout, capture_call(order.nonce, amount, permit(order), signature)
