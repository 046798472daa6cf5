"""Data of the chain: transactions that leave or use the most of one resource that 2^24 gas and a block buy."""

from hostile.chain_data import accounts, blobs, execution, inputs, logs, opcodes, precompiles, storage
from hostile.chain_data.generator import BLOCK_GAS, TRANSACTION_GAS, Generator
from hostile.chain_data.registry import GENERATORS

__all__ = [
    "BLOCK_GAS", "GENERATORS", "TRANSACTION_GAS", "Generator", "accounts", "blobs", "execution", "inputs", "logs",
    "opcodes", "precompiles", "storage",
]  # fmt: skip
