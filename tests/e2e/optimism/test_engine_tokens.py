"""Authentication at the listener of the Engine API, and the methods of each listener."""

import contextlib
import json
import re
import socket
import stat
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from eth_utils.hexadecimal import encode_hex

from live import HttpAnswer, Rpc, RpcFailure, wait_for
from live.sending import CHAIN_ID
from optimism import OptimismNode, op_genesis, optimism_node
from optimism.engine_client import issue_token
from optimism.predeploys import MESSAGE_PASSER
from raw_websocket import RawWebSocket

CHAIN_ID_CALL = b'{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[]}'
MAX_BODY = 128 << 20
# Seconds until a listener answers.
TIMEOUT = 30
METHOD_NOT_FOUND = -32601
_ADMIN = re.compile(r"admin listener at (http://\S+)")

ENGINE_CALLS: list[tuple[str, list[Any]]] = [
    ("engine_exchangeCapabilities", [[]]),
    ("engine_forkchoiceUpdatedV3", [{}, None]),
    ("engine_getClientVersionV1", [{}]),
    ("engine_getPayloadV4", ["0x0000000000000000"]),
    ("engine_newPayloadV4", [{}, [], "0x", []]),
]


def send(node: OptimismNode, token: str | None, body: bytes = CHAIN_ID_CALL, verb: str = "POST") -> HttpAnswer:
    """Send a request to the listener of the Engine API."""
    return node.engine.send(body, token, verb)


@pytest.mark.parametrize("age", [0, 55, -55])
def test_fresh_token_is_accepted(driven: OptimismNode, age: int) -> None:
    issued = 0
    while time.time() - issued > 59:  # a busy machine may take longer than the rest of a token's life
        issued = int(time.time()) - age
        answer = send(driven, driven.engine.token(iat=issued))
    assert (answer.status, answer.json()) == (200, {"jsonrpc": "2.0", "id": 7, "result": hex(CHAIN_ID)})


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (lambda secret: None, "missing token"),
        (lambda secret: "", "missing token"),
        (lambda secret: "abc", "malformed"),
        (lambda secret: issue_token(bytes(32), time.time()), "signature"),
        (lambda secret: issue_token(secret, time.time(), iat=int(time.time()) - 90), "within 60 seconds"),
        (lambda secret: issue_token(secret, time.time(), iat=int(time.time()) + 90), "within 60 seconds"),
        (lambda secret: issue_token(secret, time.time(), exp=int(time.time()) - 90), "expired"),
        (lambda secret: issue_token(secret, time.time(), iat=None), "no time of issue"),
        (lambda secret: issue_token(secret, time.time(), algorithm="none"), "HS256"),
        (lambda secret: issue_token(secret, time.time(), algorithm="HS384"), "HS256"),
        (lambda secret: issue_token(secret, time.time(), algorithm="HS512"), "HS256"),
    ],
    ids=["none", "empty", "malformed", "forged", "old", "future", "expired", "no-iat", "alg-none", "HS384", "HS512"],
)
def test_invalid_token_is_rejected(driven: OptimismNode, token: Any, reason: str) -> None:
    answer = send(driven, token(driven.engine.secret))
    assert answer.status == 401
    assert reason in answer.body.decode()


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ("{head}.{other}.{signature}", "signature"),
        ("{head}.{claims}.", "signature"),
        ("{head}.{claims}", "malformed"),
    ],
    ids=["other-claims", "empty-signature", "no-signature"],
)
def test_changed_token_is_rejected(driven: OptimismNode, form: str, reason: str) -> None:
    head, claims, signature = driven.engine.token().split(".")
    other = driven.engine.token(iat=int(time.time()) - 5).split(".")[1]
    assert other != claims
    answer = send(driven, form.format(head=head, claims=claims, other=other, signature=signature))
    assert answer.status == 401
    assert reason in answer.body.decode()


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_only_post_is_accepted(driven: OptimismNode, verb: str) -> None:
    assert send(driven, driven.engine.token(), b"", verb).status == 405
    assert send(driven, None, b"", verb).status == 401


def test_too_large_body_is_rejected(driven: OptimismNode) -> None:
    answer = send(driven, driven.engine.token(), b" " * (MAX_BODY + 1))
    assert answer.status == 413
    assert send(driven, driven.engine.token()).status == 200


def test_body_without_token_is_not_read(driven: OptimismNode) -> None:
    parts = urlsplit(driven.engine.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT) as connection:
        head = f"POST / HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {MAX_BODY}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 401 ")


def test_half_sent_heads_leave_room_for_the_driver(driven: OptimismNode) -> None:
    parts = urlsplit(driven.engine.url)
    with contextlib.ExitStack() as strangers:
        for _ in range(70):
            connection = socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT)
            strangers.enter_context(connection).sendall(b"POST / HTTP/1.1\r\nHost: a")
        for _ in range(9):
            assert send(driven, driven.engine.token()).status == 200
        assert driven.engine("eth_chainId") == hex(CHAIN_ID)


def test_engine_listener_has_no_websocket(driven: OptimismNode) -> None:
    parts = urlsplit(driven.engine.url)
    head = f"GET / HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    head += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    head += f"Authorization: Bearer {driven.engine.token()}\r\n\r\n"
    with socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT) as connection:
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 405 ")


@pytest.mark.parametrize(("method", "params"), ENGINE_CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_engine_method_exists_on_no_other_listener(driven: OptimismNode, method: str, params: list[Any]) -> None:
    match = wait_for(lambda: _ADMIN.search(driven.printed), TIMEOUT, "URL for administrators")
    with contextlib.closing(Rpc(match[1])) as admin:
        for rpc in (driven.rpc, admin):
            assert rpc.envelope(method, *params)["error"]["code"] == METHOD_NOT_FOUND
    with RawWebSocket(urlsplit(driven.url).port or 0) as websocket:
        websocket.call(method, *params)
        assert websocket.hear()["error"]["code"] == METHOD_NOT_FOUND


def test_engine_method_exists_on_no_worker(tmp_path: Path) -> None:
    with optimism_node(tmp_path, op_genesis(), "--workers", "2") as node:
        for method, params in ENGINE_CALLS:
            assert node.rpc.envelope(method, *params)["error"]["code"] == METHOD_NOT_FOUND
        block = node.engine.build()["executionPayload"]
        wait_for(lambda: node.rpc("eth_blockNumber") == "0x1", TIMEOUT, "new head at the workers")
        assert node.rpc("eth_getBlockByNumber", "latest", False)["hash"] == block["blockHash"]


def test_token_of_the_driver_is_no_api_key(driven: OptimismNode) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {driven.engine.token()}"}
    assert driven.rpc.post(CHAIN_ID_CALL, headers).json()["error"]["code"] == -32004


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_chainId", []),
        ("eth_getBlockByNumber", ["latest", True]),
        ("eth_getBlockByNumber", ["0x0", False]),
        ("eth_getProof", [encode_hex(MESSAGE_PASSER), [], "latest"]),
        ("eth_syncing", []),
        ("web3_clientVersion", []),
    ],
    ids=["chain-id", "latest", "genesis", "proof", "syncing", "version"],
)
def test_engine_listener_answers_other_methods(driven: OptimismNode, method: str, params: list[Any]) -> None:
    assert driven.engine(method, *params) == driven.rpc(method, *params)


def test_admin_methods_are_not_served_to_the_driver(driven: OptimismNode) -> None:
    with pytest.raises(RpcFailure) as failure:
        driven.engine("foreseal_setFinality", {"safe": "0x0"})
    assert failure.value.code == METHOD_NOT_FOUND


@pytest.mark.parametrize("method", ["engine_unknown", "engine_getPayloadV99", "engine_"])
def test_unknown_engine_method_is_not_found(driven: OptimismNode, method: str) -> None:
    with pytest.raises(RpcFailure) as failure:
        driven.engine(method, {})
    assert failure.value.code == METHOD_NOT_FOUND
    assert method in failure.value.message


def test_batch_of_the_driver_is_answered_in_order(driven: OptimismNode) -> None:
    calls = [{"jsonrpc": "2.0", "id": ident, "method": "eth_chainId", "params": []} for ident in (3, 1, 2)]
    answer = send(driven, driven.engine.token(), json.dumps(calls).encode())
    assert answer.json() == [{"jsonrpc": "2.0", "id": ident, "result": hex(CHAIN_ID)} for ident in (3, 1, 2)]


def test_missing_secret_is_created_for_its_owner(driven: OptimismNode) -> None:
    assert stat.S_IMODE(driven.secret_file.stat().st_mode) == 0o600
    assert len(driven.engine.secret) == 32


def test_existing_secret_is_used(tmp_path: Path) -> None:
    secret = bytes(range(32))
    (tmp_path / "engine.jwt").write_text("0x" + secret.hex() + "\n")
    with optimism_node(tmp_path, op_genesis()) as node:
        assert node.engine.send(CHAIN_ID_CALL, issue_token(secret, time.time())).status == 200
        assert node.secret_file.read_text() == "0x" + secret.hex() + "\n"
