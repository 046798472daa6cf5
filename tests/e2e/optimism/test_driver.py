"""Blocks and fees of a node under a driver that begins, seals and abandons payloads."""

import time
from pathlib import Path

import pytest
from eth_utils.hexadecimal import encode_hex

from live import DEV_ACCOUNTS
from live.sending import signed
from optimism import Driver, Fork, L1Attributes, SimulatedL1, op_genesis, optimism_node
from optimism.pending import wait_for_receipt
from optimism.predeploys import L1_BLOCK, MESSAGE_PASSER

# Seconds, several times the step of 50 ms.
SEVERAL_STEPS = 0.4


@pytest.mark.parametrize("fork", Fork)
def test_sealed_blocks_have_deposits_pool_transactions_and_l1_fees(fork: Fork, tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis(fork)) as node:
        driver = Driver(node.engine, fork)
        driver.start()
        roots = set()
        for nonce in range(3):
            driver.begin()
            # The message passer of the test chain writes storage at each call.
            raw = signed(DEV_ACCOUNTS[0], nonce, to=MESSAGE_PASSER, gas=100_000)
            sent = node.rpc("eth_sendRawTransaction", raw)
            wait_for_receipt(node.rpc, sent)
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
        l1, address = L1Attributes(SimulatedL1().block(1), 1), encode_hex(L1_BLOCK)
        stored = l1.call().storage()
        assert {at: int(node.rpc("eth_getStorageAt", address, hex(at), "latest"), 16) for at in stored} == stored
        assert int(node.rpc("eth_getBlockByNumber", "safe", False)["number"], 16) == driver.safe


def test_transactions_of_abandoned_payload_and_block_return_to_the_pool(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis()) as node:
        driver = Driver(node.engine)
        driver.start()
        driver.begin()
        first = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], 0))
        wait_for_receipt(node.rpc, first)
        driver.seal()
        abandoned = driver.begin()
        second = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[1], 0))
        wait_for_receipt(node.rpc, second)
        driver.abandon()
        driver.go_back()
        assert [each.number for each in driver.chain] == [0]
        assert driver.begin().id != abandoned.id
        for sent in (first, second):
            wait_for_receipt(node.rpc, sent)
        block = driver.seal()
        assert {node.rpc("eth_getTransactionReceipt", sent)["blockHash"] for sent in (first, second)} == {
            block["blockHash"]
        }


def test_finished_payload_gets_no_further_steps(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis()) as node:
        driver = Driver(node.engine)
        driver.start()
        driver.begin()
        finished = driver.finish()["blockHash"]
        late = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], 0))
        end = time.monotonic() + SEVERAL_STEPS
        while time.monotonic() < end:
            assert node.rpc("foreseal_status")["hash"] == finished
        assert node.rpc("foreseal_transactionStatus", late)["status"] == "pooled"
        assert driver.seal()["blockHash"] == finished
        driver.begin()
        wait_for_receipt(node.rpc, late)


def test_same_attributes_continue_the_open_payload(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis()) as node:
        driver = Driver(node.engine)
        driver.start()
        first = driver.begin()
        start = node.rpc("foreseal_getFlashblocks", None)["cursor"]
        sent = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], 0))
        wait_for_receipt(node.rpc, sent)
        assert driver.begin().id == first.id
        page = node.rpc("foreseal_getFlashblocks", start)
        assert [(step["index"], step["removed"]) for step in page["flashblocks"]] == [("0x1", False)]
        assert page["flashblocks"][0]["hash"] == driver.seal()["blockHash"]
