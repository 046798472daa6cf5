"""Fees of Jovian in exact integers, in wei, from the specification's Fjord, Isthmus, Holocene and Jovian pages."""

from typing import NamedTuple

from optimism.model.attributes import L1AttributesCall
from optimism.model.fastlz import compressed_size

MILLION = 10**6
INTERCEPT = -42_585_600
COEFFICIENT = 836_500
MINIMUM_SIZE = 100
"""Constants of the linear estimate of a transaction's size (Fjord, "L1-Cost fees"): bytes, and millionths of them."""


def estimated_size_scaled(raw: bytes) -> int:
    """Return the estimated size of a transaction in a batch, in millionths of a byte."""
    return max(MINIMUM_SIZE * MILLION, INTERCEPT + COEFFICIENT * compressed_size(raw))


def l1_fee(raw: bytes, attributes: L1AttributesCall) -> int:
    """Return the L1 data fee in wei of a signed transaction with this encoding."""
    price = attributes.base_fee_scalar * attributes.base_fee * 16
    price += attributes.blob_base_fee_scalar * attributes.blob_base_fee
    return estimated_size_scaled(raw) * price // 10**12


def l1_gas_used(raw: bytes) -> int:
    """Return the `l1GasUsed` of receipts, which is deprecated: 16 gas for each estimated byte."""
    return estimated_size_scaled(raw) * 16 // MILLION


def operator_fee(gas: int, attributes: L1AttributesCall) -> int:
    """Return the operator fee in wei of this gas since Jovian."""
    return gas * attributes.operator_fee_scalar * 100 + attributes.operator_fee_constant


def da_footprint(raw: bytes, attributes: L1AttributesCall) -> int:
    """Return the footprint of a signed transaction, in gas."""
    return estimated_size_scaled(raw) // MILLION * attributes.da_footprint_scalar


def receipt_fee_fields(raw: bytes, attributes: L1AttributesCall) -> dict[str, int]:
    """Return the fields that an OP chain adds to the JSON receipt of a signed transaction."""
    fields = {
        "l1Fee": l1_fee(raw, attributes),
        "l1GasUsed": l1_gas_used(raw),
        "l1GasPrice": attributes.base_fee,
        "l1BlobBaseFee": attributes.blob_base_fee,
        "l1BaseFeeScalar": attributes.base_fee_scalar,
        "l1BlobBaseFeeScalar": attributes.blob_base_fee_scalar,
        "blobGasUsed": da_footprint(raw, attributes),
        "daFootprintGasScalar": attributes.da_footprint_scalar,
    }
    # op-geth leaves the parameters out if both are zero.
    if attributes.operator_fee_scalar or attributes.operator_fee_constant:
        fields["operatorFeeScalar"] = attributes.operator_fee_scalar
        fields["operatorFeeConstant"] = attributes.operator_fee_constant
    return fields


class Eip1559Parameters(NamedTuple):
    """Parameters in the extra data of a header."""

    denominator: int
    elasticity: int
    min_base_fee: int

    def encode(self) -> bytes:
        """Return the extra data of Jovian."""
        denominator, elasticity = self.denominator.to_bytes(4, "big"), self.elasticity.to_bytes(4, "big")
        return b"\x01" + denominator + elasticity + self.min_base_fee.to_bytes(8, "big")

    @classmethod
    def decode(cls, extra_data: bytes) -> "Eip1559Parameters":
        """Return the parameters of extra data of Jovian."""
        assert len(extra_data) == 17, extra_data.hex()
        assert extra_data[0] == 1, extra_data.hex()
        denominator, elasticity, minimum = extra_data[1:5], extra_data[5:9], extra_data[9:]
        return cls(*(int.from_bytes(field, "big") for field in (denominator, elasticity, minimum)))


class MeteredBlock(NamedTuple):
    """Fields of a parent on which the next base fee depends."""

    base_fee: int
    gas_limit: int
    gas_used: int
    blob_gas_used: int
    extra_data: bytes


def next_base_fee(parent: MeteredBlock) -> int:
    """Return the base fee of the block after `parent`: EIP-1559 with the parent's parameters and its metered gas."""
    parameters = Eip1559Parameters.decode(parent.extra_data)
    target = parent.gas_limit // parameters.elasticity
    metered = max(parent.gas_used, parent.blob_gas_used)
    if metered > target:
        change = parent.base_fee * (metered - target) // target // parameters.denominator
        base_fee = parent.base_fee + max(change, 1)
    elif metered < target:
        base_fee = parent.base_fee - parent.base_fee * (target - metered) // target // parameters.denominator
    else:
        base_fee = parent.base_fee
    return max(base_fee, parameters.min_base_fee)
