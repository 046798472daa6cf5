"""Deposits are encoded as op-node encodes them."""

from eth_utils.hexadecimal import encode_hex

from optimism import L1Attributes, L1Block, SimulatedL1, deposit, l1_attributes_deposit

# First transaction of block 1 of the recorded chain `jovian`, as op-node v1.19.6 sent it.
RECORDED = bytes.fromhex(
    "7ef90106a048b1d6ef3b68e0be261dd5f5a855568f8dd619264b320d6f8dd5f73437f6582994deaddeaddeaddeaddeaddeaddeaddeaddead0001"
    "9442000000000000000000000000000000000000158080830f424080b8b23db6be2b00000558000c3c9d0000000000000001000000006b03e501"
    "0000000000000003000000000000000000000000000000000000000000000000000000002dabe4ec0000000000000000000000000000000000"
    "000000000000000000000000000001c1d4f4a49f096400ea7e2edd8db856a42a8bf31b48c9551618ccd3b171fc8e5e000000000000000000000"
    "0001e80b112c2d77a1feb58c14fc7dee31614a7997c0000000000000000000000000190"
)
RECORDED_HASH = "0xcb25381c12a654e252b4fa4223917f1e31025dc1776a12408c1042be5dfa8985"


def test_attributes_deposit_equals_the_recorded_one() -> None:
    block = L1Block(
        number=3,
        hash=bytes.fromhex("c1d4f4a49f096400ea7e2edd8db856a42a8bf31b48c9551618ccd3b171fc8e5e"),
        timestamp=0x6B03E501,
        base_fee=0x2DABE4EC,
        blob_base_fee=1,
        randao=b"",
    )
    attributes = L1Attributes(
        block,
        sequence_number=1,
        batcher=bytes.fromhex("1e80b112c2d77a1feb58c14fc7dee31614a7997c"),
        operator_fee_scalar=0,
        operator_fee_constant=0,
    )
    attributes_deposit = l1_attributes_deposit(attributes)
    assert attributes_deposit.encode() == RECORDED
    assert encode_hex(attributes_deposit.hash()) == RECORDED_HASH


def test_deposits_of_other_logs_and_other_forks_of_l1_differ() -> None:
    l1 = SimulatedL1()
    before = l1.block(5)
    assert l1.block(5) == before
    l1.reorganize()
    sources = {
        deposit(block, index, b"\1" * 20, None).source_hash for block in (before, l1.block(5)) for index in range(2)
    }
    assert len(sources) == 4
