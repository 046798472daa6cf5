"""Estimates for calls of one account: gas, fees and account nonce, read in one batch for any number of calls."""

from foreseal.payments.chain import BlockHead, Incomplete, PendingAnswer, RequestBatch, node_requests
from foreseal.payments.chain.stranger_calls import CALL_GAS
from foreseal.payments.transactions.errors import FeeTooHigh, GasTooHigh, TransactionTooLarge, WrongChain
from foreseal.payments.transactions.fees import FeeQuote, FeeSettings
from foreseal.payments.transactions.intents import TransactionCall
from foreseal.payments.transactions.ordinary_gas import ordinary_gas

MAX_TRANSACTION_GAS = 16_777_216
"""Maximum gas limit of a transaction (EIP-7825). Blocks of other rules have room for more, but no payment needs it."""
# Maximum size of an encoded transaction that geth, reth and Foreseal accept from clients.
_MAX_TRANSACTION_BYTES = 131_072
# Encoded fields of a transaction other than its data, and what a batch of one adds to the call of an order.
_ENVELOPE_BYTES = 1_024


class CallEstimates:
    """Estimates at `pending`. Available after the batch was executed."""

    def __init__(self, batch: RequestBatch, sender: str, chain_id: int, fees: FeeSettings) -> None:
        """Add the common requests of all calls to the batch."""
        self._batch = batch
        self._sender = sender
        self._configured = chain_id
        self._fees = fees
        self._chain_id = batch.add(node_requests.chain_id())
        self._pending = batch.add(node_requests.head("pending"))
        self._latest = batch.add(node_requests.head("latest"))
        self._priority_fee = batch.add(node_requests.priority_fee())
        self._nonce = batch.add(node_requests.transaction_count(sender, "pending"))

    def add(self, target: str, data: bytes, sender: str | None = None) -> PendingAnswer[int]:
        """Add the gas estimate of a call to the batch. `sender` makes it; by default, it is the account."""
        ordinary, gas = ordinary_gas(data), None
        if ordinary is not None:
            # A bound for the code of a payer, with room to report how much above the maximum it is.
            gas = min(MAX_TRANSACTION_GAS, ordinary + self._fees.payer_code_gas + CALL_GAS)
        return self._batch.add(node_requests.estimate_gas(sender or self._sender, target, data, "pending", gas))

    def require_chain(self) -> None:
        """Raise `WrongChain` unless the node has the configured chain id."""
        node_chain_id = self._chain_id.result()
        if node_chain_id != self._configured:
            raise WrongChain(f"the node has chain id {node_chain_id}, configured is {self._configured}")

    def head(self) -> BlockHead:
        """Return the pending block, or the latest if the node has none. Raises `Incomplete` without either."""
        head = self._pending.result() or self._latest.result()
        if head is None:
            raise Incomplete("the node has no latest block")
        return head

    def call(self, target: str, data: bytes, gas: PendingAnswer[int]) -> TransactionCall:
        """Return a call with its estimates.

        Raises `Reverted` if it would revert, `FeeTooHigh`, `GasTooHigh`, `TransactionTooLarge`, `WrongChain`, and the
        node's errors.
        """
        self.require_chain()
        _check_size(data)
        head, priority_fee = self.head(), self._priority_fee.result()
        quote = FeeQuote(2 * head.base_fee + priority_fee, priority_fee)
        if quote.fee > self._fees.max_fee:
            raise FeeTooHigh(f"{quote.fee} wei per gas exceed the maximum of {self._fees.max_fee}")
        limit = self._bounded_gas_limit(gas.result(), head, data)
        return TransactionCall(target, data, limit, quote, self._nonce.result(), head.number)

    def _bounded_gas_limit(self, estimate: int, head: BlockHead, data: bytes) -> int:
        """Return the gas limit for an estimate.

        Raises `GasTooHigh` if no transaction of the block may have it, or if the code of payers needs too much.
        """
        most = MAX_TRANSACTION_GAS if head.gas_limit is None else min(MAX_TRANSACTION_GAS, head.gas_limit)
        if estimate > most:
            raise GasTooHigh(f"the call needs {estimate} gas; a transaction may have at most {most}")
        ordinary, added = ordinary_gas(data), self._fees.payer_code_gas
        if ordinary is not None:
            most = min(most, ordinary + added)
        if estimate > most:
            raise GasTooHigh(
                f"the call needs {estimate} gas; the maximum is {most}: {ordinary} for payers without code, and "
                f"payer_code_gas = {added}",
                payer_maximum=most,
            )
        return min(estimate * self._fees.gas_percent // 100, most)


def _check_size(data: bytes) -> None:
    """Raise `TransactionTooLarge` if nodes reject a transaction with this call data because of its size."""
    if not fits_transaction(data):
        size = len(data) + _ENVELOPE_BYTES
        message = f"the transaction needs up to {size} bytes; nodes accept at most {_MAX_TRANSACTION_BYTES}"
        raise TransactionTooLarge(message)


def fits_transaction(data: bytes) -> bool:
    """Return True if nodes accept a transaction with this call data by its size."""
    return len(data) + _ENVELOPE_BYTES <= _MAX_TRANSACTION_BYTES
