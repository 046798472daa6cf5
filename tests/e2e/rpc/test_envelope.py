"""JSON-RPC envelopes and their HTTP responses, seen by a client of a running node."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from live import HttpAnswer, Rpc, live_node
from live.rpc import JSON_TYPE

CHAIN_ID = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
ANSWER = "0x7a69"


def post(rpc: Rpc, request: Any) -> HttpAnswer:
    answer = rpc.post(request if isinstance(request, bytes) else json.dumps(request).encode())
    if answer.status != 204:
        assert answer.headers["content-type"] == "application/json"
    return answer


def changed(**fields: Any) -> dict[str, Any]:
    return CHAIN_ID | fields


def without(name: str) -> dict[str, Any]:
    return {field: value for field, value in CHAIN_ID.items() if field != name}


@pytest.mark.parametrize("ident", [0, 1, -7, 2**63 - 1, 2**64 - 1, 1.5, "", "a", "0x1", 'ü"\\', None])
def test_id_is_echoed_unchanged(rpc: Rpc, ident: Any) -> None:
    answer = post(rpc, changed(id=ident))
    assert answer.status == 200
    assert answer.json() == {"jsonrpc": "2.0", "id": ident, "result": ANSWER}
    assert type(answer.json()["id"]) is type(ident)


@pytest.mark.parametrize("ident", ["18446744073709551616", "-9223372036854775809", "[1]", '{"a":1}', "true"])
def test_id_that_cannot_be_echoed_is_rejected(rpc: Rpc, ident: str) -> None:
    answer = post(rpc, b'{"jsonrpc":"2.0","id":%b,"method":"eth_chainId","params":[]}' % ident.encode())
    assert answer.status == 200
    assert answer.json()["error"]["code"] == -32600
    assert answer.json()["id"] is None


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (without("jsonrpc"), -32600),
        (changed(jsonrpc="1.0"), -32600),
        (changed(jsonrpc=2.0), -32600),
        (changed(jsonrpc=None), -32600),
        (without("method"), -32600),
        (changed(method=None), -32600),
        (changed(method=1), -32600),
        (changed(method=["eth_chainId"]), -32600),
        (changed(params={}), -32602),
        (changed(params={"block": "latest"}), -32602),
        (changed(params="latest"), -32602),
        (changed(params=None), -32602),
        (changed(method="eth_nothing"), -32601),
        (changed(method=""), -32601),
        ([], -32600),
        ("eth_chainId", -32600),
        (7, -32600),
        (None, -32600),
        (b"", -32700),
        (b"{", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]', -32700),
        (b"\xff", -32700),
        (b"{'jsonrpc':'2.0'}", -32700),
    ],
)
def test_a_wrong_request_gets_its_code(rpc: Rpc, request_: Any, code: int) -> None:
    answer = post(rpc, request_)
    assert answer.status == 200
    body = answer.json()
    assert body["jsonrpc"] == "2.0"
    assert body["error"]["code"] == code
    assert body["error"]["message"]
    assert "result" not in body
    understood = isinstance(request_, dict)
    assert body["id"] == (1 if understood else None)


def test_params_may_be_left_out(rpc: Rpc) -> None:
    assert post(rpc, without("params")).json()["result"] == ANSWER


def test_a_notification_gets_no_answer(rpc: Rpc) -> None:
    for request in (without("id"), [without("id")], [without("id"), without("id")]):
        answer = post(rpc, request)
        assert (answer.status, answer.body) == (204, b"")


def test_batch_preserves_order_around_an_invalid_entry(rpc: Rpc) -> None:
    requests = [
        changed(id="first"),
        7,
        changed(id=2, method="eth_nothing"),
        without("id"),
        changed(id=3, jsonrpc="1.0"),
        [],
        changed(id=4, method="eth_getBalance", params=["0x12"]),
        changed(id=5, method="eth_getBlockReceipts", params=["0x0"]),
        changed(id="first"),
    ]
    answers = post(rpc, requests).json()
    assert [answer["id"] for answer in answers] == ["first", None, 2, 3, None, 4, 5, "first"]
    codes = [answer["error"]["code"] if "error" in answer else answer["result"] for answer in answers]
    assert codes == [ANSWER, -32600, -32601, -32600, -32600, -32602, [], ANSWER]


def test_a_batch_is_answered_from_one_view(rpc: Rpc) -> None:
    asked = ("eth_getBlockByNumber", "pending", False)
    number, *blocks = rpc.batch(("eth_blockNumber",), *[asked] * 300)
    assert all(block == blocks[0] for block in blocks)
    assert int(blocks[0]["number"], 16) == int(number, 16) + 1


def test_the_response_has_a_freshness_header(rpc: Rpc) -> None:
    view, _, age = post(rpc, CHAIN_ID).headers["x-foreseal-view"].partition("; age=")
    block, index = map(int, view.split("."))
    assert block >= 1
    assert index >= 0
    assert int(age) >= 0


def test_wrong_http_gets_its_status(rpc: Rpc) -> None:
    body = json.dumps(CHAIN_ID).encode()
    assert rpc.request("GET", "/").status == 405
    assert rpc.request("PUT", "/", body, JSON_TYPE).status == 405
    assert rpc.post(body, {"Content-Type": "text/plain"}).status == 415
    assert rpc.request("POST", "/nothing", body, JSON_TYPE).status == 404
    # The length alone is enough: the server does not wait for the body.
    refused = rpc.request("POST", "/", None, JSON_TYPE | {"Content-Length": str(6 << 20)})
    assert refused.status == 413
    assert refused.json()["error"]["code"] == -32005
    rpc.close()
    assert post(rpc, CHAIN_ID).json()["result"] == ANSWER


@pytest.fixture(scope="module")
def public(transport: str) -> Iterator[Rpc]:
    with live_node("--transport", transport, "--public") as node:
        yield node.rpc


def test_public_endpoint_rejects_block_receipts(public: Rpc) -> None:
    request = changed(method="eth_getBlockReceipts", params=["latest"])
    alone = post(public, request)
    assert alone.status == 403
    assert alone.json()["id"] == 1
    assert alone.json()["error"]["code"] == -32004
    batch = post(public, [CHAIN_ID, request, changed(id=2)])
    assert batch.status == 200
    first, refused, last = batch.json()
    assert (first["result"], last["result"]) == (ANSWER, ANSWER)
    assert refused["error"]["code"] == -32004
