"""Transactions that capture many orders through the merchant's batch capture contract."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from foreseal.payments.chain.batch_capture import (
    CALL_GAS,
    MAX_AUTHORIZATIONS,
    batch_capture_call,
    max_batch_gas,
)
from foreseal.payments.orders.terms import SignedOrder, authorization
from foreseal.payments.transactions import MAX_TRANSACTION_GAS, TransactionCall, fits_transaction

MAX_CALL_GAS = MAX_TRANSACTION_GAS - 1_000_000
"""Maximum gas of the capture of one order; the rest is for the transaction around it."""

_SIGNATURE_SIZE = 65


@dataclass(frozen=True, slots=True)
class BatchedCapture:
    """An order, and the call of the contract that captures it."""

    order: SignedOrder
    call: TransactionCall


@dataclass(frozen=True, slots=True)
class CaptureBatch:
    """One transaction, and the orders that it captures."""

    id: str
    """Subject of its intent, unique."""
    order_ids: tuple[str, ...]
    call: TransactionCall


def forwarded_gas(call: TransactionCall) -> int:
    """Return the gas that the contract forwards to the token for a capture with this call."""
    return max(CALL_GAS, call.gas)


def max_transaction_gas(order: SignedOrder, call_gas: int) -> int:
    """Return the gas limit of the transaction that captures one order with a call of this gas."""
    return max_batch_gas(batch_capture_call([authorization(order)], [order.signature or b""], max(CALL_GAS, call_gas)))


def plan_batches(captures: Sequence[BatchedCapture]) -> list[CaptureBatch]:
    """Return transactions that capture these orders, whose payee is the contract.

    Payers with code, whose gas has a budget, share no transaction with others.

    Each has the gas that it needs even if every payer consumes all that the contract forwards. Otherwise, payers that
    change their accounts after the checks could make the whole batch revert.
    """
    same_form: dict[tuple[bool, bool], list[BatchedCapture]] = {}
    batches: list[CaptureBatch] = []
    for each in captures:
        if each.call.gas > CALL_GAS:  # the contract forwards the same amount for all orders of a batch
            batches.append(_batch([each], each.call.gas))
        else:
            is_long = len(each.order.signature or b"") != _SIGNATURE_SIZE
            same_form.setdefault((each.call.runs_code, is_long), []).append(each)
    for _, alike in sorted(same_form.items()):
        for first in range(0, len(alike), MAX_AUTHORIZATIONS):
            batches += _split(alike[first : first + MAX_AUTHORIZATIONS])
    return batches


def capture_alone(capture: BatchedCapture) -> TransactionCall:
    """Return the transaction that captures one order. A batch of several has at most the sum of their gas."""
    (alone,) = plan_batches([capture])
    return alone.call


def _split(captures: Sequence[BatchedCapture]) -> list[CaptureBatch]:
    """Return batches of nearly equal sizes, each within the limits of gas and bytes."""
    batch = _batch(captures)
    is_small = fits_transaction(batch.call.data) or len(captures) == 1
    if batch.call.gas <= MAX_TRANSACTION_GAS and is_small:
        return [batch]
    count = max(2, -(-batch.call.gas // MAX_TRANSACTION_GAS))
    size = -(-len(captures) // count)
    parts = [captures[first : first + size] for first in range(0, len(captures), size)]
    return [part for each in parts for part in _split(each)]


def _batch(captures: Sequence[BatchedCapture], call_gas: int | None = None) -> CaptureBatch:
    orders = [each.order for each in captures]
    data = batch_capture_call(
        [authorization(order) for order in orders], [order.signature or b"" for order in orders], call_gas
    )
    call = TransactionCall(
        orders[0].payee,
        data,
        max_batch_gas(data),
        max((each.call.quote for each in captures), key=lambda quote: quote.fee),
        max(each.call.next_nonce for each in captures),
        min(each.call.block for each in captures),
        any(each.call.runs_code for each in captures),
    )
    return CaptureBatch(f"cap_{secrets.token_hex(16)}", tuple(order.id for order in orders), call)
