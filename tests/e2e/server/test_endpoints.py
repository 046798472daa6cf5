"""The three endpoints of a real node: one chain, read as /, /sealed and /preconfirmed."""

import http.client
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from live import DEV_ACCOUNTS, LiveNode, RpcFailure, live_node, wait_for
from live.sending import Sender, signed
from raw_websocket import RawWebSocket, Refused

PATHS = ("/", "/sealed", "/preconfirmed", "/sealed/", "/preconfirmed/")
# Emits an event with no topics, for any input.
LOGGER_CODE = "0x60006000a000"
LOGGER = "0x" + "11" * 20


@pytest.fixture(scope="module")
def dev(transport: str) -> Iterator[LiveNode]:
    # A block stays open until the test mines it.
    with live_node("--transport", transport, "--block-time", "3600s") as node:
        yield node


class KeptConnection:
    """One HTTP connection that is used for all requests."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        return response.status, response.read()

    def call(self, path: str, method: str, *params: Any) -> Any:
        status, body = self.post(path, request(method, *params))
        assert status == 200, body
        answer = orjson.loads(body)
        return answer["result"] if "result" in answer else answer["error"]

    def close(self) -> None:
        self._connection.close()


def request(method: str, *params: Any) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


@pytest.fixture
def kept(dev: LiveNode) -> Iterator[KeptConnection]:
    connection = KeptConnection(dev.url)
    yield connection
    connection.close()


@pytest.fixture
def preconfirmed(dev: LiveNode) -> dict[str, Any]:
    """Return the receipt of a transaction with a log in the open block."""
    dev.rpc("anvil_setCode", LOGGER, LOGGER_CODE)
    hash = Sender(dev.rpc, DEV_ACCOUNTS[0]).send(to=LOGGER, gas=100_000)
    receipt = wait_for(lambda: dev.rpc("eth_getTransactionReceipt", hash), 10, "receipt")
    return dict(receipt)


def seal(dev: LiveNode, receipt: dict[str, Any]) -> None:
    dev.rpc("evm_mine")
    wait_for(lambda: int(dev.rpc("eth_blockNumber"), 16) >= int(receipt["blockNumber"], 16), 10, "block")


def test_each_endpoint_names_blocks_in_its_own_way(
    dev: LiveNode, kept: KeptConnection, preconfirmed: dict[str, Any]
) -> None:
    number, hash = preconfirmed["blockNumber"], preconfirmed["transactionHash"]
    previous = hex(int(number, 16) - 1)
    for path in PATHS:
        assert kept.call(path, "eth_blockNumber") == previous
        newest = kept.call(path, "eth_getBlockByNumber", "latest", False)["number"]
        by_number = kept.call(path, "eth_getBlockByNumber", number, False)
        receipt = kept.call(path, "eth_getTransactionReceipt", hash)
        transaction = kept.call(path, "eth_getTransactionByHash", hash)
        if path.startswith("/preconfirmed"):
            assert (newest, by_number["number"]) == (number, number)
        else:
            assert (newest, by_number) == (previous, None)
        if path.startswith("/sealed"):
            assert (receipt, transaction["blockNumber"]) == (None, None)
        else:
            assert (receipt["transactionHash"], transaction["blockNumber"]) == (hash, number)
    seal(dev, preconfirmed)
    receipts = [kept.call(path, "eth_getTransactionReceipt", hash) for path in PATHS]
    assert receipts == [receipts[0]] * len(PATHS)


def test_alternating_over_one_connection_gives_the_bytes_of_a_fresh_one(
    dev: LiveNode, kept: KeptConnection, preconfirmed: dict[str, Any]
) -> None:
    hash = preconfirmed["transactionHash"]
    calls = [
        ("eth_getTransactionReceipt", hash),
        ("eth_getBlockByNumber", "latest", True),
        ("eth_getBlockReceipts", "latest"),
        ("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"}),
        ("eth_getTransactionCount", DEV_ACCOUNTS[0].address, "latest"),
        ("eth_getBalance", DEV_ACCOUNTS[0].address, "latest"),
    ]
    batch = orjson.dumps(
        [{"jsonrpc": "2.0", "id": id, "method": name, "params": params} for id, (name, *params) in enumerate(calls)]
    )
    for body in [*(request(*call) for call in calls), batch]:
        fresh = {}
        for path in PATHS:
            other = KeptConnection(dev.url)
            fresh[path] = other.post(path, body)
            other.close()
        assert fresh["/"] != fresh["/sealed"] or fresh["/"] != fresh["/preconfirmed"], body
        for path in PATHS * 3:
            assert kept.post(path, body) == fresh[path], (path, body)
    seal(dev, preconfirmed)


def test_a_websocket_keeps_its_endpoint(dev: LiveNode, preconfirmed: dict[str, Any]) -> None:
    port = urlsplit(dev.url).port
    assert port
    hash = preconfirmed["transactionHash"]
    with ExitStack() as stack:
        sockets = {path: stack.enter_context(RawWebSocket(port, path)) for path in PATHS}
        for path, socket in sockets.items():
            assert wait_for(lambda socket=socket: socket.request("eth_getBlockByNumber", "pending", False), 10, "block")
            receipt = socket.request("eth_getTransactionReceipt", hash)
            assert (receipt is None) == path.startswith("/sealed"), path
            socket.request("eth_subscribe", "logs", {"address": LOGGER})
            socket.request("eth_subscribe", "newHeads")
        Sender(dev.rpc, DEV_ACCOUNTS[1]).send(to=LOGGER, gas=100_000)
        for path, socket in sockets.items():
            if path.startswith("/preconfirmed"):
                assert socket.hear()["params"]["result"]["removed"] is False
        seal(dev, preconfirmed)
        for path, socket in sockets.items():
            kinds = [
                "logs" if "topics" in result and "difficulty" not in result else "head" for result in heard(socket)
            ]
            # The log of the fixture was in a step before the subscription.
            assert kinds.count("logs") == (0 if path.startswith("/preconfirmed") else 2), path


def heard(socket: RawWebSocket) -> list[dict[str, Any]]:
    """Return the notifications up to the next head, and what follows before an answer."""
    results = []
    while not any("difficulty" in result for result in results):
        results.append(socket.hear()["params"]["result"])
    socket.call("eth_chainId")
    while "id" not in (message := socket.hear()):
        results.append(message["params"]["result"])
    return results


def test_a_submission_to_sealed_returns_at_the_seal(dev: LiveNode, kept: KeptConnection) -> None:
    account = DEV_ACCOUNTS[2]
    nonce = int(dev.rpc("eth_getTransactionCount", account.address, "pending"), 16)
    raw = signed(account, nonce, to=LOGGER, gas=100_000)
    error = kept.call("/sealed", "eth_sendRawTransactionSync", raw, 1)
    assert error["code"] == 4, "no receipt before the seal"
    assert kept.call("/preconfirmed", "eth_sendRawTransactionSync", raw)["status"] == "0x1"
    seal(dev, kept.call("/", "eth_getTransactionReceipt", error["data"]))
    assert kept.call("/sealed", "eth_sendRawTransactionSync", raw)["status"] == "0x1"


def test_other_paths_and_pages_are_refused_alike(dev: LiveNode, kept: KeptConnection) -> None:
    port = urlsplit(dev.url).port
    assert port
    for path in ("/latest", "/sealed/x", "/Sealed"):
        status, body = kept.post(path, request("eth_chainId"))
        assert (status, b"JSON-RPC is at /, /sealed and /preconfirmed" in body) == (404, True)
        with pytest.raises(Refused, match="404"):
            RawWebSocket(port, path)
    for path in PATHS:
        with pytest.raises(Refused, match="403"):
            RawWebSocket(port, path, Origin="https://stranger.example")


def test_an_estimate_without_a_block_counts_the_open_block(dev: LiveNode) -> None:
    # Code of the open block: clients estimate their first call right after the receipt of a deployment.
    with pytest.raises(RpcFailure, match="revert"):
        dev.rpc("eth_estimateGas", {"data": "0x60006000fd"})
    receipt = deploy(dev, "0x60056000556004600f5f3960045ff3" + "5f545000")
    target = receipt["contractAddress"]
    call = {"to": target}
    assert dev.rpc("eth_estimateGas", call, "latest") == "0x5208"
    assert int(dev.rpc("eth_estimateGas", call), 16) == int(dev.rpc("eth_estimateGas", call, "pending"), 16) > 0x5208
    seal(dev, receipt)


def deploy(dev: LiveNode, data: str) -> dict[str, Any]:
    hash = Sender(dev.rpc, DEV_ACCOUNTS[3]).send(to="", data=data, gas=500_000)
    receipt = wait_for(lambda: dev.rpc("eth_getTransactionReceipt", hash), 10, "receipt")
    assert re.fullmatch("0x[0-9a-fA-F]{40}", receipt["contractAddress"])
    return dict(receipt)
