"""A simulated L1, whose blocks are a function of their number and of a fork.

A driver derives the same attributes again after a restart, and other ones after a reorganization.
"""

from dataclasses import dataclass

from eth_hash.auto import keccak

from optimism.genesis import GENESIS_TIME
from optimism.model.attributes import L1AttributesCall

GWEI = 10**9
BLOCK_TIME = 2
"""Seconds between two blocks of L1."""


@dataclass(frozen=True, slots=True)
class L1Block:
    """Fields of an L1 block that the attributes contain."""

    number: int
    hash: bytes
    timestamp: int
    """Unix seconds."""
    base_fee: int
    """Wei per gas."""
    blob_base_fee: int
    """Wei per blob gas."""
    randao: bytes


@dataclass(frozen=True, slots=True)
class L1Attributes:
    """Arguments of the L1 attributes call of one L2 block (OP specification, Jovian)."""

    block: L1Block
    sequence_number: int
    """Number of L2 blocks since the first one of this L1 block."""
    batcher: bytes = b"\xba" * 20
    base_fee_scalar: int = 1368
    """Millionths."""
    blob_base_fee_scalar: int = 801_949
    """Millionths."""
    operator_fee_scalar: int = 100
    """Hundreds of wei per gas, since Jovian."""
    operator_fee_constant: int = 1000
    """Wei per transaction."""
    da_footprint_scalar: int = 400
    """Gas per byte of data."""

    def call(self) -> L1AttributesCall:
        """Return the call of `setL1BlockValuesJovian` with these attributes."""
        return L1AttributesCall(
            base_fee_scalar=self.base_fee_scalar,
            blob_base_fee_scalar=self.blob_base_fee_scalar,
            sequence_number=self.sequence_number,
            timestamp=self.block.timestamp,
            number=self.block.number,
            base_fee=self.block.base_fee,
            blob_base_fee=self.block.blob_base_fee,
            block_hash=self.block.hash,
            batcher_hash=self.batcher.rjust(32, b"\0"),
            operator_fee_scalar=self.operator_fee_scalar,
            operator_fee_constant=self.operator_fee_constant,
            da_footprint_scalar=self.da_footprint_scalar,
        )


class SimulatedL1:
    """Blocks of L1 by number; `reorganize` replaces them all."""

    def __init__(self) -> None:
        self.fork = 0
        """Number of reorganizations so far."""

    def reorganize(self) -> None:
        """Give every block another hash."""
        self.fork += 1

    def block(self, number: int) -> L1Block:
        """Return the block with this number."""
        name = self.fork.to_bytes(8) + number.to_bytes(8)
        return L1Block(
            number=number,
            hash=keccak(b"hash" + name),
            timestamp=GENESIS_TIME + BLOCK_TIME * number,
            base_fee=GWEI + number % 97 * 10_000_000,
            blob_base_fee=1 + number % 13,
            randao=keccak(b"randao" + name),
        )
