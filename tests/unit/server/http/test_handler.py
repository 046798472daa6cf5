"""Verbs, paths, headers, statuses and limits, through the ASGI application without a socket."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal.rpc import Limits
from foreseal.server import App, DevChain, Settings
from foreseal.server.auth.origins import admin_hosts, endpoint_hosts
from foreseal.server.settings.access import AccessSettings
from foreseal.server.settings.kinds import OriginNames

from asgi_client import Answer, exchange, request, until
from fake_core import FakeNode

ONE = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []})
ORIGIN = {"origin": "https://x.example"}


def app(node: FakeNode | None = None, **settings: Any) -> App:
    made = node or FakeNode()
    return App(Settings(datadir=Path("unused"), **settings), make_node=lambda _: made)


def post(body: bytes = ONE, headers: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"chunks": [body], "headers": {"content-length": str(len(body))} | (headers or {}), **more}


def one(subject: App, request: dict[str, Any]) -> Answer:
    return exchange(subject, request)[0]


def test_a_call_is_answered_with_the_freshness_of_its_view() -> None:
    answer = one(app(), post())
    assert (answer.status, answer.body) == (200, b'{"jsonrpc":"2.0","id":1,"result":"0x0"}')
    assert answer.headers == {b"content-type": b"application/json", b"x-foreseal-view": b"0.3; age=42"}


def test_worker_pool_calls_and_batches_are_awaited() -> None:
    slow = {"jsonrpc": "2.0", "id": 1, "method": "slow", "params": [5]}
    single, batch = exchange(app(), post(orjson.dumps(slow)), post(orjson.dumps([slow, slow | {"id": 2}])))
    assert single.json["result"] == [5]
    assert [entry["id"] for entry in batch.json] == [1, 2]


def test_notifications_get_204_and_no_body() -> None:
    answer = one(app(), post(b'{"jsonrpc":"2.0","method":"echo"}'))
    assert (answer.status, answer.body) == (204, b"")


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_other_verbs_are_405(verb: str) -> None:
    answer = one(app(), {"verb": verb})
    assert (answer.status, answer.headers[b"allow"]) == (405, b"POST")


def test_pages_accept_only_get() -> None:
    answer = one(app(), {"verb": "POST", "path": "/healthz"})
    assert (answer.status, answer.headers[b"allow"]) == (405, b"GET, HEAD")


@pytest.mark.parametrize("path", ["/rpc", "//", "/healthz/", "/favicon.ico"])
def test_other_paths_are_404(path: str) -> None:
    assert one(app(), post(path=path)).status == 404


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON ;charset=UTF-8", 200),
        ("", 200),
        ("text/plain", 415),
        ("application/jsonp", 415),
        ("application/x-www-form-urlencoded", 415),
    ],
)
def test_the_content_type_must_be_json_or_absent(kind: str, status: int) -> None:
    assert one(app(), post(headers={"content-type": kind})).status == status


def test_body_declared_over_the_limit_is_413_before_reading() -> None:
    answer = one(app(limits=Limits(body=100)), post(b"x" * 101) | {"chunks": [b"x"]})
    assert answer.unread == 1
    assert one(app(), post(headers={"content-length": "9" * 5000})).status == 413
    assert answer.status == 413
    assert answer.json["error"]["data"] == {"limit": "body", "max": 100}


@pytest.mark.parametrize("chunks", [[b"x" * 101], [b"x" * 50] * 3, [b"", b"x" * 60, b"", b"x" * 60]])
def test_a_chunked_body_over_the_limit_is_413(chunks: list[bytes]) -> None:
    assert one(app(limits=Limits(body=100)), {"chunks": chunks}).status == 413


def test_body_in_chunks_is_assembled() -> None:
    chunks = [ONE[:10], b"", ONE[10:30], ONE[30:]]
    assert one(app(), {"chunks": chunks}).json["result"] == "0x0"
    assert one(app(), {"chunks": chunks, "headers": {"content-length": str(len(ONE))}}).json["result"] == "0x0"


@pytest.mark.parametrize("length", ["5!", "-1", "+50", "5_0", "x"])
def test_invalid_content_length_is_ignored(length: str) -> None:
    """A server in front should have rejected it; the body then ends where that server decides."""
    chunks = [ONE[:10], ONE[10:]]
    assert one(app(), {"chunks": chunks, "headers": {"content-length": length}}).json["result"] == "0x0"


def test_reading_stops_at_the_declared_length() -> None:
    # The client double never returns from a read beyond its chunks; the third chunk must not be read.
    request = {"chunks": [ONE[:10], ONE[10:], b"beyond"], "headers": {"content-length": str(len(ONE))}}
    assert one(app(), request).json["result"] == "0x0"


def test_public_endpoint_rejects_block_receipts() -> None:
    receipts = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockReceipts", "params": ["latest"]}
    alone, batch = exchange(app(public=True), post(orjson.dumps(receipts)), post(orjson.dumps([receipts])))
    assert (alone.status, alone.json["error"]["code"]) == (403, -32004)
    assert (batch.status, batch.json[0]["error"]["code"]) == (200, -32004)
    assert one(app(), post(orjson.dumps(receipts))).status == 200


@pytest.mark.usefixtures("counted_callers")
async def test_too_many_calls_return_retry_after() -> None:
    node = FakeNode()
    node.hold = True
    subject = app(node, limits=Limits(calls=1))
    slow = post(b'{"jsonrpc":"2.0","id":1,"method":"slow","params":[]}')
    await subject.startup()
    # A caller with fewer calls than that may exceed the limit.
    held = [asyncio.ensure_future(request(subject, **slow)) for _ in range(4)]
    await until(lambda: len(node.held) == 4)
    answer = await request(subject, **slow)
    node.release()
    await asyncio.wait(held)
    await subject.shutdown()
    assert (answer.status, answer.headers[b"retry-after"]) == (429, b"1")


def test_unhealthy_and_unready_responses_give_the_reason() -> None:
    node = FakeNode()
    assert [
        answer.status for answer in exchange(app(node), *({"verb": "GET", "path": p} for p in ("/healthz", "/readyz")))
    ]
    node.healthy = (False, "last tick 7000 ms ago")
    for answer in exchange(app(node), *({"verb": "GET", "path": path} for path in ("/healthz", "/readyz"))):
        assert (answer.status, answer.body.splitlines()[0]) == (503, b"last tick 7000 ms ago")
    assert answer.body.splitlines()[1:] == [b"oldest waiting call: submission 0 ms, read 250 ms"]


def test_metrics_are_prometheus_text() -> None:
    bad = post(b'{"jsonrpc":"2.0","id":1,"method":"nothing \\" here"}')
    *_, answer = exchange(app(), post(), bad, {"verb": "GET", "path": "/metrics"})
    lines = answer.body.decode().splitlines()
    assert "foreseal_view_block 2" in lines
    assert "foreseal_view_age_seconds 0.042" in lines
    assert 'foreseal_pool_transactions{state="ready"} 2' in lines
    assert 'foreseal_calls_total{method="eth_blockNumber",outcome="ok"} 1' in lines
    assert 'foreseal_calls_total{method="",outcome="-32601"} 1' in lines
    assert answer.headers[b"content-type"].startswith(b"text/plain; version=0.0.4")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8545", 200),
        ("app.localhost", 200),
        ("127.0.0.1:1", 200),
        ("127.1.2.3", 200),
        ("[::1]:8545", 200),
        ("my.box:80", 200),
        ("evil.example", 403),
        ("evil.example:8545", 403),
        ("localhost.evil.example", 403),
        ("10.0.0.1", 403),
        ("", 403),
    ],
)
def test_development_accepts_loopback_and_allowed_hosts_only(host: str, status: int) -> None:
    subject = app(dev=DevChain(), browsers=True, hosts=frozenset({"my.box"}))
    assert one(subject, post(headers={"host": host})).status == status


def test_run_accepts_any_host_by_default() -> None:
    assert one(app(), post(headers={"host": "node.example"})).status == 200
    assert one(app(hosts=frozenset({"a.example"})), post(headers={"host": "node.example"})).status == 403


LOOPBACK = [
    "http://localhost:3000",
    "http://localhost",
    "https://127.0.0.1:8443",
    "http://127.7.7.7",
    "http://[::1]:5173",
    "http://app.localhost:1",
]
FOREIGN = [
    "https://x.example",
    "http://localhost.x.example",
    "http://localhost@x.example",
    "http://127.0.0.1.x.example",
    "null",
    "chrome-extension://",
    "chrome-extension://a/b",
    "chrome-extensions://nkbihfbeogaeaoehlefnkodbefgpgknn",
    "https://chrome-extension",
    "file://",
    "http://[::2]",
    "ftp://localhost",
]
INSTALLED = [
    "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn",
    "moz-extension://2c127fa4-62c7-7e4f-90e5-472b45eecfdc",
    "safari-web-extension://E1CB4EF7-0CC9-4EFA-8B19-5F05B5D2E3F5",
    "capacitor://localhost",
    "tauri://localhost",
    "ionic://localhost",
]
# Values that programs send, and browsers never.
NO_PAGE = ["Titanoboa", "", "localhost:8545", "app"]


def call(method: str, *params: Any) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


@pytest.mark.parametrize("origin", LOOPBACK)
def test_development_allows_pages_of_loopback_origins(origin: str) -> None:
    headers = {"origin": origin}
    preflight, answer = exchange(app(browsers=True), {"verb": "OPTIONS", "headers": headers}, post(headers=headers))
    assert (preflight.status, answer.status) == (204, 200)
    assert preflight.headers[b"access-control-allow-headers"] == b"content-type, authorization, x-api-key"
    for headers_ in (preflight.headers, answer.headers):
        assert headers_[b"access-control-allow-origin"] == origin.encode()
        assert headers_[b"vary"] == b"origin"


@pytest.mark.parametrize("origin", FOREIGN)
def test_development_rejects_pages_of_other_origins(origin: str) -> None:
    """This includes pages that could not read the response, because the accounts are unlocked."""
    headers = {"origin": origin}
    for refused in exchange(
        app(browsers=True),
        {"verb": "OPTIONS", "headers": headers},
        post(headers=headers),
        {"verb": "GET", "path": "/healthz", "headers": headers},
    ):
        assert refused.status == 403
        assert b"access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize("origin", NO_PAGE)
def test_an_origin_that_no_browser_sends_counts_as_absent(origin: str) -> None:
    headers = {"origin": origin or " "}
    for subject in (app(browsers=True), app()):
        answer = one(subject, post(headers=headers))
        assert (answer.status, answer.body) == (200, b'{"jsonrpc":"2.0","id":1,"result":"0x0"}')
        assert not [name for name in answer.headers if name.startswith(b"access-control")]
    accounts = one(app(browsers=True), post(call("eth_accounts"), headers=headers))
    assert (accounts.status, accounts.json.get("error", {}).get("code")) != (403, -32004)


@pytest.mark.parametrize("origin", INSTALLED)
def test_development_serves_extensions_without_its_accounts(origin: str) -> None:
    headers = {"origin": origin}
    closed = ("eth_accounts", "eth_sendTransaction", "eth_sign", "personal_sign", "evm_mine", "anvil_setBalance")
    preflight, answer, batch, *refused = exchange(
        app(browsers=True),
        {"verb": "OPTIONS", "headers": headers},
        post(headers=headers),
        post(b"[%b,%b]" % (ONE, call("eth_sendTransaction", {})), headers=headers),
        *(post(call(method), headers=headers) for method in closed),
    )
    assert (preflight.status, answer.status, answer.json["result"]) == (204, 200, "0x0")
    assert answer.headers[b"access-control-allow-origin"] == origin.encode()
    assert [entry.get("error", {}).get("code") for entry in batch.json] == [None, -32004]
    assert {(one.status, one.json["error"]["code"]) for one in refused} == {(403, -32004)}
    assert "--allowed-origin" in refused[0].json["error"]["message"]
    # With its own entry an extension may call all methods, and a node without development methods accepts none.
    listed = app(browsers=True, access=AccessSettings(origins=frozenset({origin.lower()})))
    assert one(listed, post(call("eth_accounts"), headers=headers)).status == 200
    assert b"access-control-allow-origin" not in one(app(), post(headers=headers)).headers


def test_a_preflight_response_allows_the_requested_headers() -> None:
    requested = "traceparent, baggage,sentry-trace ,X-Trace-Id"
    headers = {"origin": "http://localhost:3000", "access-control-request-headers": requested}
    allowed = one(app(browsers=True), {"verb": "OPTIONS", "headers": headers}).headers[b"access-control-allow-headers"]
    usual = b"content-type, authorization, x-api-key"
    assert allowed == usual + b", traceparent, baggage, sentry-trace, x-trace-id"
    foreign = one(app(browsers=True), {"verb": "OPTIONS", "headers": headers | ORIGIN})
    assert (foreign.status, foreign.headers.get(b"access-control-allow-headers")) == (403, None)
    for invalid in ("a b", "x\n: y", "a,,b", "x" * 5000):
        headers["access-control-request-headers"] = invalid
        answer = one(app(browsers=True), {"verb": "OPTIONS", "headers": headers})
        assert answer.headers[b"access-control-allow-headers"] == usual


@pytest.mark.parametrize(
    "origin", ["https://x.example", "https://X.example:443", "http://[::2]:80", "file://", "null", "app+x.y://a_b"]
)
def test_the_option_in_a_refusal_is_accepted(origin: str) -> None:
    refused = one(app(browsers=True), post(headers={"origin": origin}))
    text, _, name = refused.body.decode().strip().partition("--allowed-origin ")
    assert (refused.status, text) == (403, "origin not allowed: allow it with ")
    access = AccessSettings(origins=frozenset(OriginNames().parse(name)))
    answer = one(app(browsers=True, access=access), post(headers={"origin": origin}))
    assert answer.headers[b"access-control-allow-origin"] == origin.encode()


@pytest.mark.parametrize("origin", ["https://x.example/", "https://", "https://a@b", "https://x.example:1:2", "x://é"])
def test_an_origin_that_cannot_be_allowed_is_refused_without_the_option(origin: str) -> None:
    refused = one(app(browsers=True), post(headers={"origin": origin}))
    assert (refused.status, b"--allowed-origin" in refused.body) == (403, False)
    with pytest.raises(ValueError, match="is not an origin"):
        OriginNames().parse(origin)


@pytest.mark.parametrize("browsers", [True, False])
def test_configured_origins_may_call(browsers: bool) -> None:
    origins = AccessSettings(origins=frozenset(("https://x.example", "chrome-extension://nkbih")))
    subject = app(browsers=browsers, access=origins)
    for origin in sorted(origins.origins):
        preflight, answer = exchange(
            subject, {"verb": "OPTIONS", "headers": {"origin": origin}}, post(headers={"origin": origin})
        )
        assert (preflight.status, answer.status) == (204, 200)
        assert answer.headers[b"access-control-allow-origin"] == origin.encode()
    other = one(subject, post(headers={"origin": "https://y.example"}))
    assert b"access-control-allow-origin" not in other.headers
    assert other.status == (403 if browsers else 200)


def test_run_sends_no_cors_header() -> None:
    answer = one(app(), post(headers=ORIGIN))
    assert not [name for name in answer.headers if name.startswith(b"access-control")]


def test_the_lifespan_starts_and_stops_the_node() -> None:
    node = FakeNode()
    subject = app(node)
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(subject({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert node.log == ["start", "stop"]


def test_failed_start_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORESEAL_DATADIR", raising=False)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(App()({"type": "lifespan"}, receive, send))
    assert sent == [
        {
            "type": "lifespan.startup.failed",
            "message": "foreseal: FORESEAL_DATADIR is not set: set it to the data directory of the chain",
        }
    ]


@pytest.mark.parametrize(
    "refused",
    [
        {"path": "/rpc", "headers": {"content-length": "2"}},
        {"headers": {"content-type": "text/plain", "transfer-encoding": "chunked"}},
        {"headers": {"content-length": "9" * 9}},
    ],
)
def test_rejection_with_an_unread_body_closes_the_connection(refused: dict[str, object]) -> None:
    assert one(app(), refused).headers[b"connection"] == b"close"


def test_response_without_an_unread_body_keeps_the_connection_open() -> None:
    for given in ({"verb": "GET", "path": "/rpc"}, {"verb": "GET"}, post(ONE)):
        assert b"connection" not in one(app(), given).headers


def test_wildcard_host_does_not_open_the_admin_listener(tmp_path: Path) -> None:
    settings = Settings(tmp_path, hosts=frozenset({"*", "node.example"}))
    assert endpoint_hosts(settings).accepts({b"host": b"evil.example"})
    admin = admin_hosts(settings)
    assert [admin.accepts({b"host": name}) for name in (b"evil.example", b"node.example", b"localhost:1")] == [
        False,
        True,
        True,
    ]


async def test_failed_admin_listener_stops_the_node_gracefully() -> None:
    node = FakeNode()
    subject = app(node)

    class Failed:
        async def stop(self) -> None:
            raise RuntimeError("the server ended by itself")

    await subject.startup()
    subject._admin = Failed()
    with pytest.raises(RuntimeError, match="by itself"):
        await subject.shutdown()
    assert node.log == ["start", "stop"]
