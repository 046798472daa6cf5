"""Check of the node and of the ether with which the payee pays gas: one batch of requests."""

import logging
from dataclasses import dataclass, replace
from enum import StrEnum

from foreseal.payments.chain import BlockHead, ChainError, ChainNode, RequestBatch, node_requests

log = logging.getLogger(__name__)

CAPTURE_GAS = 100_000
"""Gas limit of a capture for the estimate: 77,000 gas and the margin of 25 %."""


class PayeeStatus(StrEnum):
    """Ability of the payee to pay gas."""

    OK = "ok"
    LOW = "low"
    EMPTY = "empty"
    """It cannot pay one capture."""
    UNKNOWN = "unknown"
    """Its balance was not read yet."""


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """State of the node at the end of a check."""

    head: BlockHead | None = None
    """Latest block; None if the node is not usable."""
    reason: tuple[str, str] | None = None
    """Code and message of the failed check."""
    balance: int | None = None
    """Ether of the payee in wei; None before it was first read."""
    captures_left: int | None = None
    """Estimated captures that the balance pays at current fees."""
    payee: PayeeStatus = PayeeStatus.UNKNOWN


class NodeCheck:
    """Check of one node for one chain and payee."""

    def __init__(self, node: ChainNode, chain_id: int, payee: str, min_captures: int, role: str = "payee") -> None:
        """Set up the check. The status of the payee is low below `min_captures`. `role` names it in the log."""
        self._node = node
        self._chain_id = chain_id
        self._payee = payee
        self._min_captures = min_captures
        self._role = role
        self._last = CheckedNode()

    def __call__(self) -> CheckedNode:
        """Check once. Raises nothing; the balance of an earlier check is returned while the node is not usable."""
        batch = RequestBatch()
        chain_id, latest = batch.add(node_requests.chain_id()), batch.add(node_requests.head("latest"))
        balance = batch.add(node_requests.balance(self._payee, "latest"))
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
                checked = self._with_balance(checked, balance.result(), 2 * head.base_fee + priority_fee.result())
        except ChainError as error:
            checked = replace(checked, reason=("node_unreachable", str(error)))
        self._last = checked
        return checked

    def _with_balance(self, checked: CheckedNode, balance: int, fee: int) -> CheckedNode:
        left = balance // (CAPTURE_GAS * max(fee, 1))
        status = PayeeStatus.LOW if left < self._min_captures else PayeeStatus.OK
        if left == 0:
            status = PayeeStatus.EMPTY
        if status is not self._last.payee and status is not PayeeStatus.OK:
            fields = {self._role: self._payee, "balance": balance, "captures_left": left}
            log.warning("an account is running out of ether for gas", extra=fields)
        return replace(checked, balance=balance, captures_left=left, payee=status)
