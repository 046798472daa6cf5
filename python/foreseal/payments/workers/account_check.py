"""Check of accounts that send transactions: the first one of each that no block includes, and how long it waits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from foreseal.payments.api.responses import Problem
from foreseal.payments.transactions import WaitingTransaction, first_waiting
from foreseal.payments.workers.health_report import reason
from foreseal.payments.workers.node_check import CheckedNode

BLOCKED_AFTER = 5
"""Replacements with higher fees after which an account is blocked: fees that rose by 60 % did not help."""
_MAX_REJECTION = 200


@dataclass(frozen=True, slots=True)
class WaitingAccount:
    """An account whose first transaction waits for a block."""

    transaction: WaitingTransaction
    blocks: int
    """Blocks since the one in which it was to be included first. Time without blocks does not count."""


class AccountCheck:
    """Check of the accounts of one chain, from the state of the node and the stored transactions."""

    def __init__(self, chain_id: int, node: Callable[[], CheckedNode]) -> None:
        """Set up the check. `node` returns the last check of the node, without waiting."""
        self._chain_id = chain_id
        self._node = node

    def __call__(self, tx: Connection) -> dict[str, WaitingAccount]:
        """Return the accounts with a transaction that no block includes; none while the node is not usable."""
        node = self._node()
        if node.head is None:
            return {}
        waiting_accounts: dict[str, WaitingAccount] = {}
        for address, account in node.accounts.items():
            if account.next_nonce is None:
                continue
            waiting = first_waiting(tx, self._chain_id, address, account.next_nonce)
            if waiting is not None:
                waiting_accounts[address] = WaitingAccount(waiting, max(node.head.number - waiting.since_block, 0))
        return waiting_accounts


def blocked_reasons(accounts: Mapping[str, WaitingAccount], patience_blocks: int) -> list[Problem]:
    """Return a reason for each blocked account. `patience_blocks` is the number of blocks before a replacement."""
    return [
        reason("account_blocked", _message(address, waiting))
        for address, waiting in accounts.items()
        if waiting.blocks > BLOCKED_AFTER * patience_blocks
    ]


def _message(address: str, waiting: WaitingAccount) -> str:
    first = waiting.transaction
    rejection = "" if first.rejection is None else f"; the node rejects it: {first.rejection[:_MAX_REJECTION]}"
    return (
        f"no block has included the transaction of {address} with account nonce {first.account_nonce} "
        f"({first.purpose.value} {first.subject}) for {waiting.blocks} blocks, and all later ones wait for it"
        f"{rejection}. `foreseal pay account CONFIG` shows why; "
        f"`foreseal pay account CONFIG --account {address} --free {first.account_nonce}` ends one that the node rejects"
    )
