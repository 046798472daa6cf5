"""Accounts of the payment tests with fixed keys, and the addresses of the shop's contracts."""

from eth_account import Account
from eth_account.signers.local import LocalAccount

CHECKOUT = "0x00000000000000000000000000000000000C4eC0"
BATCH_CAPTURE = "0x00000000000000000000000000000000000Ba7c4"
EURO = "0x00000000000000000000000000000000000e1120"
"""A second token of the real chain."""


def account(number: int) -> LocalAccount:
    """Return the account whose key is this number."""
    signer: LocalAccount = Account.from_key(number.to_bytes(32, "big"))
    return signer


SHOP = account(1_001)
BRANCH = account(1_002)
"""A second payee of the shop."""
BUYERS = [account(2_001), account(2_002), account(2_003)]
BUYER = BUYERS[0]
