"""Headers of an OP chain since Isthmus, and their hash."""

import hashlib
from typing import NamedTuple

import rlp
from eth_hash.auto import keccak

from optimism.model.transactions import minimal

EMPTY_OMMERS = bytes(keccak(rlp.encode([])))
EMPTY_REQUESTS = hashlib.sha256(b"").digest()


class ConsensusHeader(NamedTuple):
    """Fields that differ between blocks, in the order of the encoding."""

    parent_hash: bytes
    fee_recipient: bytes
    state_root: bytes
    transactions_root: bytes
    receipts_root: bytes
    bloom: bytes
    number: int
    gas_limit: int
    gas_used: int
    timestamp: int
    extra_data: bytes
    prev_randao: bytes
    base_fee: int
    withdrawals_root: bytes
    blob_gas_used: int
    parent_beacon_root: bytes

    def encode(self) -> bytes:
        """Return the encoding, with the constant fields: no difficulty, ommers, excess blob gas or requests."""
        metered = [minimal(field) for field in (self.number, self.gas_limit, self.gas_used, self.timestamp)]
        roots = [self.state_root, self.transactions_root, self.receipts_root]
        blobs = [minimal(self.blob_gas_used), b""]
        first = [self.parent_hash, EMPTY_OMMERS, self.fee_recipient, *roots, self.bloom, b"", *metered]
        last = [minimal(self.base_fee), self.withdrawals_root, *blobs, self.parent_beacon_root, EMPTY_REQUESTS]
        return bytes(rlp.encode([*first, self.extra_data, self.prev_randao, bytes(8), *last]))

    def hash(self) -> bytes:
        """Return the block hash."""
        return bytes(keccak(self.encode()))
