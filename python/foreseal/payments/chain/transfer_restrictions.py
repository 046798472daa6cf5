"""Accounts that a token forbids in a transfer, by its blacklist or by its holder policies if it has them."""

from collections.abc import Sequence
from dataclasses import dataclass

from foreseal.payments.chain.node import BlockTag
from foreseal.payments.chain.token import EXECUTOR_POLICY, RECEIVER_POLICY, SENDER_POLICY, Token


@dataclass(frozen=True, slots=True)
class TransferParties:
    """Accounts of one or more transfers, by role."""

    sender: str
    receivers: Sequence[str]
    executor: str | None = None
    """Account that moves tokens of another account: a contract, or the payee of an authorization."""


def find_forbidden_account(token: Token, parts: TransferParties, block: BlockTag) -> str | None:
    """Return the first account that the token forbids, or None if it allows all. Raises the node's errors."""
    executors = [] if parts.executor is None else [parts.executor]
    for account in dict.fromkeys([*executors, parts.sender, *parts.receivers]):
        if token.blacklisted(account, block):
            return account
    scopes = {EXECUTOR_POLICY: executors, SENDER_POLICY: [parts.sender], RECEIVER_POLICY: parts.receivers}
    for scope, accounts in scopes.items():
        policy = token.policy(scope, block) if accounts else None
        if policy is None:
            continue
        for account in dict.fromkeys(accounts):
            if not token.authorized(policy, account, block):
                return account
    return None
