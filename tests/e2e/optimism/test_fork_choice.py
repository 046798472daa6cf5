"""Fork choice, payloads and finality under a driver, on an OP chain and on a plain one."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from live import DEV_ACCOUNTS, RpcFailure
from live.sending import TIP, signed
from optimism import OptimismNode, op_genesis, optimism_node, plain_genesis
from optimism.block_client import next_attributes, plain_attributes
from optimism.engine_client import BLOCK_NOT_FOUND, ZERO_HASH
from optimism.pending import wait_for_receipt

UNKNOWN_HASH = "0x" + "ab" * 32
# Errors of the Engine API.
UNKNOWN_PAYLOAD, INVALID_FORK_CHOICE, INVALID_ATTRIBUTES = -38001, -38002, -38003


def test_same_attributes_give_the_same_payload_id(driven: OptimismNode) -> None:
    engine = driven.engine
    parent = engine.block("latest")
    attributes = next_attributes(parent)
    first = engine.begin_payload(parent["hash"], attributes)
    assert engine.begin_payload(parent["hash"], attributes) == first
    assert engine.begin_payload(parent["hash"], attributes | {"prevRandao": "0x" + "33" * 32}) != first
    assert engine.begin_payload(parent["hash"], attributes) == first


def test_payload_can_be_read_twice(driven: OptimismNode) -> None:
    engine = driven.engine
    parent = engine.block("latest")
    ident = engine.begin_payload(parent["hash"], next_attributes(parent))
    first = engine("engine_getPayloadV4", ident)
    assert engine("engine_getPayloadV4", ident) == first
    assert first["executionPayload"]["parentHash"] == parent["hash"]
    assert engine.submit(first)["status"] == "VALID"
    engine.choose_head(first["executionPayload"]["blockHash"])
    assert engine("engine_getPayloadV4", ident) == first


def test_built_block_is_valid_before_and_after_it_is_the_head(driven: OptimismNode) -> None:
    engine = driven.engine
    parent = engine.block("latest")
    answer = engine("engine_getPayloadV4", engine.begin_payload(parent["hash"], next_attributes(parent)))
    block = answer["executionPayload"]["blockHash"]
    valid = {"status": "VALID", "latestValidHash": block, "validationError": None}
    assert engine.submit(answer) == valid
    assert engine.block("latest")["hash"] == parent["hash"]
    assert engine.update_fork_choice(block)["payloadStatus"] == valid
    assert engine.submit(answer) == valid
    assert driven.rpc("eth_getBlockByNumber", "latest", False)["hash"] == block


def test_pool_transactions_are_in_the_payload(driven: OptimismNode) -> None:
    engine, account = driven.engine, DEV_ACCOUNTS[0]
    parent = engine.block("latest")
    nonce = int(driven.rpc("eth_getTransactionCount", account.address, "latest"), 16)
    sent = driven.rpc("eth_sendRawTransaction", signed(account, nonce))
    ident = engine.begin_payload(parent["hash"], next_attributes(parent, noTxPool=False))
    wait_for_receipt(driven.rpc, sent)
    pending = driven.rpc("eth_getBlockByNumber", "pending", False)
    answer = engine.seal(ident)
    payload = answer["executionPayload"]
    assert (payload["blockHash"], payload["stateRoot"]) == (pending["hash"], pending["stateRoot"])
    assert len(payload["transactions"]) == 1
    assert int(answer["blockValue"], 16) == 21_000 * TIP
    assert driven.rpc("eth_getBlockByNumber", "latest", False)["transactions"] == [sent]


def test_payload_without_pool_leaves_transactions_in_it(driven: OptimismNode) -> None:
    engine = driven.engine
    raw = signed(DEV_ACCOUNTS[1], 0)
    sent = driven.rpc("eth_sendRawTransaction", raw)
    assert engine.build()["executionPayload"]["transactions"] == []
    assert driven.rpc("eth_getTransactionReceipt", sent) is None
    parent = engine.block("latest")
    ident = engine.begin_payload(parent["hash"], next_attributes(parent, noTxPool=False))
    wait_for_receipt(driven.rpc, sent)
    assert engine.seal(ident)["executionPayload"]["transactions"] == [raw]


def test_unknown_payload_is_an_error(driven: OptimismNode) -> None:
    with pytest.raises(RpcFailure) as failure:
        driven.engine("engine_getPayloadV4", "0x0000000000000001")
    assert failure.value.code == UNKNOWN_PAYLOAD


def test_unknown_head_is_syncing(driven: OptimismNode) -> None:
    latest = driven.engine.block("latest")
    assert driven.engine.update_fork_choice(UNKNOWN_HASH) == {
        "payloadStatus": {"status": "SYNCING", "latestValidHash": None, "validationError": None},
        "payloadId": None,
    }
    assert driven.engine.block("latest") == latest


class DrivenChain(NamedTuple):
    """A node with blocks, and their hashes from genesis on."""

    node: OptimismNode
    hashes: list[str]


@pytest.fixture
def five_blocks(tmp_path: Path) -> Iterator[DrivenChain]:
    """Run a node with five blocks."""
    with optimism_node(tmp_path, op_genesis()) as node:
        hashes = [node.engine.block("latest")["hash"]]
        hashes += [node.engine.build()["executionPayload"]["blockHash"] for _ in range(5)]
        yield DrivenChain(node, hashes)


def numbers(node: OptimismNode) -> list[int]:
    """Return the numbers of the latest, the safe and the finalized block, which must be the same on both listeners."""
    tags = ("latest", "safe", "finalized")
    blocks = [node.engine.block(tag) for tag in tags]
    assert blocks == [node.rpc("eth_getBlockByNumber", tag, False) for tag in tags]
    return [int(block["number"], 16) for block in blocks]


def test_safe_goes_back_and_finalized_does_not(five_blocks: DrivenChain) -> None:
    node, hashes = five_blocks
    engine = node.engine
    engine.choose_head(hashes[5], hashes[4], hashes[2])
    assert numbers(node) == [5, 4, 2]
    engine.choose_head(hashes[5], hashes[3], hashes[2])
    assert numbers(node) == [5, 3, 2]
    for head in (hashes[5], hashes[3]):
        with pytest.raises(RpcFailure) as failure:
            engine.update_fork_choice(head, hashes[3], hashes[1])
        assert failure.value.code == INVALID_FORK_CHOICE
        assert numbers(node) == [5, 3, 2]
    engine.choose_head(hashes[5], safe=ZERO_HASH, finalized=ZERO_HASH)
    assert numbers(node) == [5, 3, 2]


def test_head_goes_back_to_the_finalized_block_only(five_blocks: DrivenChain) -> None:
    node, hashes = five_blocks
    engine = node.engine
    engine.choose_head(hashes[5], hashes[3], hashes[3])
    with pytest.raises(RpcFailure) as failure:
        engine.update_fork_choice(hashes[2])
    assert failure.value.code == INVALID_FORK_CHOICE
    engine.choose_head(hashes[3], hashes[3], hashes[3])
    assert numbers(node) == [3, 3, 3]
    engine.choose_head(hashes[5])
    assert numbers(node) == [5, 3, 3]


@pytest.mark.parametrize("tag", ["safe", "finalized"])
def test_blocks_off_the_chain_of_the_head_are_rejected(five_blocks: DrivenChain, tag: str) -> None:
    node, hashes = five_blocks
    for other in (UNKNOWN_HASH, hashes[5]):
        with pytest.raises(RpcFailure) as failure:
            node.engine.update_fork_choice(hashes[4], **{tag: other})
        assert failure.value.code == INVALID_FORK_CHOICE
    assert node.engine.block("latest")["hash"] == hashes[5]


def test_safe_and_finalized_do_not_exist_before_the_driver_chooses_them(tmp_path: Path) -> None:
    with optimism_node(tmp_path, op_genesis()) as node:
        node.engine.build()
        for tag in ("safe", "finalized"):
            with pytest.raises(RpcFailure) as failure:
                node.engine("eth_getBlockByNumber", tag, False)
            assert (failure.value.code, failure.value.message) == (BLOCK_NOT_FOUND, f"{tag} block not found")
            assert node.rpc("eth_getBlockByNumber", tag, False)["number"] == "0x0"


def test_other_node_imports_the_blocks(tmp_path: Path) -> None:
    builder, importer = tmp_path / "builder", tmp_path / "importer"
    with optimism_node(builder, op_genesis()) as one, optimism_node(importer, op_genesis()) as other:
        answers = [one.engine.build() for _ in range(3)]
        orphan = other.engine.submit(answers[2])
        assert (orphan["status"], orphan["latestValidHash"]) == ("SYNCING", None)
        for answer in answers:
            assert other.engine.submit(answer)["status"] == "VALID"
        assert other.rpc("eth_blockNumber") == "0x0"
        other.engine.choose_head(answers[2]["executionPayload"]["blockHash"])
        assert other.rpc("eth_getBlockByNumber", "latest", True) == one.rpc("eth_getBlockByNumber", "latest", True)


def test_plain_chain_builds_and_imports_with_plain_attributes(tmp_path: Path) -> None:
    builder, importer = tmp_path / "builder", tmp_path / "importer"
    with optimism_node(builder, plain_genesis()) as one, optimism_node(importer, plain_genesis()) as other:
        account = DEV_ACCOUNTS[0]
        sent = one.rpc("eth_sendRawTransaction", signed(account, 0))
        parent = one.engine.block("latest")
        ident = one.engine.begin_payload(parent["hash"], plain_attributes(parent))
        wait_for_receipt(one.rpc, sent)
        answer = one.engine("engine_getPayloadV5", ident)
        payload = answer["executionPayload"]
        assert len(payload["transactions"]) == 1
        assert "withdrawalsRoot" not in payload
        assert "parentBeaconBlockRoot" not in answer
        for node in (one, other):
            assert node.engine.submit(answer)["status"] == "VALID"
            node.engine.choose_head(payload["blockHash"])
            assert node.rpc("eth_getBlockByNumber", "latest", False)["transactions"] == [sent]
        # The head is an ancestor: nothing is unwound (Engine API, forkchoiceUpdated).
        one.engine.choose_head(parent["hash"])
        assert one.rpc("eth_blockNumber") == "0x1"


def test_plain_chain_rejects_the_attributes_of_op_chains(tmp_path: Path) -> None:
    with optimism_node(tmp_path, plain_genesis()) as node:
        parent = node.engine.block("latest")
        for added in ({"eip1559Params": "0x" + "00" * 8}, {"minBaseFee": 0}):
            with pytest.raises(RpcFailure) as failure:
                node.engine.begin_payload(parent["hash"], plain_attributes(parent) | added)
            assert failure.value.code == INVALID_ATTRIBUTES
