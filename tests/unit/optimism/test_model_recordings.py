"""The slow model of OP chains against chains that op-geth recorded: fees, vaults, base fees, receipts, headers."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from eth_utils.hexadecimal import decode_hex, encode_hex

from optimism.model.attributes import L1AttributesCall
from optimism.model.chain import BlockAttributes, ModelChain
from optimism.model.fees import MeteredBlock, da_footprint, l1_fee, next_base_fee, operator_fee, receipt_fee_fields
from optimism.model.headers import ConsensusHeader
from optimism.model.receipts import ConsensusLog, ConsensusReceipt, logs_bloom, ordered_root
from optimism.model.recorded_blocks import RecordedBlock, recorded_blocks
from optimism.model.transactions import DepositTransaction, SignedFields, attributes_source_hash, decode_transaction
from optimism.predeploys import BASE_FEE_VAULT, L1_FEE_VAULT, OPERATOR_FEE_VAULT, SEQUENCER_FEE_VAULT
from optimism.recordings import RECORDED_CHAINS, recorded_genesis


@pytest.fixture(params=RECORDED_CHAINS)
def name(request: pytest.FixtureRequest) -> str:
    recording: str = request.param
    return recording


@pytest.fixture
def blocks(name: str) -> list[RecordedBlock]:
    recording = recorded_blocks(name)
    assert len(recording) > 70
    return recording


@pytest.fixture
def genesis(name: str) -> dict[str, Any]:
    return recorded_genesis(name)


def number(fields: dict[str, Any], name: str) -> int:
    """Return a hex field as an integer."""
    return int(fields[name], 16)


def attributes(block: RecordedBlock) -> L1AttributesCall:
    first = DepositTransaction.decode(block.transactions[0])
    call = L1AttributesCall.decode(first.data)
    assert call.encode() == first.data
    assert first.source_hash == attributes_source_hash(call.block_hash, call.sequence_number)
    return call


def signed(block: RecordedBlock) -> Iterator[tuple[bytes, SignedFields, dict[str, Any]]]:
    """Yield encoding, fields and receipt of each transaction that is not a deposit."""
    for raw, receipt in zip(block.transactions, block.receipts, strict=True):
        fields = decode_transaction(raw)
        if isinstance(fields, SignedFields):
            assert decode_hex(receipt["from"]) == fields.sender
            yield raw, fields, receipt


def test_fee_fields_of_every_receipt_are_the_models(blocks: list[RecordedBlock]) -> None:
    checked = 0
    for block in blocks[1:]:
        l1 = attributes(block)
        for raw, fields, receipt in signed(block):
            price = fields.effective_price(number(block.block, "baseFeePerGas"))
            expected = receipt_fee_fields(raw, l1) | {"effectiveGasPrice": price}
            names = [name for name in receipt if name.startswith(("l1", "operator", "da", "blob", "effective"))]
            assert {name: number(receipt, name) for name in names} == expected
            checked += 1
    assert checked > 40


def test_vaults_receive_exactly_the_models_fees(blocks: list[RecordedBlock]) -> None:
    for before, block in pairwise(blocks):
        l1, base_fee = attributes(block), number(block.block, "baseFeePerGas")
        expected = dict.fromkeys((SEQUENCER_FEE_VAULT, BASE_FEE_VAULT, L1_FEE_VAULT, OPERATOR_FEE_VAULT), 0)
        for raw, fields, receipt in signed(block):
            gas = number(receipt, "gasUsed")
            expected[SEQUENCER_FEE_VAULT] += gas * (fields.effective_price(base_fee) - base_fee)
            expected[BASE_FEE_VAULT] += gas * base_fee
            expected[L1_FEE_VAULT] += l1_fee(raw, l1)
            expected[OPERATOR_FEE_VAULT] += operator_fee(gas, l1)
        names = {vault: encode_hex(vault) for vault in expected}
        assert {vault: block.balances[name] - before.balances[name] for vault, name in names.items()} == expected


def test_base_fee_and_footprint_of_every_header_are_the_models(blocks: list[RecordedBlock]) -> None:
    for before, block in pairwise(blocks):
        parent = before.block
        names = ("baseFeePerGas", "gasLimit", "gasUsed", "blobGasUsed")
        metered = MeteredBlock(*(number(parent, name) for name in names), decode_hex(parent["extraData"]))
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
        assert header.hash() == decode_hex(block.block["hash"])
        for raw in block.transactions:
            fields = decode_transaction(raw)
            assert isinstance(fields, SignedFields) or fields.encode() == raw


def _receipt(raw: bytes, receipt: dict[str, Any]) -> ConsensusReceipt:
    logs = tuple(
        ConsensusLog(decode_hex(log["address"]), tuple(map(decode_hex, log["topics"])), decode_hex(log["data"]))
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
        parent_hash=decode_hex(fields["parentHash"]),
        fee_recipient=decode_hex(fields["miner"]),
        state_root=decode_hex(fields["stateRoot"]),
        transactions_root=ordered_root(block.transactions),
        receipts_root=ordered_root(block.raw_receipts),
        bloom=logs_bloom(logs),
        number=number(fields, "number"),
        gas_limit=number(fields, "gasLimit"),
        gas_used=sum(number(each, "gasUsed") for each in block.receipts),
        timestamp=number(fields, "timestamp"),
        extra_data=decode_hex(fields["extraData"]),
        prev_randao=decode_hex(fields["mixHash"]),
        base_fee=number(fields, "baseFeePerGas"),
        withdrawals_root=decode_hex(fields["withdrawalsRoot"]),
        blob_gas_used=number(fields, "blobGasUsed"),
        parent_beacon_root=decode_hex(fields["parentBeaconBlockRoot"]),
    )


def test_first_blocks_of_every_chain_are_the_models(blocks: list[RecordedBlock], genesis: dict[str, Any]) -> None:
    """Execute the blocks before the first one that creates a contract; roots and hashes are op-geth's."""
    chain = ModelChain(genesis)
    head = chain.genesis
    assert head.header.hash() == decode_hex(blocks[0].block["hash"])
    for block in blocks[1:6]:
        fields = block.block
        planned = BlockAttributes(
            timestamp=number(fields, "timestamp"),
            prev_randao=decode_hex(fields["mixHash"]),
            fee_recipient=decode_hex(fields["miner"]),
            parent_beacon_root=decode_hex(fields["parentBeaconBlockRoot"]),
            gas_limit=number(fields, "gasLimit"),
            eip1559=None,
            min_base_fee=0,
        )
        gas = [number(each, "gasUsed") for each in block.receipts]
        head = chain.build(head, planned, block.transactions, gas)
        assert head.header.encode() == block.raw_header
    assert len(blocks[5].transactions) > 1
