"""Tiers, keys, lists, rates and limits of a running node: rejected and allowed cases, by every kind of call."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from command import foreseal
from foreseal.client import Client, ClientError, Options, RpcError
from live import LiveNode, live_node, wait_for
from raw_websocket import RawWebSocket, Refused

JSON = {"Content-Type": "application/json"}
PLACE = "0x" + "ab" * 20
# Returns its remaining gas.
GAS_LEFT = [{"to": PLACE, "gas": hex(300_000_000)}, "latest", {PLACE: {"code": "0x5a60005260206000f3"}}]

Outcome = tuple[int, int]
"""HTTP status (200 on a WebSocket and inside a batch) and error code, 0 for a result."""
Way = Callable[[LiveNode, str | None, dict[str, Any]], Outcome]


def request_of(method: str, *params: Any, ident: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


def code_of(answer: dict[str, Any]) -> int:
    return int(answer["error"]["code"]) if "error" in answer else 0


def header(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def alone(node: LiveNode, key: str | None, request: dict[str, Any]) -> Outcome:
    """Call alone over HTTP."""
    answer = node.rpc.post(json.dumps(request).encode(), JSON | header(key))
    return answer.status, code_of(answer.json())


def entry(node: LiveNode, key: str | None, request: dict[str, Any]) -> Outcome:
    """Call between two calls that every caller may make, which must not be affected."""
    batch = [request_of("eth_chainId"), request, request_of("eth_chainId", ident=2)]
    answer = node.rpc.post(json.dumps(batch).encode(), JSON | ({} if key is None else {"X-API-Key": key}))
    if answer.status != 200:
        return answer.status, code_of(answer.json())
    first, middle, last = answer.json()
    assert (code_of(first), code_of(last)) == (0, 0)
    return 200, code_of(middle)


def message(node: LiveNode, key: str | None, request: dict[str, Any]) -> Outcome:
    """Call on a WebSocket, alone and in a batch."""
    port = urlsplit(node.url).port
    assert port
    try:
        with RawWebSocket(port, **header(key)) as socket:
            socket.send(json.dumps(request).encode())
            single = code_of(socket.hear())
            socket.send(json.dumps([request_of("eth_chainId"), request]).encode())
            first, second = socket.hear()
            assert (code_of(first), code_of(second)) == (0, single)
            return 200, single
    except Refused as refused:
        return refused.args[0], code_of(json.loads(refused.args[1]))


WAYS = [alone, entry, message]


class Endpoint:
    """A public node with lists, and keys of every kind."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.keys: dict[str | None, str | None] = {None: None, "unknown": f"fs_{'0' * 10}_{'1' * 64}", "none": "hello"}
        rates = {"few": ("--rate", "2/h"), "fewer": ("--rate", "2/h")}
        for name, more in {"good": (), "low": ("--tier", "public"), "gone": (), **rates}.items():
            self.create(name, *more)
        self.revoke("gone")
        self.running = live_node("--datadir", str(folder), *arguments)

    def create(self, name: str, *more: str) -> None:
        done = foreseal("keys", "create", name, "--datadir", self.folder, *more)
        assert done.returncode == 0, done.stderr
        self.keys[name] = done.stdout.strip()

    def revoke(self, name: str) -> None:
        done = foreseal("keys", "revoke", name, "--datadir", self.folder)
        assert done.returncode == 0, done.stderr

    def __enter__(self) -> "Endpoint":
        self.node = self.running.__enter__()
        return self

    def __exit__(self, *ended: Any) -> None:
        self.running.__exit__(*ended)
        for key in self.keys.values():
            assert key is None or key not in self.node.printed, "no key is ever in the log"


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    lists = ("--public-deny", "txpool_*", "--dedicated-deny", "debug_traceCall", "--public-rate", "0")
    with Endpoint(tmp_path_factory.mktemp("public"), "--public", "--max-batch", "30", *lists) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def dedicated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with Endpoint(tmp_path_factory.mktemp("dedicated"), "--dedicated-allow", "eth_*,net_version") as endpoint:
        yield endpoint


RECEIPTS = request_of("eth_getBlockReceipts", "latest")
BALANCE = request_of("eth_getBalance", PLACE, "latest")
POOL = request_of("txpool_status")
TRACE = request_of("debug_traceCall", {"to": PLACE}, "latest")
GOOD, NO, WHO = (200, 0), (403, -32004), (401, -32004)

ON_PUBLIC: list[tuple[str | None, dict[str, Any], Outcome]] = [
    (None, BALANCE, GOOD),
    (None, RECEIPTS, NO),
    (None, POOL, NO),
    (None, TRACE, GOOD),
    ("good", BALANCE, GOOD),
    ("good", RECEIPTS, GOOD),
    ("good", POOL, GOOD),
    ("good", TRACE, NO),
    ("low", BALANCE, GOOD),
    ("low", RECEIPTS, NO),
    ("low", POOL, NO),
    ("low", TRACE, GOOD),
    ("gone", BALANCE, WHO),
    ("unknown", BALANCE, WHO),
    ("none", BALANCE, WHO),
]
ON_DEDICATED: list[tuple[str | None, dict[str, Any], Outcome]] = [
    (None, BALANCE, GOOD),
    (None, RECEIPTS, GOOD),
    (None, POOL, NO),
    (None, request_of("net_version"), GOOD),
    (None, request_of("rpc_modules"), GOOD),
    (None, request_of("rpc.discover"), GOOD),
    (None, request_of("no_such"), (200, -32601)),
    ("good", RECEIPTS, GOOD),
    ("good", POOL, NO),
    ("low", RECEIPTS, NO),
    ("low", POOL, GOOD),
    ("gone", BALANCE, WHO),
    ("unknown", BALANCE, WHO),
]


def expected(way: Way, outcome: Outcome) -> Outcome:
    """Return the outcome; a rejected entry or message does not determine the status of its response."""
    return (200, outcome[1]) if outcome[0] == 403 and way is not alone else outcome


def named(value: Any) -> str:
    return str(value["method"]) if isinstance(value, dict) else getattr(value, "__name__", str(value))


@pytest.mark.parametrize("way", WAYS, ids=named)
@pytest.mark.parametrize(("key", "request_", "outcome"), ON_PUBLIC, ids=named)
def test_public_endpoint_enforces_its_tiers(
    public: Endpoint, way: Way, key: str | None, request_: dict[str, Any], outcome: Outcome
) -> None:
    assert way(public.node, public.keys[key], request_) == expected(way, outcome)


@pytest.mark.parametrize("way", WAYS, ids=named)
@pytest.mark.parametrize(("key", "request_", "outcome"), ON_DEDICATED, ids=named)
def test_dedicated_endpoint_enforces_its_tiers(
    dedicated: Endpoint, way: Way, key: str | None, request_: dict[str, Any], outcome: Outcome
) -> None:
    assert way(dedicated.node, dedicated.keys[key], request_) == expected(way, outcome)


def test_public_callers_have_less_gas_and_smaller_batches(public: Endpoint) -> None:
    def gas_left(key: str | None) -> int:
        body = json.dumps(request_of("eth_call", *GAS_LEFT)).encode()
        return int(public.node.rpc.post(body, JSON | header(key)).json()["result"], 16)

    assert gas_left(None) < 50_000_000
    assert gas_left(public.keys["low"]) < 50_000_000
    assert gas_left(public.keys["good"]) > 290_000_000
    batch = json.dumps([request_of("eth_chainId")] * 4).encode()
    refused = public.node.rpc.post(batch).json()
    assert refused["error"]["data"] == {"limit": "batch", "max": 3}
    assert len(public.node.rpc.post(batch, JSON | header(public.keys["good"])).json()) == 4


def test_a_key_in_the_url_is_ignored(public: Endpoint) -> None:
    rpc, key, body = public.node.rpc, public.keys["good"], json.dumps(RECEIPTS).encode()
    assert rpc.request("POST", f"/{key}", body, JSON).status == 404
    assert rpc.request("POST", f"/?key={key}", body, JSON).status == 403


def test_keys_are_made_and_revoked_while_the_node_runs(public: Endpoint) -> None:
    public.create("short-lived")
    key = public.keys["short-lived"]
    wait_for(lambda: alone(public.node, key, RECEIPTS) == GOOD, 30, "key")
    port = urlsplit(public.node.url).port
    assert port
    with RawWebSocket(port, **header(key)) as silent, RawWebSocket(port, **header(key)) as asking:
        assert isinstance(asking.request("eth_subscribe", "newHeads"), str)
        public.revoke("short-lived")
        wait_for(lambda: alone(public.node, key, RECEIPTS) == WHO, 30, "end of the key")
        assert silent.ending() == (1008, "the API key was revoked or has expired")
        assert asking.ending()[0] == 1008


def test_rate_of_a_key_is_shared_by_every_transport(public: Endpoint) -> None:
    """2/h has a burst of one call: the next call is rejected for half an hour."""
    key = public.keys["fewer"]
    assert alone(public.node, key, BALANCE) == GOOD
    assert alone(public.node, key, BALANCE) == (429, -32005)
    assert entry(public.node, key, BALANCE) == (429, -32005)
    port = urlsplit(public.node.url).port
    assert port
    with RawWebSocket(port, **header(key)) as socket:
        error = socket.request("eth_chainId")
        assert (error["code"], error["data"]["limit"], error["data"]["max"]) == (-32005, "rate", 2)
        assert 0 < error["data"]["retryAfterMs"] <= 1_800_000
    answer = public.node.rpc.post(json.dumps(BALANCE).encode(), JSON | header(key))
    assert 0 < int(answer.headers["retry-after"]) <= 1800


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveNode]:
    """Run a public node with low limits."""
    bounds = ("--public-rate", "2/s", "--trusted-proxy", "127.0.0.1")
    with live_node("--public", *bounds, "--public-max-caller-connections", "2") as node:
        yield node


def test_a_client_that_honours_retry_after_gets_through(slow: LiveNode) -> None:
    refused = 0
    for _ in range(8):
        answer = slow.rpc.post(json.dumps(BALANCE).encode())
        while answer.status == 429:
            refused += 1
            time.sleep(int(answer.headers["retry-after"]))
            answer = slow.rpc.post(json.dumps(BALANCE).encode())
        assert answer.status == 200
    assert refused


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_the_python_client_honours_retry_after(slow: LiveNode, scheme: str) -> None:
    with Client(slow.url.replace("http", scheme, 1), Options(attempts=20)) as client:
        assert [client.chain_id() for _ in range(6)] == [31337] * 6


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_the_python_client_sends_its_key(public: Endpoint, scheme: str) -> None:
    url = public.node.url.replace("http", scheme, 1)
    with Client(url, Options(key=public.keys["good"])) as client:
        assert client.get_block_receipts("earliest") == ()
    with Client(url) as client, pytest.raises(RpcError, match="-32004"):
        client.get_block_receipts("earliest")
    with (
        Client(url, Options(key=public.keys["gone"])) as client,
        pytest.raises((RpcError, ClientError), match="revoked"),
    ):
        client.chain_id()


def test_clients_behind_a_proxy_have_separate_rates(slow: LiveNode) -> None:
    def statuses(client: str, count: int) -> list[int]:
        headers = JSON | {"X-Forwarded-For": f"203.0.113.1, {client}"}
        batch = json.dumps([request_of("eth_getLogs", {}), BALANCE]).encode()
        return [slow.rpc.post(batch, headers).status for _ in range(count)]

    # A search takes all tokens of the bucket.
    assert statuses("198.51.100.1", 1) == [200]
    assert statuses("198.51.100.2", 1) == [200]
    assert statuses("2001:db8::1", 1) == [200]


def test_websockets_of_one_client_are_limited(slow: LiveNode) -> None:
    port = urlsplit(slow.url).port
    assert port
    mine = {"X-Forwarded-For": "198.51.100.9"}
    with RawWebSocket(port, **mine), RawWebSocket(port, **mine):
        with pytest.raises(Refused, match="a caller may have at most 2 connections") as refused:
            RawWebSocket(port, **mine)
        assert refused.value.args[0] == 429
        with RawWebSocket(port, **{"X-Forwarded-For": "198.51.100.10"}) as other:
            assert other.request("eth_chainId") == "0x7a69"


def test_metrics_contain_no_key(public: Endpoint) -> None:
    for key in ("good", "few", "few"):
        alone(public.node, public.keys[key], BALANCE)
    page = public.node.rpc.request("GET", "/metrics").body.decode()
    assert 'foreseal_refused_total{tier="dedicated",reason="rate"}' in page
    assert not re.search(r"fs_[0-9a-f]{10}", page)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--public-deny", "eth_getbalance"), "access.public_deny: unknown method eth_getbalance"),
        (("--dedicated-allow", "etc_*"), "access.dedicated_allow: unknown method etc_*"),
    ],
)
def test_unknown_method_in_a_tier_list_fails_at_start(arguments: tuple[str, str], message: str) -> None:
    done = foreseal("dev", "--port", 0, *arguments)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"foreseal: {message}")


def test_invalid_key_file_fails_at_start(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("{")
    done = foreseal("dev", "--port", 0, "--datadir", tmp_path)
    assert done.returncode == 1
    assert f"foreseal: cannot use the API keys in {tmp_path}/keys.json: " in done.stderr
