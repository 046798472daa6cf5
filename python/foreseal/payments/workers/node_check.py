"""Check of the node and of the ether with which the payees pay gas: one batch of requests."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from foreseal.payments.chain import BlockHead, ChainError, ChainNode, RequestBatch, node_requests

log = logging.getLogger(__name__)

CAPTURE_GAS = 100_000
"""Gas limit of a capture for the estimate: 77,000 gas and the margin of 25 %."""


class PayeeStatus(StrEnum):
    """Ability of a payee to pay gas."""

    OK = "ok"
    LOW = "low"
    EMPTY = "empty"
    """It cannot pay one capture."""
    UNKNOWN = "unknown"
    """Its balance was not read yet."""


@dataclass(frozen=True, slots=True)
class CheckedPayee:
    """State of a payee's account at the end of a check."""

    balance: int | None = None
    """Ether in wei; None before it was first read."""
    captures_left: int | None = None
    """Estimated captures that the balance pays at current fees."""
    status: PayeeStatus = PayeeStatus.UNKNOWN


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """State of the node at the end of a check."""

    head: BlockHead | None = None
    """Latest block; None if the node is not usable."""
    reason: tuple[str, str] | None = None
    """Code and message of the failed check."""
    payees: Mapping[str, CheckedPayee] = field(default_factory=dict)
    """State of each payee by address; empty before the first check."""


class NodeCheck:
    """Check of one node for one chain and some payees."""

    def __init__(self, node: ChainNode, chain_id: int, payees: Sequence[str], min_captures: int) -> None:
        """Set up the check. The status of a payee is low below `min_captures`."""
        self._node = node
        self._chain_id = chain_id
        self._min_captures = min_captures
        self._last = CheckedNode(payees=dict.fromkeys(payees, CheckedPayee()))

    def __call__(self) -> CheckedNode:
        """Check once. Raises nothing; the balances of an earlier check are returned while the node is not usable."""
        batch = RequestBatch()
        chain_id, latest = batch.add(node_requests.chain_id()), batch.add(node_requests.head("latest"))
        balances = {payee: batch.add(node_requests.balance(payee, "latest")) for payee in self._last.payees}
        priority_fee = batch.add(node_requests.priority_fee())
        batch.execute(self._node)
        checked = replace(self._last, head=None, reason=None)
        try:
            found, head = chain_id.result(), latest.result()
            if found != self._chain_id:
                checked = replace(
                    checked, reason=("wrong_chain", f"the node has chain id {found}, not {self._chain_id}")
                )
            elif head is None:
                checked = replace(checked, reason=("no_block", "the node has no block"))
            else:
                checked = replace(checked, head=head)
                fee = 2 * head.base_fee + priority_fee.result()
                payees = {payee: self._payee(payee, answer.result(), fee) for payee, answer in balances.items()}
                checked = replace(checked, payees=payees)
        except ChainError as error:
            checked = replace(checked, reason=("node_unreachable", str(error)))
        self._last = checked
        return checked

    def _payee(self, payee: str, balance: int, fee: int) -> CheckedPayee:
        left = balance // (CAPTURE_GAS * max(fee, 1))
        status = PayeeStatus.LOW if left < self._min_captures else PayeeStatus.OK
        if left == 0:
            status = PayeeStatus.EMPTY
        if status is not self._last.payees[payee].status and status is not PayeeStatus.OK:
            fields = {"payee": payee, "balance": balance, "captures_left": left}
            log.warning("the payee is running out of ether for gas", extra=fields)
        return CheckedPayee(balance, left, status)
