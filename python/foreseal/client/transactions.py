"""Transactions, their receipts and logs, in the form that nodes return."""

from dataclasses import dataclass, field

from foreseal.client.json_model import JsonModel, succeeded


@dataclass(frozen=True, slots=True)
class Log(JsonModel):
    """An event of a contract."""

    address: str
    topics: tuple[str, ...]
    data: str
    block_number: int
    block_hash: str
    """Hash of the block; for a pre-confirmed log, hash of the step that has it."""
    block_timestamp: int | None
    """Unix time in seconds."""
    transaction_hash: str
    transaction_index: int
    log_index: int
    """Position in the block."""
    removed: bool
    """True if its block or step is no longer on the chain."""


@dataclass(frozen=True, slots=True)
class Receipt(JsonModel):
    """Outcome of a transaction."""

    transaction_hash: str
    transaction_index: int
    block_number: int
    block_hash: str
    sender: str = field(metadata={"key": "from"})
    to: str | None
    """None for a contract creation."""
    contract_address: str | None
    """Address of the created contract."""
    succeeded: bool | None = field(metadata={"key": "status", "read": succeeded})
    """False if it reverted; None before Byzantium, whose receipts have `root` instead."""
    root: str | None
    type: int
    """0 legacy, 1 EIP-2930, 2 EIP-1559, 3 EIP-4844, 4 EIP-7702."""
    gas_used: int
    cumulative_gas_used: int
    """Gas of the block up to and including this transaction."""
    effective_gas_price: int
    """Wei per gas."""
    blob_gas_used: int | None
    blob_gas_price: int | None
    """Wei per blob gas."""
    logs_bloom: str
    logs: tuple[Log, ...]


@dataclass(frozen=True, slots=True)
class AccessListItem(JsonModel):
    """Storage that a transaction announces (EIP-2930)."""

    address: str
    storage_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Authorization(JsonModel):
    """A delegation that an account signed (EIP-7702)."""

    chain_id: int
    address: str
    nonce: int
    y_parity: int
    r: int
    s: int


@dataclass(frozen=True, slots=True)
class Transaction(JsonModel):
    """A signed transaction. Its block fields are None while it is in the pool."""

    hash: str
    block_number: int | None
    block_hash: str | None
    block_timestamp: int | None
    transaction_index: int | None
    type: int
    """0 legacy, 1 EIP-2930, 2 EIP-1559, 3 EIP-4844, 4 EIP-7702."""
    chain_id: int | None
    nonce: int
    sender: str = field(metadata={"key": "from"})
    to: str | None
    """None for a contract creation."""
    value: int
    """Wei."""
    input: str
    gas: int
    """Gas limit."""
    gas_price: int
    """Effective price in wei per gas; while it is in the pool, the maximum price."""
    max_fee_per_gas: int | None
    max_priority_fee_per_gas: int | None
    max_fee_per_blob_gas: int | None
    access_list: tuple[AccessListItem, ...] | None
    blob_versioned_hashes: tuple[str, ...] | None
    authorization_list: tuple[Authorization, ...] | None
    v: int
    r: int
    s: int
    y_parity: int | None


@dataclass(frozen=True, slots=True)
class TransactionStatus(JsonModel):
    """Status of a submitted transaction."""

    status: str
    """unknown, queued, pooled, preconfirmed, sealed, dropped or replaced."""
    block_number: int | None
    flashblock_index: int | None
    """Index of the first step that has it."""
    reason: str | None
    """Reason why it waits or was dropped."""
    replaced_by: str | None
    """Hash of the transaction that replaced it."""
