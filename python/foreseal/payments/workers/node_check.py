"""Check of the node and of the ether with which accounts pay gas: one batch of requests."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from foreseal.payments.chain import BlockHead, ChainError, ChainNode, RequestBatch, node_requests

log = logging.getLogger(__name__)

CAPTURE_GAS = 100_000
"""Gas limit of a capture or settlement for the estimate: 77,000 gas and the margin of 25 %."""


class AccountStatus(StrEnum):
    """Ability of an account to pay gas."""

    OK = "ok"
    LOW = "low"
    EMPTY = "empty"
    """It cannot pay one transaction."""
    UNKNOWN = "unknown"
    """Its balance was not read yet."""


@dataclass(frozen=True, slots=True)
class CheckedAccount:
    """State of an account that pays gas, at the end of a check."""

    balance: int | None = None
    """Ether in wei; None before it was first read."""
    captures_left: int | None = None
    """Estimated captures or settlements that the balance pays at current fees."""
    status: AccountStatus = AccountStatus.UNKNOWN
    next_nonce: int | None = None
    """Account nonce after those that blocks include; None before it was first read."""


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """State of the node at the end of a check."""

    head: BlockHead | None = None
    """Latest block; None if the node is not usable."""
    reason: tuple[str, str] | None = None
    """Code and message of the failed check."""
    accounts: Mapping[str, CheckedAccount] = field(default_factory=dict)
    """State of each account by address; empty before the first check."""


class NodeCheck:
    """Check of one node for one chain and some accounts."""

    def __init__(
        self,
        node: ChainNode,
        chain_id: int,
        accounts: Sequence[str],
        min_captures: int,
        role: str = "payee",
        unit: str = "captures",
    ) -> None:
        """Set up the check. The status of an account is low below `min_captures`.

        In the log, `role` names the account, and `unit` its transactions.
        """
        self._node = node
        self._chain_id = chain_id
        self._min_captures = min_captures
        self._role, self._unit = role, unit
        self._last = CheckedNode(accounts=dict.fromkeys(accounts, CheckedAccount()))

    def __call__(self) -> CheckedNode:
        """Check once. Raises nothing; the balances of an earlier check are returned while the node is not usable."""
        batch = RequestBatch()
        chain_id, latest = batch.add(node_requests.chain_id()), batch.add(node_requests.head("latest"))
        balances = {each: batch.add(node_requests.balance(each, "latest")) for each in self._last.accounts}
        nonces = {each: batch.add(node_requests.transaction_count(each, "latest")) for each in self._last.accounts}
        priority_fee = batch.add(node_requests.priority_fee())
        batch.execute(self._node)
        checked = replace(self._last, head=None, reason=None)
        try:
            node_chain_id, head = chain_id.result(), latest.result()
            if node_chain_id != self._chain_id:
                checked = replace(
                    checked, reason=("wrong_chain", f"the node has chain id {node_chain_id}, not {self._chain_id}")
                )
            elif head is None:
                checked = replace(checked, reason=("no_block", "the node has no block"))
            else:
                checked = replace(checked, head=head)
                fee = 2 * head.base_fee + priority_fee.result()
                accounts = {
                    each: self._account(each, answer.result(), nonces[each].result(), fee)
                    for each, answer in balances.items()
                }
                checked = replace(checked, accounts=accounts)
        except ChainError as error:
            checked = replace(checked, reason=("node_unreachable", str(error)))
        self._last = checked
        return checked

    def _account(self, address: str, balance: int, next_nonce: int, fee: int) -> CheckedAccount:
        left = balance // (CAPTURE_GAS * max(fee, 1))
        status = AccountStatus.LOW if left < self._min_captures else AccountStatus.OK
        if left == 0:
            status = AccountStatus.EMPTY
        if status is not self._last.accounts[address].status and status is not AccountStatus.OK:
            fields = {self._role: address, "balance": balance, f"{self._unit}_left": left}
            log.warning("an account is running out of ether for gas", extra=fields)
        return CheckedAccount(balance, left, status, next_nonce)
