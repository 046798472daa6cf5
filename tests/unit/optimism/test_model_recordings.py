"""The slow model of OP chains against chains that op-geth recorded: fees, vaults, base fees, receipts, headers."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from live_node import shared
from optimism.model.attributes import L1AttributesCall
from optimism.model.chain import BlockAttributes, ModelChain
from optimism.model.fees import MeteredBlock, da_footprint, l1_fee, l1_gas_used, next_base_fee, operator_fee
from optimism.model.headers import ConsensusHeader
from optimism.model.receipts import ConsensusLog, ConsensusReceipt, logs_bloom, ordered_root
from optimism.model.recorded_blocks import CHAINS, RecordedBlock, recorded_blocks, unhex
from optimism.model.transactions import DepositTransaction, SignedFields, attributes_source_hash, decode_transaction

SEQUENCER_FEES = "0x4200000000000000000000000000000000000011"
BASE_FEES = "0x4200000000000000000000000000000000000019"
L1_FEES = "0x420000000000000000000000000000000000001a"
OPERATOR_FEES = "0x420000000000000000000000000000000000001b"


@pytest.fixture(params=CHAINS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def blocks(name: str) -> list[RecordedBlock]:
    found = recorded_blocks(shared("optimism"), name)
    assert len(found) > 70
    return found


@pytest.fixture
def genesis(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared("optimism") / f"genesis-{name}.json").read_text())
    return found


def number(fields: dict[str, Any], name: str) -> int:
    return int(fields[name], 16)


def attributes(block: RecordedBlock) -> L1AttributesCall:
    first = DepositTransaction.decode(block.transactions[0])
    found = L1AttributesCall.decode(first.data)
    assert found.encode() == first.data
    assert first.source_hash == attributes_source_hash(found.block_hash, found.sequence_number)
    return found


def signed(block: RecordedBlock) -> Iterator[tuple[bytes, SignedFields, dict[str, Any]]]:
    """Yield encoding, fields and receipt of each transaction that is not a deposit."""
    for raw, receipt in zip(block.transactions, block.receipts, strict=True):
        fields = decode_transaction(raw)
        if isinstance(fields, SignedFields):
            assert unhex(receipt["from"]) == fields.sender
            yield raw, fields, receipt


def test_fee_fields_of_every_receipt_are_the_models(blocks: list[RecordedBlock]) -> None:
    checked = 0
    for block in blocks[1:]:
        l1 = attributes(block)
        for raw, fields, receipt in signed(block):
            expected = {
                "l1Fee": l1_fee(raw, l1),
                "l1GasUsed": l1_gas_used(raw),
                "l1GasPrice": l1.base_fee,
                "l1BlobBaseFee": l1.blob_base_fee,
                "l1BaseFeeScalar": l1.base_fee_scalar,
                "l1BlobBaseFeeScalar": l1.blob_base_fee_scalar,
                "blobGasUsed": da_footprint(raw, l1),
                "daFootprintGasScalar": l1.da_footprint_scalar,
                "effectiveGasPrice": fields.effective_price(number(block.block, "baseFeePerGas")),
            }
            if l1.operator_fee_scalar or l1.operator_fee_constant:
                expected |= {
                    "operatorFeeScalar": l1.operator_fee_scalar,
                    "operatorFeeConstant": l1.operator_fee_constant,
                }
            names = [name for name in receipt if name.startswith(("l1", "operator", "da", "blob", "effective"))]
            assert {name: number(receipt, name) for name in names} == expected
            checked += 1
    assert checked > 40


def test_vaults_receive_exactly_the_models_fees(blocks: list[RecordedBlock]) -> None:
    for before, block in pairwise(blocks):
        l1, base_fee = attributes(block), number(block.block, "baseFeePerGas")
        expected = dict.fromkeys((SEQUENCER_FEES, BASE_FEES, L1_FEES, OPERATOR_FEES), 0)
        for raw, fields, receipt in signed(block):
            gas = number(receipt, "gasUsed")
            expected[SEQUENCER_FEES] += gas * (fields.effective_price(base_fee) - base_fee)
            expected[BASE_FEES] += gas * base_fee
            expected[L1_FEES] += l1_fee(raw, l1)
            expected[OPERATOR_FEES] += operator_fee(gas, l1)
        assert {vault: block.balances[vault] - before.balances[vault] for vault in expected} == expected


def test_base_fee_and_footprint_of_every_header_are_the_models(blocks: list[RecordedBlock]) -> None:
    for before, block in pairwise(blocks):
        parent = before.block
        names = ("baseFeePerGas", "gasLimit", "gasUsed", "blobGasUsed")
        metered = MeteredBlock(*(number(parent, name) for name in names), unhex(parent["extraData"]))
        l1 = attributes(block)
        assert number(block.block, "baseFeePerGas") == next_base_fee(metered)
        assert number(block.block, "blobGasUsed") == sum(da_footprint(raw, l1) for raw, _, _ in signed(block))


def test_encodings_and_roots_of_every_block_are_the_models(blocks: list[RecordedBlock]) -> None:
    for block in blocks:
        receipts = [_receipt(raw, each) for raw, each in zip(block.transactions, block.receipts, strict=True)]
        assert [each.encode() for each in receipts] == block.raw_receipts
        logs = tuple(log for each in receipts for log in each.logs)
        header = _header(block, logs)
        assert header.encode() == block.raw_header
        assert header.hash() == unhex(block.block["hash"])
        for raw in block.transactions:
            fields = decode_transaction(raw)
            assert isinstance(fields, SignedFields) or fields.encode() == raw


def _receipt(raw: bytes, receipt: dict[str, Any]) -> ConsensusReceipt:
    logs = tuple(
        ConsensusLog(unhex(log["address"]), tuple(map(unhex, log["topics"])), unhex(log["data"]))
        for log in receipt["logs"]
    )
    nonce = number(receipt, "depositNonce") if "depositNonce" in receipt else None
    assert isinstance(decode_transaction(raw), DepositTransaction) == (nonce is not None)
    return ConsensusReceipt(
        kind=number(receipt, "type"),
        succeeded=receipt["status"] == "0x1",
        cumulative_gas=number(receipt, "cumulativeGasUsed"),
        logs=logs,
        deposit_nonce=nonce,
    )


def _header(block: RecordedBlock, logs: tuple[ConsensusLog, ...]) -> ConsensusHeader:
    fields = block.block
    return ConsensusHeader(
        parent_hash=unhex(fields["parentHash"]),
        fee_recipient=unhex(fields["miner"]),
        state_root=unhex(fields["stateRoot"]),
        transactions_root=ordered_root(block.transactions),
        receipts_root=ordered_root(block.raw_receipts),
        bloom=logs_bloom(logs),
        number=number(fields, "number"),
        gas_limit=number(fields, "gasLimit"),
        gas_used=sum(number(each, "gasUsed") for each in block.receipts),
        timestamp=number(fields, "timestamp"),
        extra_data=unhex(fields["extraData"]),
        prev_randao=unhex(fields["mixHash"]),
        base_fee=number(fields, "baseFeePerGas"),
        withdrawals_root=unhex(fields["withdrawalsRoot"]),
        blob_gas_used=number(fields, "blobGasUsed"),
        parent_beacon_root=unhex(fields["parentBeaconBlockRoot"]),
    )


def test_first_blocks_of_every_chain_are_the_models(blocks: list[RecordedBlock], genesis: dict[str, Any]) -> None:
    """Execute the blocks before the first one that creates a contract; roots and hashes are op-geth's."""
    chain = ModelChain(genesis)
    head = chain.genesis
    assert head.header.hash() == unhex(blocks[0].block["hash"])
    for block in blocks[1:6]:
        fields = block.block
        given = BlockAttributes(
            timestamp=number(fields, "timestamp"),
            prev_randao=unhex(fields["mixHash"]),
            fee_recipient=unhex(fields["miner"]),
            parent_beacon_root=unhex(fields["parentBeaconBlockRoot"]),
            gas_limit=number(fields, "gasLimit"),
            eip1559=None,
            min_base_fee=0,
        )
        gas = [number(each, "gasUsed") for each in block.receipts]
        head = chain.build(head, given, block.transactions, gas)
        assert head.header.encode() == block.raw_header
    assert len(blocks[5].transactions) > 1
