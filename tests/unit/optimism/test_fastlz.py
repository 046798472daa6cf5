"""The model's FastLZ against published lengths, and the fees that follow from them.

The lengths are those of `TestFlzCompressLen` in op-geth (core/types/rollup_cost_test.go) and of the tests of
the crate op-alloy-flz 0.13.1. Both compressed the call to a contract of OP Mainnet's transaction 0x8eb9dd4e...d116b594.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimism.model.attributes import L1AttributesCall
from optimism.model.fastlz import LITERALS_PER_RUN, compressed_size
from optimism.model.fees import da_footprint, l1_fee, l1_gas_used, operator_fee

EMPTY_TRANSACTION = bytes.fromhex("dd80808094095e7baea6a6c7c4c2dfeb977efac326af552d878080808080")
CONTRACT_CALL = bytes.fromhex(
    "02f901550a758302df1483be21b88304743f94f80e51afb613d764fa61751affd3313c190a86bb870151bd62fd12adb8"
    "e41ef24f3f000000000000000000000000000000000000000000000000000000000000006e000000000000000000000000"
    "af88d065e77c8cc2239327c5edb3a432268e5831000000000000000000000000000000000000000000000000000000000003c1e5"
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000a000000000000000000000000000000000000000000000000000000000000000148c89ed219d02f1"
    "a5be012c689b4f5b731827bebe000000000000000000000000c001a033fd89cb37c31b2cba46b6466e040c61fc9b2a36"
    "75a7f5f493ebd5ad77c497f8a07cdf65680e238392693019b4092f610222e71b7cec06449cb922b93b6a12744e"
)
LENGTHS = [
    (b"", 0),
    (b"\x01" * 1000, 21),
    (bytes(1000), 21),
    (b"\x2a" * 1000, 21),
    (bytes.fromhex("facade"), 4),
    (EMPTY_TRANSACTION, 31),
    (CONTRACT_CALL, 202),
]
L1 = L1AttributesCall(
    base_fee_scalar=2,
    blob_base_fee_scalar=3,
    sequence_number=0,
    timestamp=0,
    number=0,
    base_fee=1000 * 10**6,
    blob_base_fee=10 * 10**6,
    block_hash=bytes(32),
    batcher_hash=bytes(32),
    operator_fee_scalar=1439103868,
    operator_fee_constant=1256417826609331460,
    da_footprint_scalar=400,
)


@pytest.mark.parametrize(("data", "length"), LENGTHS)
def test_compressed_size_is_the_published_one(data: bytes, length: int) -> None:
    assert compressed_size(data) == length


def test_fees_equal_the_formulas_of_the_specification() -> None:
    # 202 bytes: 836500 * 202 - 42585600 millionths, more than the minimum of 100 bytes.
    assert l1_fee(CONTRACT_CALL, L1) == 126_387_400 * (2 * 10**9 * 16 + 3 * 10**7) // 10**12
    assert l1_gas_used(CONTRACT_CALL) == 2022
    assert da_footprint(CONTRACT_CALL, L1) == 126 * 400
    assert l1_fee(EMPTY_TRANSACTION, L1) == 3_203_000
    assert (l1_gas_used(EMPTY_TRANSACTION), da_footprint(EMPTY_TRANSACTION, L1)) == (1600, 40_000)
    # The constants of op-geth's TestNewOperatorCostFunc, with 1,618 gas.
    assert operator_fee(1618, L1) == 1256650673615173860


@given(st.binary(max_size=400), st.integers(1, 60))
def test_size_is_never_above_that_of_literals(data: bytes, times: int) -> None:
    repeated = data * times
    assert compressed_size(repeated) <= len(repeated) + -(-len(repeated) // LITERALS_PER_RUN)


@given(st.binary(min_size=40, max_size=400), st.integers(40, 60))
def test_repeated_data_compresses_to_less_than_half(data: bytes, times: int) -> None:
    assert compressed_size(data * times) < len(data) * times // 2
