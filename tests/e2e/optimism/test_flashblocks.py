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
from live.sending import signed
from optimism import Driver, OptimismNode, op_genesis, optimism_node
from optimism.pending import wait_for_receipt

SECONDS = 20.0
# Fields of messages, and the names of the Engine API for their values.
BASE_FIELDS = {
    "parent_hash": "parentHash",
    "fee_recipient": "feeRecipient",
    "prev_randao": "prevRandao",
    "block_number": "blockNumber",
    "gas_limit": "gasLimit",
    "timestamp": "timestamp",
    "extra_data": "extraData",
    "base_fee_per_gas": "baseFeePerGas",
}
DIFF_FIELDS = {
    "state_root": "stateRoot",
    "receipts_root": "receiptsRoot",
    "logs_bloom": "logsBloom",
    "gas_used": "gasUsed",
    "block_hash": "blockHash",
    "withdrawals_root": "withdrawalsRoot",
    "blob_gas_used": "blobGasUsed",
}
RECEIPT_FIELDS = ("type", "status", "cumulativeGasUsed", "logs")
_SERVED = re.compile(r"flashblocks are served.*?address=(\S+)")


@contextmanager
def publishing_node(folder: Path) -> Iterator[OptimismNode]:
    """Run a node that publishes flashblocks."""
    with optimism_node(folder, op_genesis(), "--flashblocks-ws", "127.0.0.1:0") as node:
        yield node


def connect_reader(node: OptimismNode, path: str = "/ws", **options: Any) -> ClientConnection:
    """Connect to the flashblocks of a node."""
    served = wait_for(lambda: _SERVED.search(node.printed), SECONDS, "flashblocks address", lambda: node.printed)
    reader: ClientConnection = connect(f"ws://{served[1]}{path}", **options)
    return reader


def next_message(reader: ClientConnection) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(reader.recv(SECONDS))
    return message


def messages_up_to(reader: ClientConnection, block_hash: str) -> list[dict[str, Any]]:
    """Return the messages up to the step at which the block has this hash."""
    messages = [next_message(reader)]
    while messages[-1]["diff"]["block_hash"] != block_hash:
        messages.append(next_message(reader))
    return messages


def send(node: OptimismNode, nonce: int) -> str:
    """Send a transaction in a separate step, and return its hash."""
    sent: str = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], nonce))
    wait_for_receipt(node.rpc, sent)
    return sent


def test_messages_of_a_block_add_up_to_the_sealed_block(tmp_path: Path) -> None:
    with publishing_node(tmp_path / "node") as node, connect_reader(node) as reader:
        driver = Driver(node.engine)
        driver.start()
        for number in (1, 2):
            payload = driver.begin()
            sent = [send(node, 2 * (number - 1)), send(node, 2 * number - 1)]
            # A reader that connects during a block receives all its messages.
            with connect_reader(node, "/") as late:
                # It is a reader from its first message on, not yet when its handshake ends.
                first = next_message(late)
                block = driver.seal()
                messages = messages_up_to(reader, block["blockHash"])
                assert [first, *messages_up_to(late, block["blockHash"])] == messages
            assert [message["index"] for message in messages] == [0, 1, 2]
            assert {message["payload_id"] for message in messages} == {payload.id}
            assert {message["metadata"]["block_number"] for message in messages} == {number}
            diff = messages[-1]["diff"]
            assert {name: diff[name] for name in DIFF_FIELDS} == {
                name: block[sealed] for name, sealed in DIFF_FIELDS.items()
            }
            added = [raw for message in messages for raw in message["diff"]["transactions"]]
            assert added == block["transactions"]
            base = messages[0]["base"]
            assert {name: base[name] for name in BASE_FIELDS} == {
                name: block[sealed] for name, sealed in BASE_FIELDS.items()
            }
            assert base["parent_beacon_block_root"] == payload.attributes["parentBeaconBlockRoot"]
            assert all("base" not in message for message in messages[1:])
            for message, transaction in zip(messages[1:], sent, strict=True):
                receipt = node.rpc("eth_getTransactionReceipt", transaction)
                [shown] = message["metadata"]["receipts"].items()
                assert shown[0] == transaction
                assert {name: shown[1][name] for name in RECEIPT_FIELDS} == {
                    name: receipt[name] for name in RECEIPT_FIELDS
                }
            balances = messages[-1]["metadata"]["new_account_balances"]
            sender = DEV_ACCOUNTS[0].address
            wei = {address.lower(): int(balance, 16) for address, balance in balances.items()}
            assert wei[sender.lower()] == int(node.rpc("eth_getBalance", sender, hex(number)), 16)


def test_successor_of_an_abandoned_payload_begins_with_another_id(tmp_path: Path) -> None:
    with publishing_node(tmp_path / "node") as node, connect_reader(node) as reader:
        driver = Driver(node.engine)
        driver.start()
        abandoned = driver.begin()
        send(node, 0)
        driver.abandon()
        driver.begin()
        assert driver.payload is not None
        ids = [(message["payload_id"], message["index"]) for message in (next_message(reader) for _ in range(3))]
        assert ids == [(abandoned.id, 0), (abandoned.id, 1), (driver.payload.id, 0)]
        with connect_reader(node) as late:
            assert next_message(late)["payload_id"] == driver.payload.id


def test_request_of_a_browser_is_rejected(tmp_path: Path) -> None:
    with (
        publishing_node(tmp_path / "node") as node,
        pytest.raises(InvalidStatus, match="403"),
        connect_reader(node, origin="https://example.org"),
    ):
        pass


def test_stop_of_the_node_closes_connections_with_1001(tmp_path: Path) -> None:
    with ExitStack() as readers:
        with publishing_node(tmp_path / "node") as node:
            reader = readers.enter_context(connect_reader(node))
            driver = Driver(node.engine)
            driver.start()
            driver.begin()
            next_message(reader)
        with pytest.raises(ConnectionClosed) as closed:
            reader.recv(SECONDS)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
