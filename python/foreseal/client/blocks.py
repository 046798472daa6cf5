"""Blocks, sealed or pending, and their headers."""

from dataclasses import dataclass, field
from typing import Any

from foreseal.client.json_model import JsonModel, text
from foreseal.client.transactions import Transaction


@dataclass(frozen=True, slots=True)
class Header(JsonModel):
    """The header of a block, or of a step as if it were sealed at that moment. Fields of later forks may be None."""

    number: int
    hash: str
    parent_hash: str
    nonce: str
    sha3_uncles: str
    logs_bloom: str
    transactions_root: str
    state_root: str
    receipts_root: str
    miner: str
    """Fee recipient."""
    difficulty: int
    mix_hash: str
    extra_data: str
    gas_limit: int
    gas_used: int
    timestamp: int
    """Unix time in seconds."""
    base_fee_per_gas: int | None
    """Wei per gas."""
    withdrawals_root: str | None
    blob_gas_used: int | None
    excess_blob_gas: int | None
    parent_beacon_block_root: str | None
    requests_hash: str | None


def _hashes(items: Any) -> tuple[str, ...]:
    return tuple(text(item["hash"]) if isinstance(item, dict) else text(item) for item in items)


def _transactions(items: Any) -> tuple[Transaction, ...] | None:
    if items and not isinstance(items[0], dict):
        return None
    return tuple(map(Transaction.read, items))


@dataclass(frozen=True, slots=True)
class Withdrawal(JsonModel):
    """A withdrawal of a validator (EIP-4895)."""

    index: int
    validator_index: int
    address: str
    amount: int
    """Gwei."""


@dataclass(frozen=True, slots=True)
class Block(Header):
    """A block. `pending` is the block being built, at its newest step."""

    size: int
    """Size in bytes."""
    transaction_hashes: tuple[str, ...] = field(metadata={"key": "transactions", "read": _hashes})
    transactions: tuple[Transaction, ...] | None = field(metadata={"read": _transactions})
    """None unless full transactions were requested."""
    uncles: tuple[str, ...]
    withdrawals: tuple[Withdrawal, ...] | None
