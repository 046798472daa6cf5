"""Request bodies made by hypothesis, and what every answer to them must be."""

import json
from typing import Any

import orjson
from hypothesis import strategies as st

from foreseal.rpc import Limits

LIMITS = Limits(body=5000, batch=20, depth=12, response=3000)
"""Small ones, so that bodies reach them."""

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner))
FAKE = ["eth_blockNumber", "echo", "reverts", "slow", "slow_fails", "large", "nothing"]
REAL = (
    "eth_getBlockByNumber eth_getLogs eth_getBlockReceipts eth_estimateGas eth_getStorageAt eth_sendRawTransaction "
    "eth_getTransactionCount eth_call eth_getBalance eth_getCode eth_chainId eth_blockNumber eth_gasPrice "
    "eth_maxPriorityFeePerGas eth_feeHistory eth_getBlockByHash eth_getTransactionByHash eth_getTransactionReceipt "
    "net_version web3_clientVersion eth_syncing foreseal_status"
).split()

# What the real methods take, nearly right: most calls get past the first look at their arguments.
hexes = st.binary(max_size=40).map(lambda data: "0x" + data.hex()) | st.integers(0, 2**70).map(hex)
sized = st.sampled_from([20, 32]).flatmap(lambda size: st.binary(min_size=size, max_size=size)).map(bytes.hex)
tags = st.sampled_from(["latest", "pending", "safe", "finalized", "earliest", "0x0", "0x1", "0x7fffffff"])
words = tags | hexes | sized.map(lambda text: "0x" + text)
fields = st.sampled_from(
    "from to gas gasPrice maxFeePerGas maxPriorityFeePerGas value data input nonce fromBlock toBlock address topics "
    "blockHash blockNumber accessList type".split()
)
objects = st.dictionaries(
    fields, words | st.lists(words | st.lists(words, max_size=3), max_size=3) | values, max_size=6
)
arguments = st.lists(words | objects | st.booleans() | values, max_size=4)

methods = st.sampled_from(FAKE + REAL)
requests = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | values,
        "id": st.integers(-(2**70), 2**70) | values,
        "method": methods | values,
        "params": arguments | st.lists(values, max_size=3) | values,
        "extra": values,
    },
)
proper = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": methods.filter(lambda name: name != "large"), "params": arguments},
    optional={"id": st.integers(0, 2**64 - 1) | st.text(max_size=9) | st.none()},
)


def as_json(value: Any) -> bytes:
    """JSON text, not always legal: NaN, lone surrogates and integers of any size are written as Python writes them."""

    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A request with a few bytes changed, cut out or put in."""
    body = bytearray(as_json(draw(proper | st.lists(proper, max_size=4))))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(body) - 1, 0)))
        body[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(body)


nested = st.integers(1, 3000).map(lambda depth: b'{"id":1,"params":' + b"[" * depth + b"]" * depth + b"}")
bodies = (
    st.binary(max_size=200)
    | values.map(as_json)
    | requests.map(as_json)
    | proper.map(as_json)
    | st.lists(requests | proper | values, max_size=25).map(as_json)
    | damaged()
    | nested
    | st.binary(min_size=4990, max_size=5010)
)


# Of the edge, the double and the real methods; not -32603, since nothing a caller sends may break a method.
CODES = {-32700, -32600, -32601, -32602, -32005, -32002, -32001, -32000, 3}


def check_entry(entry: Any) -> None:
    """One answer object, and nothing but what JSON-RPC 2.0 allows in it."""
    assert entry["jsonrpc"] == "2.0"
    assert entry["id"] is None or (isinstance(entry["id"], str | int | float) and not isinstance(entry["id"], bool))
    if "result" in entry:
        assert set(entry) == {"jsonrpc", "id", "result"}
        return
    assert set(entry) == {"jsonrpc", "id", "error"}
    assert {"code", "message"} <= set(entry["error"]) <= {"code", "message", "data"}
    assert entry["error"]["code"] in CODES
    assert entry["error"]["message"]


def check_answer(request: bytes, status: int, answer: bytes) -> None:
    """An answer to `request` within `LIMITS`: the right HTTP status, or well-formed JSON-RPC."""
    if len(request) > LIMITS.body:
        assert status == 413
        return
    assert status in (200, 204)
    if status == 204:
        assert answer == b""
        return
    content = orjson.loads(answer)
    for entry in content if isinstance(content, list) else [content]:
        check_entry(entry)
    assert content != []
