"""WebSockets of a real node: permitted clients, served methods, and the feed from a cursor during production."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from eth_utils import keccak

from live import DEV_ACCOUNTS, LiveNode, live_node, wait_for
from live.sending import Sender, signed
from raw_websocket import RawWebSocket, Refused

ORIGIN = {"Origin": "http://localhost:3000"}
BLOCKS = 3


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port
    return port


@pytest.fixture(scope="module")
def dev(transport: str) -> Iterator[LiveNode]:
    # One client acts for many, so it must not reach the limits of one caller.
    bounds = "--public-rate", "0", "--public-max-caller-connections", "512"
    with live_node(
        "--transport", transport, "--admin", "127.0.0.1:0", "--public", *bounds, "--block-time", "1s"
    ) as node:
        yield node


@pytest.fixture(scope="module")
def admin(dev: LiveNode) -> int:
    match = wait_for(lambda: re.search(r"admin listener at (http://\S+)", dev.printed), 10, "URL")
    return port_of(match[1])


def connect(node: LiveNode, **headers: str) -> RawWebSocket:
    return RawWebSocket(port_of(node.url), **headers)


def refusal(port: int, path: str = "/", **headers: str) -> int:
    with pytest.raises(Refused) as refused:
        RawWebSocket(port, path, **headers)
    return int(refused.value.args[0])


def test_websocket_serves_the_methods_of_http(dev: LiveNode) -> None:
    with connect(dev) as socket:
        assert socket.request("eth_chainId") == "0x7a69"
        assert socket.request("eth_getBlockByNumber", "pending", False)["number"]
        assert socket.request("eth_estimateGas", {"to": "0x" + "11" * 20}) == "0x5208"
        # The tier's limits, the development methods and the admin methods.
        assert socket.request("eth_getBlockReceipts", "latest")["code"] == -32004
        assert socket.request("anvil_setBalance", "0x" + "77" * 20, "0x5") is None
        assert socket.request("foreseal_setFinality", {"safe": "0x0"})["code"] == -32601
        calls = [("eth_getBlockReceipts", ["latest"]), ("eth_getBalance", ["0x" + "77" * 20, "pending"])]
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(calls)
        ]
        socket.send(json.dumps(batch).encode())
        refused, balance = socket.hear()
        assert (refused["error"]["code"], balance["result"]) == (-32004, "0x5")


def test_a_batch_behind_another_reads_the_view_when_it_begins(dev: LiveNode) -> None:
    """A batch that is sent before the first one is answered finds the transaction of that one."""
    sender = Sender(dev.rpc, DEV_ACCOUNTS[4])
    raw = signed(sender.account, sender.nonce())
    hash_ = "0x" + keccak(hexstr=raw).hex()

    def batch(method: str, *params: Any) -> bytes:
        return json.dumps([{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}]).encode()

    with connect(dev) as socket:
        socket.send(batch("eth_sendRawTransactionSync", raw))
        socket.send(batch("eth_getTransactionReceipt", hash_))
        sent, read = socket.hear(), socket.hear()
    assert sent[0]["result"]["transactionHash"] == hash_
    assert read[0]["result"]["transactionHash"] == hash_


@pytest.mark.parametrize(("method", "params"), [("eth_subscribe", ["newHeads"]), ("eth_unsubscribe", ["0xab"])])
def test_subscription_over_http_error_names_the_websocket(dev: LiveNode, method: str, params: list[str]) -> None:
    error = dev.rpc.http_call(method, *params).json()["error"]
    assert error["code"] == -32601
    assert error["message"].endswith("it needs a WebSocket; connect to the same URL with ws://")


def test_websocket_checks_host_origin_and_path(dev: LiveNode, admin: int) -> None:
    assert refusal(port_of(dev.url), Host="evil.example") == 403
    assert refusal(port_of(dev.url), "/ws") == 404
    with connect(dev, **ORIGIN) as socket:
        assert socket.request("eth_chainId") == "0x7a69"
    assert refusal(admin, **ORIGIN) == 403
    assert refusal(admin, Host="evil.example") == 403
    with RawWebSocket(admin) as socket:
        assert socket.request("foreseal_setFinality", {"safe": "0x0"}) is not None
        assert re.fullmatch("0x[0-9a-f]{32}", socket.request("eth_subscribe", "newHeads"))
        assert socket.hear()["params"]["result"]["number"]


def test_run_rejects_websockets_of_browser_pages(serving: LiveNode) -> None:
    assert refusal(port_of(serving.url), **ORIGIN) == 403
    with connect(serving, Host="any.example") as socket:
        assert socket.request("eth_chainId")


def cursor_of(step: dict[str, Any]) -> dict[str, Any]:
    return {"block": step["number"], "index": step["index"], "hash": step["hash"]}


def pages_after(node: LiveNode, cursor: dict[str, Any]) -> list[Any]:
    """Return all steps after a cursor, by foreseal_getFlashblocks."""
    flashblocks: list[Any] = []
    while True:
        page = node.rpc("foreseal_getFlashblocks", cursor, "0x5")
        flashblocks += page["flashblocks"]
        cursor = page["cursor"]
        if page["complete"]:
            return flashblocks


def test_feed_resumes_from_any_step_without_gap_or_duplicate(dev: LiveNode) -> None:
    """Readers start at the first step, in the middle and at the newest one, while transactions arrive."""
    first = dev.rpc("foreseal_getFlashblocks", None)["cursor"]
    begun = int(dev.rpc("eth_blockNumber"), 16)
    sender = Sender(dev.rpc, DEV_ACCOUNTS[3])
    nonce = sender.nonce()
    readers: list[tuple[dict[str, Any], RawWebSocket]] = []
    while len(readers) < 6 or int(dev.rpc("eth_blockNumber"), 16) < begun + BLOCKS:
        sender.send(nonce)
        nonce += 1
        made = pages_after(dev, first)
        cursors = [first, *(cursor_of(step) for step in made)]
        if len(readers) < 30:
            cursor = cursors[(0, len(cursors) // 2, -1)[len(readers) % 3]]
            socket = connect(dev)
            assert re.fullmatch("0x[0-9a-f]{32}", socket.request("eth_subscribe", "foreseal_feed", cursor))
            readers.append((cursor, socket))
    whole = pages_after(dev, first)
    assert len(whole) > 5
    assert len(readers) >= 6
    for cursor, socket in readers:
        places = [first, *(cursor_of(step) for step in whole)]
        wanted = whole[places.index(cursor) :]
        heard: list[Any] = []
        while len(heard) < len(wanted):
            result = socket.hear()["params"]["result"]
            if "heartbeat" not in result:
                heard.append(result)
        assert heard == wanted
        socket.close()


def test_unknown_cursor_is_an_error(dev: LiveNode) -> None:
    with connect(dev) as socket:
        nowhere = {"block": "0x1", "index": "0x0", "hash": "0x" + "11" * 32}
        error = socket.request("eth_subscribe", "foreseal_feed", nowhere)
        assert error["code"] == -32001
        assert set(error["data"]["oldest"]) == {"block", "index", "hash"}
        assert socket.request("eth_subscribe", "foreseal_feed", error["data"]["oldest"])


def test_shutdown_closes_the_websocket_with_a_reason(transport: str) -> None:
    with live_node("--transport", transport) as node:
        socket = connect(node)
        assert socket.request("eth_subscribe", "newHeads")
    assert socket.ending() == (1001, "the server is shutting down")
    socket.close()
