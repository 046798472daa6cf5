"""Estimates for calls of one account: gas, fees and account nonce, read in one batch for any number of calls."""

from foreseal.payments.chain import BlockHead, Incomplete, PendingAnswer, RequestBatch, node_requests
from foreseal.payments.transactions.errors import FeeTooHigh, WrongChain
from foreseal.payments.transactions.fees import FeeQuote, FeeSettings
from foreseal.payments.transactions.intents import TransactionCall


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
        return self._batch.add(node_requests.estimate_gas(sender or self._sender, target, data, "pending"))

    def require_chain(self) -> None:
        """Raise `WrongChain` unless the node has the configured chain id."""
        found = self._chain_id.result()
        if found != self._configured:
            raise WrongChain(f"the node has chain id {found}, configured is {self._configured}")

    def head(self) -> BlockHead:
        """Return the pending block, or the latest if the node has none. Raises `Incomplete` without either."""
        head = self._pending.result() or self._latest.result()
        if head is None:
            raise Incomplete("the node has no latest block")
        return head

    def call(self, target: str, data: bytes, gas: PendingAnswer[int]) -> TransactionCall:
        """Return a call with its estimates.

        Raises `Reverted` if it would revert, `FeeTooHigh`, `WrongChain`, and the node's errors.
        """
        self.require_chain()
        head, priority_fee = self.head(), self._priority_fee.result()
        quote = FeeQuote(2 * head.base_fee + priority_fee, priority_fee)
        if quote.fee > self._fees.max_fee:
            raise FeeTooHigh(f"{quote.fee} wei per gas exceed the maximum of {self._fees.max_fee}")
        limit = gas.result() * self._fees.gas_percent // 100
        return TransactionCall(target, data, limit, quote, self._nonce.result(), head.number)
