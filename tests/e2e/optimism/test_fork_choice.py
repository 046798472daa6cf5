"""Fork choice, payloads and finality under a driver, on a small OP chain and on a plain one."""

from pathlib import Path
from typing import Any

import pytest

from live import DEV_ACCOUNTS, RpcFailure, wait_for
from live.process import is_ok
from live.sending import signed
from optimism import OptimismNode, optimism_node, plain_genesis, small_genesis
from optimism.block_client import ZERO, next_attributes, plain_attributes
from optimism.small_genesis import CHAIN_ID

UNKNOWN = "0x" + "ab" * 32


def status(answer: dict[str, Any]) -> str:
    return str(answer["payloadStatus"]["status"])


def test_same_attributes_give_the_same_payload_id(driven: OptimismNode) -> None:
    engine = driven.engine
    parent = engine.block("latest")
    attributes = next_attributes(parent)
    first = engine.choose(parent["hash"], attributes=attributes)
    assert engine.choose(parent["hash"], attributes=attributes) == first
    assert status(first) == "VALID"
    other = engine.choose(parent["hash"], attributes=attributes | {"prevRandao": "0x" + "33" * 32})
    assert other["payloadId"] != first["payloadId"]
    assert engine.choose(parent["hash"], attributes=attributes)["payloadId"] == first["payloadId"]


def test_payload_can_be_read_twice(driven: OptimismNode) -> None:
    engine = driven.engine
    parent = engine.block("latest")
    ident = engine.choose(parent["hash"], attributes=next_attributes(parent))["payloadId"]
    first = engine("engine_getPayloadV4", ident)
    assert engine("engine_getPayloadV4", ident) == first
    assert first["executionPayload"]["parentHash"] == parent["hash"]
    assert engine.submit(first)["status"] == "VALID"
    assert status(engine.choose(first["executionPayload"]["blockHash"])) == "VALID"
    assert engine("engine_getPayloadV4", ident) == first


def test_built_block_is_valid_before_and_after_it_is_the_head(driven: OptimismNode) -> None:
    engine = driven.engine
    parent = engine.block("latest")
    answer = engine.begin_and_get(parent["hash"], next_attributes(parent))
    block = answer["executionPayload"]["blockHash"]
    valid = {"status": "VALID", "latestValidHash": block, "validationError": None}
    assert engine.submit(answer) == valid
    assert engine.block("latest")["hash"] == parent["hash"], "newPayload does not move the head"
    assert engine.choose(block)["payloadStatus"] == valid
    assert engine.submit(answer) == valid
    assert driven.rpc("eth_getBlockByNumber", "latest", False)["hash"] == block


def test_pool_transactions_are_in_the_payload(driven: OptimismNode) -> None:
    engine, account = driven.engine, DEV_ACCOUNTS[0]
    parent = engine.block("latest")
    nonce = int(driven.rpc("eth_getTransactionCount", account.address, "latest"), 16)
    sent = driven.rpc("eth_sendRawTransaction", signed(account, nonce, chainId=CHAIN_ID))
    ident = engine.choose(parent["hash"], attributes=next_attributes(parent, noTxPool=False))["payloadId"]
    wait_for(lambda: driven.rpc("eth_getTransactionReceipt", sent), 10, "the transaction in the pending block")
    pending = driven.rpc("eth_getBlockByNumber", "pending", False)
    answer = engine("engine_getPayloadV4", ident)
    payload = answer["executionPayload"]
    assert (payload["blockHash"], payload["stateRoot"]) == (pending["hash"], pending["stateRoot"])
    assert len(payload["transactions"]) == 1
    assert int(answer["blockValue"], 16) == 21_000 * 10**9, "the tip of one transfer"
    assert engine.submit(answer)["status"] == "VALID"
    engine.choose(payload["blockHash"])
    assert driven.rpc("eth_getBlockByNumber", "latest", False)["transactions"] == [sent]


def test_payload_without_pool_leaves_transactions_in_it(driven: OptimismNode) -> None:
    account = DEV_ACCOUNTS[1]
    sent = driven.rpc("eth_sendRawTransaction", signed(account, 0, chainId=CHAIN_ID))
    assert driven.engine.build()["executionPayload"]["transactions"] == []
    assert driven.rpc("eth_getTransactionReceipt", sent) is None
    parent = driven.engine.block("latest")
    driven.engine.choose(parent["hash"], attributes=next_attributes(parent, noTxPool=False))
    wait_for(lambda: driven.rpc("eth_getTransactionReceipt", sent), 10, "the transaction in the next block")


def test_unknown_payload_and_head_are_reported(driven: OptimismNode) -> None:
    with pytest.raises(RpcFailure) as failure:
        driven.engine("engine_getPayloadV4", "0x0000000000000001")
    assert failure.value.code == -38001
    unknown = driven.engine.choose(UNKNOWN)
    assert unknown["payloadStatus"] == {"status": "SYNCING", "latestValidHash": None, "validationError": None}
    assert unknown["payloadId"] is None


@pytest.fixture
def five_blocks(tmp_path: Path) -> Any:
    """Run a node with five blocks; yield it and the hashes from genesis on."""
    with optimism_node(tmp_path, small_genesis()) as node:
        hashes = [node.engine.block("latest")["hash"]]
        hashes += [node.engine.build()["executionPayload"]["blockHash"] for _ in range(5)]
        yield node, hashes


def numbers(node: OptimismNode) -> list[int]:
    """Return the numbers of the newest, the safe and the finalized block; both listeners must agree."""
    tags = ("latest", "safe", "finalized")
    found = [node.engine.block(tag) for tag in tags]
    assert found == [node.rpc("eth_getBlockByNumber", tag, False) for tag in tags]
    return [int(block["number"], 16) for block in found]


def test_safe_goes_back_and_finalized_does_not(five_blocks: tuple[OptimismNode, list[str]]) -> None:
    node, hashes = five_blocks
    engine = node.engine
    assert status(engine.choose(hashes[5], hashes[4], hashes[2])) == "VALID"
    assert numbers(node) == [5, 4, 2]
    engine.choose(hashes[5], hashes[3], hashes[2])
    assert numbers(node) == [5, 3, 2]
    for head in (hashes[5], hashes[3]):
        with pytest.raises(RpcFailure) as failure:
            engine.choose(head, hashes[3], hashes[1])
        assert failure.value.code == -38002
        assert numbers(node) == [5, 3, 2], "nothing changes"
    engine.choose(hashes[5], ZERO, ZERO)
    assert numbers(node) == [5, 3, 2], "zero hashes name no block"


def test_head_goes_back_to_the_finalized_block_only(five_blocks: tuple[OptimismNode, list[str]]) -> None:
    node, hashes = five_blocks
    engine = node.engine
    engine.choose(hashes[5], hashes[3], hashes[3])
    with pytest.raises(RpcFailure) as failure:
        engine.choose(hashes[2], ZERO, ZERO)
    assert failure.value.code == -38002
    assert status(engine.choose(hashes[3], hashes[3], hashes[3])) == "VALID"
    assert numbers(node) == [3, 3, 3]
    assert status(engine.choose(hashes[5])) == "VALID", "blocks that the head left remain known"
    assert numbers(node) == [5, 3, 3]


@pytest.mark.parametrize("named", ["safe", "finalized"])
def test_blocks_off_the_chain_of_the_head_are_rejected(five_blocks: tuple[OptimismNode, list[str]], named: str) -> None:
    node, hashes = five_blocks
    for other in (UNKNOWN, hashes[5]):
        with pytest.raises(RpcFailure) as failure:
            node.engine.choose(hashes[4], **{named: other})
        assert failure.value.code == -38002
    assert node.engine.block("latest")["hash"] == hashes[5]


def test_safe_and_finalized_are_unknown_until_named(tmp_path: Path) -> None:
    with optimism_node(tmp_path, small_genesis()) as node:
        node.engine.build()
        for tag in ("safe", "finalized"):
            with pytest.raises(RpcFailure) as failure:
                node.engine.block(tag)
            assert (failure.value.code, failure.value.message) == (-32000, f"{tag} block not found")
            assert node.rpc("eth_getBlockByNumber", tag, False)["number"] == "0x0"


def test_restarted_node_continues_under_the_driver(tmp_path: Path) -> None:
    with optimism_node(tmp_path, small_genesis()) as node:
        first = node.engine.build()["executionPayload"]["blockHash"]
        second = node.engine.build()["executionPayload"]["blockHash"]
        node.engine.choose(second, first, first)
    with optimism_node(tmp_path, None) as node:
        assert numbers(node) == [2, 1, 1]
        assert node.engine.build()["executionPayload"]["parentHash"] == second


def test_node_is_not_ready_while_the_driver_is_silent(tmp_path: Path) -> None:
    with optimism_node(tmp_path, small_genesis()) as node:
        node.engine.build()
        assert is_ok(f"{node.url}/readyz")
        # The limit is the time of three blocks, here three seconds.
        wait_for(lambda: not is_ok(f"{node.url}/readyz"), 30, "a red /readyz")
        node.engine.build()
        assert is_ok(f"{node.url}/readyz")


def test_other_node_imports_the_blocks(tmp_path: Path) -> None:
    builder, importer = tmp_path / "builder", tmp_path / "importer"
    builder.mkdir()
    importer.mkdir()
    with optimism_node(builder, small_genesis()) as one, optimism_node(importer, small_genesis()) as other:
        answers = [one.engine.build() for _ in range(3)]
        orphan = other.engine.submit(answers[2])
        assert (orphan["status"], orphan["latestValidHash"]) == ("SYNCING", None)
        for answer in answers:
            assert other.engine.submit(answer)["status"] == "VALID"
        assert other.rpc("eth_blockNumber") == "0x0"
        other.engine.choose(answers[2]["executionPayload"]["blockHash"])
        assert other.rpc("eth_getBlockByNumber", "latest", True) == one.rpc("eth_getBlockByNumber", "latest", True)


def test_plain_chain_builds_and_imports_with_plain_attributes(tmp_path: Path) -> None:
    builder, importer = tmp_path / "builder", tmp_path / "importer"
    builder.mkdir()
    importer.mkdir()
    with optimism_node(builder, plain_genesis()) as one, optimism_node(importer, plain_genesis()) as other:
        account = DEV_ACCOUNTS[0]
        sent = one.rpc("eth_sendRawTransaction", signed(account, 0, chainId=CHAIN_ID))
        parent = one.engine.block("latest")
        ident = one.engine.choose(parent["hash"], attributes=plain_attributes(parent))["payloadId"]
        wait_for(lambda: one.rpc("eth_getTransactionReceipt", sent), 10, "the transaction in the pending block")
        answer = one.engine("engine_getPayloadV5", ident)
        payload = answer["executionPayload"]
        assert len(payload["transactions"]) == 1
        assert "withdrawalsRoot" not in payload
        assert "parentBeaconBlockRoot" not in answer
        for node in (one, other):
            assert node.engine.submit(answer)["status"] == "VALID"
            assert status(node.engine.choose(payload["blockHash"])) == "VALID"
            assert node.rpc("eth_getBlockByNumber", "latest", False)["transactions"] == [sent]
        # The head is an ancestor: nothing is unwound (Engine API, forkchoiceUpdated).
        assert status(one.engine.choose(parent["hash"])) == "VALID"
        assert one.rpc("eth_blockNumber") == "0x1"


def test_plain_chain_rejects_the_attributes_of_op_chains(tmp_path: Path) -> None:
    with optimism_node(tmp_path, plain_genesis()) as node:
        parent = node.engine.block("latest")
        for extra in ({"eip1559Params": "0x" + "00" * 8}, {"minBaseFee": 0}):
            with pytest.raises(RpcFailure) as failure:
                node.engine.choose(parent["hash"], attributes=plain_attributes(parent) | extra)
            assert failure.value.code == -38003
