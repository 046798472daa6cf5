"""Use of a Permit2 nonce, from the transaction that consumed it.

Permit2 logs no nonce, and the proxies of x402 log no arguments. A transaction that calls a proxy directly has the nonce
in its input, with payer, token, payee and amount: it succeeds only if exactly this transfer used exactly this nonce.
For a call from inside of another contract the chain shows no nonce, so its transfers prove nothing here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from eth_utils.crypto import keccak

from foreseal.payments.chain import ChainLog, ChainNode, ChainTransaction, RequestBatch, node_requests
from foreseal.payments.chain.token import TRANSFERRED, address_topic, log_amount
from foreseal.payments.contracts.addresses import EXACT_PERMIT2_PROXY, UPTO_PERMIT2_PROXY
from foreseal.payments.transfers.authorization_logs import AuthorizationUse, Topics, newest_logs
from foreseal.payments.x402.payment_key import Payment

_PERMIT = "((address,uint256),uint256,uint256)"
_EIP2612 = "(uint256,uint256,bytes32,bytes32,uint8)"
_EIP2612_SIZE = 5
_EXACT = f"{_PERMIT},address,(address,uint256),bytes)"
_UPTO = f"{_PERMIT},uint256,address,(address,address,uint256),bytes)"
_BATCH_SIZE = 100
_MAX_TRANSFERS = 500
"""Transfers with equal terms whose transactions are read, newest first."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Positions of static arguments in the input of a proxy's function, in units of 32 bytes."""

    permit: int
    """Token, permitted amount and nonce, in this order."""
    amount: int
    payer: int
    payee: int

    def after_eip2612(self) -> "_Layout":
        """Return the layout of the function whose first argument is a permit of the token."""
        size = _EIP2612_SIZE
        return _Layout(self.permit + size, self.amount + size, self.payer + size, self.payee + size)


_EXACT_LAYOUT = _Layout(permit=0, amount=1, payer=4, payee=5)
_UPTO_LAYOUT = _Layout(permit=0, amount=4, payer=5, payee=6)


def _selector(signature: str) -> bytes:
    return keccak(text=signature)[:4]


_LAYOUTS = {
    (EXACT_PERMIT2_PROXY, _selector(f"settle({_EXACT}")): _EXACT_LAYOUT,
    (EXACT_PERMIT2_PROXY, _selector(f"settleWithPermit({_EIP2612},{_EXACT}")): _EXACT_LAYOUT.after_eip2612(),
    (UPTO_PERMIT2_PROXY, _selector(f"settle({_UPTO}")): _UPTO_LAYOUT,
    (UPTO_PERMIT2_PROXY, _selector(f"settleWithPermit({_EIP2612},{_UPTO}")): _UPTO_LAYOUT.after_eip2612(),
}


def find_permit2_use(node: ChainNode, payment: Payment, since: int) -> AuthorizationUse | None:
    """Return the transfer from payer to payee under a payment's Permit2 nonce, from block `since` on.

    None if no direct call of a proxy made it, or if it is older than the newest 500 transfers of at most the amount.
    Raises the node's errors.
    """
    if payment.payee is None or payment.amount is None:
        return None
    topics: Topics = ((TRANSFERRED,), (address_topic(payment.key.payer),), (address_topic(payment.payee),))
    transferred = newest_logs(node, payment.token, topics, since)
    maximum = payment.amount
    candidates = islice((log for log in transferred if 0 < log_amount(log) <= maximum), _MAX_TRANSFERS)
    for logs in _batches(candidates):
        batch = RequestBatch()
        calls = [batch.add(node_requests.transaction(log.transaction_hash)) for log in logs]
        batch.execute(node)
        for log, call in zip(logs, calls, strict=True):
            if _settles(call.result(), payment, log_amount(log)):
                return AuthorizationUse(
                    log.transaction_hash, log.block_number, log.block_hash, False, payment.payee, log_amount(log)
                )
    return None


def _batches(logs: Iterator[ChainLog]) -> Iterator[list[ChainLog]]:
    while batch := list(islice(logs, _BATCH_SIZE)):
        yield batch


def _settles(call: ChainTransaction | None, payment: Payment, amount: int) -> bool:
    """Return True if a transaction is the settlement of a payment with an amount. It has logs, so it succeeded."""
    layout = None if call is None or call.target is None else _LAYOUTS.get((call.target, call.data[:4]))
    if call is None or layout is None or payment.payee is None:
        return False
    expected = {
        layout.permit: address_topic(payment.token),
        layout.permit + 2: payment.key.nonce,
        layout.amount: amount.to_bytes(32, "big"),
        layout.payer: address_topic(payment.key.payer),
        layout.payee: address_topic(payment.payee),
    }
    return all(call.data[4 + 32 * at : 36 + 32 * at] == argument for at, argument in expected.items())
