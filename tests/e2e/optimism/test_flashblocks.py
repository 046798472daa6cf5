"""Flashblocks in the format of the OP stack, as a reader of a real node receives them."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from live import DEV_ACCOUNTS, wait_for
from live.sending import CHAIN_ID, signed
from optimism import Driver, OptimismNode, op_genesis, optimism_node

SECONDS = 20.0
FUNDED = [(account.address, 10**24) for account in DEV_ACCOUNTS]
_SERVED = re.compile(r"flashblocks are served.*?address=(\S+)")


@contextmanager
def publishing_node(folder: Path) -> Iterator[OptimismNode]:
    with optimism_node(folder, op_genesis(CHAIN_ID, FUNDED), "--flashblocks-ws", "127.0.0.1:0") as node:
        yield node


def reader_of(node: OptimismNode, path: str = "/ws", **options: Any) -> ClientConnection:
    served = wait_for(lambda: _SERVED.search(node.printed), SECONDS, "flashblocks address", lambda: node.printed)
    reader: ClientConnection = connect(f"ws://{served[1]}{path}", **options)
    return reader


def next_message(reader: ClientConnection) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reader.recv(SECONDS))
    return found


def messages_up_to(reader: ClientConnection, block_hash: str) -> list[dict[str, Any]]:
    """Return the messages up to the step at which the block has this hash."""
    messages = [next_message(reader)]
    while messages[-1]["diff"]["block_hash"] != block_hash:
        messages.append(next_message(reader))
    return messages


def send(node: OptimismNode, account: int, nonce: int) -> str:
    sent: str = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[account], nonce))
    wait_for(lambda: node.rpc("eth_getTransactionReceipt", sent), SECONDS, "receipt")
    return sent


def test_messages_of_a_block_make_up_the_sealed_block(tmp_path: Path) -> None:
    with publishing_node(tmp_path / "node") as node, reader_of(node) as reader:
        driver = Driver(node.engine)
        driver.start()
        for number in (1, 2):
            payload = driver.begin()
            sent = [send(node, 0, 2 * (number - 1)), send(node, 0, 2 * number - 1)]
            # A reader that connects in mid-block begins with the same messages.
            with reader_of(node, "/") as late:
                block = driver.seal()
                messages = messages_up_to(reader, block["blockHash"])
                assert messages_up_to(late, block["blockHash"]) == messages
            assert [message["index"] for message in messages] == [0, 1, 2]
            assert {message["payload_id"] for message in messages} == {payload.id}
            assert {message["metadata"]["block_number"] for message in messages} == {number}
            diff = messages[-1]["diff"]
            for name, sealed in (("state_root", "stateRoot"), ("receipts_root", "receiptsRoot")):
                assert diff[name] == block[sealed]
            assert (diff["gas_used"], diff["withdrawals_root"]) == (block["gasUsed"], block["withdrawalsRoot"])
            assert (diff["logs_bloom"], diff["blob_gas_used"]) == (block["logsBloom"], block["blobGasUsed"])
            added = [raw for message in messages for raw in message["diff"]["transactions"]]
            assert added == block["transactions"]
            base = messages[0]["base"]
            assert (base["parent_hash"], base["timestamp"]) == (block["parentHash"], block["timestamp"])
            assert (base["extra_data"], base["gas_limit"]) == (block["extraData"], block["gasLimit"])
            assert (base["fee_recipient"], base["prev_randao"]) == (block["feeRecipient"], block["prevRandao"])
            for message, transaction in zip(messages[1:], sent, strict=True):
                receipt = node.rpc("eth_getTransactionReceipt", transaction)
                shown = message["metadata"]["receipts"][transaction]
                assert {name: receipt[name] for name in ("type", "status", "cumulativeGasUsed")} == {
                    name: shown[name] for name in ("type", "status", "cumulativeGasUsed")
                }
            balances = messages[-1]["metadata"]["new_account_balances"]
            sender = DEV_ACCOUNTS[0].address
            found = {address.lower(): int(balance, 16) for address, balance in balances.items()}
            assert found[sender.lower()] == int(node.rpc("eth_getBalance", sender, hex(number)), 16)


def test_successor_of_an_abandoned_payload_begins_with_another_id(tmp_path: Path) -> None:
    with publishing_node(tmp_path / "node") as node, reader_of(node) as reader:
        driver = Driver(node.engine)
        driver.start()
        abandoned = driver.begin()
        send(node, 0, 0)
        driver.abandon()
        driver.begin()
        assert driver.payload is not None
        ids = [(message["payload_id"], message["index"]) for message in (next_message(reader) for _ in range(3))]
        assert ids == [(abandoned.id, 0), (abandoned.id, 1), (driver.payload.id, 0)]
        with reader_of(node) as late:
            assert next_message(late)["payload_id"] == driver.payload.id


def test_browsers_are_rejected_and_a_stop_is_announced(tmp_path: Path) -> None:
    with ExitStack() as readers:
        with publishing_node(tmp_path / "node") as node:
            with pytest.raises(InvalidStatus, match="403"), reader_of(node, origin="https://example.org"):
                pass
            reader = readers.enter_context(reader_of(node))
        with pytest.raises(ConnectionClosed) as closed:
            reader.recv(SECONDS)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
