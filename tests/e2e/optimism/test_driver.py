"""The driver of tests builds a chain on a real node, whose blocks have the fees of the L1 attributes."""

import time
from pathlib import Path

import pytest

from live import DEV_ACCOUNTS, wait_for
from live.sending import CHAIN_ID, signed
from optimism import Driver, Fork, L1Attributes, SimulatedL1, op_genesis, optimism_node
from optimism.genesis import L1_ATTRIBUTES_CONTRACT, MESSAGE_PASSER

SECONDS = 20.0
FUNDED = [(account.address, 10**24) for account in DEV_ACCOUNTS]


@pytest.mark.parametrize("fork", Fork)
def test_sealed_blocks_have_deposits_pool_transactions_and_l1_fees(fork: Fork, tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis(CHAIN_ID, FUNDED, fork)) as node:
        driver = Driver(node.engine, fork)
        driver.start()
        roots = set()
        for nonce in range(3):
            driver.begin()
            # The message passer of the test chain stores something at each call.
            raw = signed(DEV_ACCOUNTS[0], nonce, to=MESSAGE_PASSER, gas=100_000)
            sent = node.rpc("eth_sendRawTransaction", raw)
            wait_for(lambda sent=sent: node.rpc("eth_getTransactionReceipt", sent), SECONDS, "receipt")
            block = driver.seal()
            assert len(block["transactions"]) == 2
            assert block["transactions"][1] == raw
            roots.add(block["withdrawalsRoot"])
            receipt = node.rpc("eth_getTransactionReceipt", sent)
            assert int(receipt["l1Fee"], 16) > 0
            assert node.rpc("foreseal_preconfirmation", sent)["binds"] == "engine"
            assert (receipt["status"], receipt["blockHash"]) == ("0x1", block["blockHash"])
        assert len(roots) == 3
        assert [each.number for each in driver.chain] == [0, 1, 2, 3]
        # Block 3 is the second one of its L1 block, 1.
        l1 = L1Attributes(SimulatedL1().block(1), 1)
        slot = [int(node.rpc("eth_getStorageAt", L1_ATTRIBUTES_CONTRACT, hex(at), "latest"), 16) for at in range(9)]
        assert slot[0] == l1.block.timestamp << 64 | l1.block.number
        assert slot[1] == l1.block.base_fee
        assert slot[2].to_bytes(32) == l1.block.hash
        assert slot[3] == l1.base_fee_scalar << 96 | l1.blob_base_fee_scalar << 64 | 1
        assert slot[4].to_bytes(20) == l1.batcher
        assert slot[7] == l1.block.blob_base_fee
        assert slot[8] == l1.footprint_scalar << 96 | l1.operator_fee_scalar << 64 | l1.operator_fee_constant
        assert driver.safe == node_number(node.rpc("eth_getBlockByNumber", "safe", False))


def node_number(block: dict[str, str]) -> int:
    return int(block["number"], 16)


def test_abandoned_payload_and_left_block_return_their_transactions(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis(CHAIN_ID, FUNDED)) as node:
        driver = Driver(node.engine)
        driver.start()
        driver.begin()
        first = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], 0))
        wait_for(lambda: node.rpc("eth_getTransactionReceipt", first), SECONDS, "receipt")
        driver.seal()
        abandoned = driver.begin()
        second = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[1], 0))
        wait_for(lambda: node.rpc("eth_getTransactionReceipt", second), SECONDS, "receipt")
        driver.abandon()
        driver.go_back()
        assert [each.number for each in driver.chain] == [0]
        assert driver.begin().id != abandoned.id
        wait_for(
            lambda: all(node.rpc("eth_getTransactionReceipt", sent) for sent in (first, second)), SECONDS, "receipts"
        )
        block = driver.seal()
        assert {node.rpc("eth_getTransactionReceipt", sent)["blockHash"] for sent in (first, second)} == {
            block["blockHash"]
        }


def test_taken_payload_gets_no_further_steps(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis(CHAIN_ID, FUNDED)) as node:
        driver = Driver(node.engine)
        driver.start()
        driver.begin()
        taken = driver.take()["executionPayload"]["blockHash"]
        late = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], 0))
        # Longer than several steps of the open block would take.
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            assert node.rpc("foreseal_status")["hash"] == taken
        assert node.rpc("foreseal_transactionStatus", late)["status"] == "pooled"
        assert driver.seal()["blockHash"] == taken
        driver.begin()
        wait_for(lambda: node.rpc("eth_getTransactionReceipt", late), SECONDS, "receipt in the next block")


def test_same_attributes_continue_the_open_payload(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis(CHAIN_ID, FUNDED)) as node:
        driver = Driver(node.engine)
        driver.start()
        first = driver.begin()
        start = node.rpc("foreseal_getFlashblocks", None)["cursor"]
        sent = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], 0))
        wait_for(lambda: node.rpc("eth_getTransactionReceipt", sent), SECONDS, "receipt")
        assert driver.begin().id == first.id
        page = node.rpc("foreseal_getFlashblocks", start)
        assert [(step["index"], step["removed"]) for step in page["flashblocks"]] == [("0x1", False)]
        assert page["flashblocks"][0]["hash"] == driver.seal()["blockHash"]
