"""A simulated L1: blocks whose content is a function of their number and of a fork, so that a driver can derive the
same attributes again after a restart, and other ones after a reorganisation."""

from dataclasses import dataclass

from eth_utils.crypto import keccak

from optimism.genesis import GENESIS_TIME

GWEI = 10**9
BLOCK_TIME = 2


@dataclass(frozen=True, slots=True)
class L1Block:
    """A block of L1, as far as attributes name it."""

    number: int
    hash: bytes
    timestamp: int
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
    operator_fee_constant: int = 1000
    """Wei per transaction."""
    footprint_scalar: int = 400
    """Gas per byte of data."""

    def calldata(self) -> bytes:
        """Return the 178 bytes of `setL1BlockValuesJovian`."""
        return (
            bytes.fromhex("3db6be2b")
            + self.base_fee_scalar.to_bytes(4)
            + self.blob_base_fee_scalar.to_bytes(4)
            + self.sequence_number.to_bytes(8)
            + self.block.timestamp.to_bytes(8)
            + self.block.number.to_bytes(8)
            + self.block.base_fee.to_bytes(32)
            + self.block.blob_base_fee.to_bytes(32)
            + self.block.hash
            + self.batcher.rjust(32, b"\0")
            + self.operator_fee_scalar.to_bytes(4)
            + self.operator_fee_constant.to_bytes(8)
            + self.footprint_scalar.to_bytes(2)
        )


class SimulatedL1:
    """Blocks of L1 by number; `reorganize` replaces them all."""

    def __init__(self, genesis_time: int = GENESIS_TIME) -> None:
        self.fork = 0
        """Number of reorganisations so far."""
        self._genesis_time = genesis_time

    def reorganize(self) -> None:
        """Give every block another hash."""
        self.fork += 1

    def block(self, number: int) -> L1Block:
        """Return the block with this number."""
        name = self.fork.to_bytes(8) + number.to_bytes(8)
        return L1Block(
            number=number,
            hash=keccak(b"hash" + name),
            timestamp=self._genesis_time + BLOCK_TIME * number,
            base_fee=GWEI + number % 97 * 10_000_000,
            blob_base_fee=1 + number % 13,
            randao=keccak(b"randao" + name),
        )
