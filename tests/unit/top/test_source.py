"""Requests to servers that answer, fail, hang or lie."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import orjson
import pytest

from foreseal.top.node_sample import NodeSampler
from foreseal.top.service_sample import ServiceSampler
from foreseal.top.source import HttpSource, SourceError
from http_thread import QuietHandler, running_server

Reply = tuple[int, bytes]


class ScriptedServer(http.server.ThreadingHTTPServer):
    """Answers each path with a scripted response."""

    daemon_threads = True

    def __init__(self, replies: dict[str, Any]) -> None:
        self.seen: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(QuietHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.read_body()
                outer.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                reply = replies[self.path]
                status, answer = reply(body) if callable(reply) else reply
                self.respond(status, answer)

            do_POST = do_GET

        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that go away."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def server(replies: dict[str, Any]) -> Iterator[ScriptedServer]:
    scripted_server = ScriptedServer(replies)
    with running_server(scripted_server):
        yield scripted_server


def rpc(results: dict[str, Any]) -> Any:
    def answer(body: bytes) -> Reply:
        calls = orjson.loads(body)
        return 200, orjson.dumps([{"jsonrpc": "2.0", "id": call["id"], **results[call["method"]]} for call in calls])

    return answer


def test_batch_returns_results_and_errors_in_the_order_of_the_calls() -> None:
    error = {"error": {"code": -32601, "message": "no \x1b[2J method"}}
    with server({"/": rpc({"a": {"result": 1}, "b": error})}) as scripted:
        source = HttpSource(f"{scripted.url}/", {"Authorization": "Bearer k"})
        first, second = source.call_batch([("a", []), ("b", [])])
        source.close()
    assert first == 1
    assert isinstance(second, SourceError)
    assert str(second) == "no ?[2J method (-32601)"
    assert scripted.seen[0][1]["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ((502, b"<html>"), "HTTP 502 without JSON"),
        ((200, b'{"error":{"code":-32005,"message":"rate"}}'), "rate (-32005)"),
        ((200, b'{"error":5}'), "the response has neither a result nor an error"),
        ((200, b"{" * 5000), "HTTP 200 without JSON"),
        ((200, b"x" * ((16 << 20) + 1)), "response larger than 16,777,216 bytes"),
    ],
)
def test_unusable_responses_are_errors_with_a_reason(reply: Reply, reason: str) -> None:
    with server({"/": reply}) as scripted:
        source = HttpSource(scripted.url)
        with pytest.raises(SourceError, match=reason.partition("(")[0]):
            source.call_batch([("a", [])])
        source.close()


@pytest.mark.parametrize("value", ["5", "null", "[]", "[5]", '[{"id":[]}]', '[{"id":0}]'])
def test_missing_answers_of_a_batch_are_errors(value: str) -> None:
    with server({"/": (200, value.encode())}) as scripted:
        source = HttpSource(scripted.url)
        try:
            (outcome,) = source.call_batch([("a", [])])
        except SourceError:
            return
        finally:
            source.close()
    assert isinstance(outcome, SourceError)


def test_server_that_hangs_is_a_timeout() -> None:
    hanging = threading.Event()

    def hang(_: bytes) -> Reply:
        hanging.wait(30)
        return 200, b""

    with server({"/metrics": hang}) as scripted:
        source = HttpSource(scripted.url, timeout=0.1)
        with pytest.raises(SourceError, match="timeout"):
            source.get("/metrics")
        hanging.set()
        source.close()


def test_url_is_shown_without_user_and_query() -> None:
    assert HttpSource("https://user:secret@host:1/path?key=secret").name == "https://host:1/path"


def test_node_sampler_recovers_and_reads_the_identity_again() -> None:
    status = {"result": {"block": None, "phase": "replaying"}}
    answers: dict[str, Any] = {"foreseal_status": status, "eth_chainId": {"result": "0x5"}}
    answers["web3_clientVersion"] = {"result": "foreseal/v1"}
    replies: dict[str, Any] = {"/": (500, b"down"), "/metrics": (404, b"")}
    with server(replies) as scripted, closing(HttpSource(scripted.url)) as source:
        sampler = NodeSampler(source, time.monotonic)
        assert sampler.sample().fault == "HTTP 500 without JSON"
        replies["/"] = rpc(answers)
        sample = sampler.sample()
        assert (sample.chain_id, sample.version, sample.block) == (5, "foreseal/v1", None)
        assert sample.metrics_fault == "HTTP 404"
        answers["eth_chainId"] = {"result": "0x6"}
        assert sampler.sample().chain_id == 5
        replies["/"] = (500, b"down")
        sampler.sample()
        replies["/"] = rpc(answers)
        assert sampler.sample().chain_id == 6


def test_another_server_is_no_node() -> None:
    error = {"error": {"code": -32601, "message": "the method does not exist"}}
    answers = rpc(dict.fromkeys(("foreseal_status", "eth_chainId", "web3_clientVersion"), error))
    with server({"/": answers}) as scripted, closing(HttpSource(scripted.url)) as source:
        fault = NodeSampler(source, time.monotonic).sample().fault
    assert fault == "the method does not exist (-32601)"


def test_orders_are_counted_by_state_and_finality() -> None:
    orders = [{"state": "Used, captured", "finality": "final"}] * 3 + [{"state": "Drafted", "finality": None}, 7]
    replies = {
        "/healthz": (503, b'{"status":"unhealthy","reasons":[{"code":"no_block"}]}'),
        "/metrics": (200, b"foreseal_pay_node_up 0\n"),
        "/v1/orders?limit=100": (200, orjson.dumps({"items": orders})),
    }
    with server(replies) as scripted, closing(HttpSource(scripted.url, {"Authorization": "Bearer k"})) as source:
        sample = ServiceSampler(source, time.monotonic, has_key=True).sample()
        assert sample.orders == {"Used, captured / final": 3, "Drafted": 1, "-": 1}
        assert sample.health.text("status") == "unhealthy"
        replies["/v1/orders?limit=100"] = (403, b'{"error":{"message":"wrong key"}}')
        assert ServiceSampler(source, time.monotonic, has_key=True).sample().orders_fault == "HTTP 403: wrong key"
        replies["/healthz"] = (200, b"[]")
        fault = ServiceSampler(source, time.monotonic, has_key=False).sample().fault
        assert fault == "/healthz is not that of a merchant service"
