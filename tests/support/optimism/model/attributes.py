"""L1 attributes of Jovian: call data of the first deposit of each block, and the storage of the predeploy L1Block."""

from typing import NamedTuple

SELECTOR = bytes.fromhex("3db6be2b")
"""Selector of `setL1BlockValuesJovian()`."""
SIZE = 178
"""Bytes of call data, the selector included."""
L1_ATTRIBUTES_GAS = 1_000_000
"""Gas limit of the L1 attributes deposit since Regolith."""


class L1AttributesCall(NamedTuple):
    """Fields of `setL1BlockValuesJovian`, in the order of the call data. Fees are in wei, times in Unix seconds."""

    base_fee_scalar: int
    blob_base_fee_scalar: int
    sequence_number: int
    timestamp: int
    number: int
    base_fee: int
    blob_base_fee: int
    block_hash: bytes
    batcher_hash: bytes
    operator_fee_scalar: int
    operator_fee_constant: int
    da_footprint_scalar: int

    def encode(self) -> bytes:
        """Return the call data."""
        block = _join((self.sequence_number, self.timestamp, self.number), 8) + _join(
            (self.base_fee, self.blob_base_fee), 32
        )
        scalars = _join((self.base_fee_scalar, self.blob_base_fee_scalar), 4)
        operator = _join((self.operator_fee_scalar,), 4) + _join((self.operator_fee_constant,), 8)
        footprint = _join((self.da_footprint_scalar,), 2)
        return SELECTOR + scalars + block + self.block_hash + self.batcher_hash + operator + footprint

    @classmethod
    def decode(cls, data: bytes) -> "L1AttributesCall":
        """Return the fields of call data. Raise AssertionError for another function or size."""
        assert len(data) == SIZE, f"{len(data)} bytes"
        assert data[:4] == SELECTOR, data[:4].hex()

        def integer(begin: int, end: int) -> int:
            return int.from_bytes(data[begin:end], "big")

        return cls(
            base_fee_scalar=integer(4, 8),
            blob_base_fee_scalar=integer(8, 12),
            sequence_number=integer(12, 20),
            timestamp=integer(20, 28),
            number=integer(28, 36),
            base_fee=integer(36, 68),
            blob_base_fee=integer(68, 100),
            block_hash=data[100:132],
            batcher_hash=data[132:164],
            operator_fee_scalar=integer(164, 168),
            operator_fee_constant=integer(168, 176),
            da_footprint_scalar=integer(176, 178),
        )

    def storage(self) -> dict[int, int]:
        """Return the storage that the call writes in L1Block: values by slot."""
        scalars = self.base_fee_scalar << 96 | self.blob_base_fee_scalar << 64 | self.sequence_number
        # The contract has the constant at offset 0 and the scalar at 8; Isthmus' page names 4 and 0.
        operator = self.da_footprint_scalar << 96 | self.operator_fee_scalar << 64 | self.operator_fee_constant
        return {
            0: self.timestamp << 64 | self.number,
            1: self.base_fee,
            2: int.from_bytes(self.block_hash, "big"),
            3: scalars,
            4: int.from_bytes(self.batcher_hash, "big"),
            7: self.blob_base_fee,
            8: operator,
        }


def _join(fields: tuple[int, ...], size: int) -> bytes:
    return b"".join(field.to_bytes(size, "big") for field in fields)
