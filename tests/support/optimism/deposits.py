"""Deposits for tests (EIP-2718 type 0x7E), derived from a simulated L1 as the OP specification defines them."""

from optimism.l1 import L1Attributes, L1Block
from optimism.model.attributes import L1_ATTRIBUTES_GAS
from optimism.model.transactions import DepositTransaction, attributes_source_hash, user_source_hash
from optimism.predeploys import DEPOSITOR, L1_BLOCK


def deposit(
    l1_block: L1Block,
    log_index: int,
    sender: bytes,
    to: bytes | None,
    *,
    mint: int = 0,
    value: int = 0,
    gas: int = 100_000,
    data: bytes = b"",
) -> DepositTransaction:
    """Return the deposit of a log of `l1_block`; `mint` and `value` are in wei, and without `to` it is a creation."""
    return DepositTransaction(user_source_hash(l1_block.hash, log_index), sender, to, mint, value, gas, data)


def l1_attributes_deposit(attributes: L1Attributes) -> DepositTransaction:
    """Return the deposit with which every block begins."""
    source_hash = attributes_source_hash(attributes.block.hash, attributes.sequence_number)
    data = attributes.call().encode()
    return DepositTransaction(source_hash, DEPOSITOR, L1_BLOCK, mint=0, value=0, gas=L1_ATTRIBUTES_GAS, data=data)
