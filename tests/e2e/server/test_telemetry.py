"""Traces and metrics by OTLP from a real node to a collector."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from websockets.sync.client import connect

from command import foreseal
from foreseal.ports import next_free_port
from live import LiveNode, live_node, wait_for
from live.rpc import JSON_TYPE, Rpc
from otlp_collector import OtlpCollector, attributes, otlp_collector

SECONDS = 30.0
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{'a' * 32}-{PARENT}-00"
ERROR = 2


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpCollector]:
    """Provide a collector that nodes of the test export to, with every request without a parent."""
    with otlp_collector() as receiver:
        receiver.configure(monkeypatch.setenv)
        yield receiver


def call(node: LiveNode, method: str, *params: object, traceparent: str | None = None) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = JSON_TYPE if traceparent is None else JSON_TYPE | {"traceparent": traceparent}
    return node.rpc.post(body, headers).body


@pytest.mark.parametrize("transport", ["native", "asgi"])
def test_request_and_call_are_spans_of_the_callers_trace(collector: OtlpCollector, transport: str) -> None:
    with live_node("--transport", transport) as node:
        for _ in range(3):
            call(node, "eth_chainId", traceparent=SAMPLED)
        call(node, "eth_gasPrice", traceparent=UNSAMPLED)
        call(node, "web3_sha3", "0x00")
        call(node, "no_such_method")
        wait_for(lambda: collector.span("request no_such_method"), SECONDS, "the last span")
    spans = collector.spans()
    requests = [span for span in spans if span.name == "request eth_chainId"]
    assert len(requests) == 3
    for request in requests:
        assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, PARENT)
        (child,) = [span for span in spans if span.parent_span_id == request.span_id]
        assert (child.name, child.trace_id.hex()) == ("eth_chainId", TRACE)
        assert request.start_time_unix_nano <= child.start_time_unix_nano
        assert child.end_time_unix_nano <= request.end_time_unix_nano
        span_attributes = attributes(child.attributes)
        assert (span_attributes["rpc.method"], span_attributes["foreseal.execution"]) == ("eth_chainId", "inline")
        assert {f"foreseal.lane.{lane}.oldest_wait_seconds" for lane in ("submission", "read", "heavy")} <= set(
            span_attributes
        )
    assert not [span for span in spans if "eth_gasPrice" in span.name]
    waited = collector.span("web3_sha3")
    assert waited is not None
    # On a busy machine the worker thread may end before the event loop waits for it.
    assert attributes(waited.attributes)["foreseal.execution"] in {"waited", "inline"}
    failed = collector.span("request no_such_method")
    assert failed is not None
    assert not failed.parent_span_id
    assert attributes(failed.attributes)["rpc.jsonrpc.error_code"] == -32601
    assert failed.status.code != ERROR
    assert {resource["service.name"] for resource in collector.resources()} == {"foreseal"}


def test_batch_and_websocket_message_are_requests(collector: OtlpCollector) -> None:
    with live_node() as node:
        node.rpc.batch(("eth_chainId",), ("eth_blockNumber",))
        with connect(node.url.replace("http", "ws", 1)) as socket:
            for _ in range(2):
                socket.send('{"jsonrpc":"2.0","id":1,"method":"net_version","params":[]}')
                assert json.loads(socket.recv())["result"] == "31337"
        wait_for(lambda: collector.span("net_version"), SECONDS, "spans of the WebSocket")
        wait_for(lambda: collector.span("batch"), SECONDS, "spans of the batch")
    batch, message = collector.span("batch"), collector.span("request net_version")
    assert batch is not None
    assert message is not None
    assert attributes(batch.attributes)["foreseal.methods"] == ["eth_chainId", "eth_blockNumber"]
    assert attributes(message.attributes)["network.protocol.name"] == "websocket"
    assert len([span for span in collector.spans() if span.name == "net_version"]) == 2


def test_listener_of_the_explorer_traces_requests(collector: OtlpCollector) -> None:
    with live_node("--explorer-listen", "127.0.0.1:0") as node:
        match = wait_for(lambda: re.search(r"explorer at (http://[^/\s]+)/explorer", node.printed), SECONDS, "a URL")
        own = Rpc(match[1])
        body = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
        assert own.post(body, JSON_TYPE | {"traceparent": SAMPLED}).status == 200
        own.close()
        span = wait_for(lambda: collector.span("request eth_chainId"), SECONDS, "a span")
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)


def test_metrics_are_those_of_the_metrics_page(collector: OtlpCollector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    with live_node() as node:
        for _ in range(5):
            call(node, "eth_chainId")
        page = node.rpc.request("GET", "/metrics").body.decode()
        # One export may have been under way before the page.
        due = len(collector.received) + 2
        wait_for(lambda: len(collector.received) >= due, SECONDS, "an export that began after the page")
        metrics = collector.metrics()
    calls = metrics["foreseal_calls"]
    assert calls.sum.is_monotonic
    points = {
        attributes(point.attributes)["method"]: point.as_double or point.as_int for point in calls.sum.data_points
    }
    assert points["eth_chainId"] == 5
    named = {line.split(" ")[2].removesuffix("_total") for line in page.splitlines() if line.startswith("# TYPE ")}
    with_samples = {name for name in named if f"\n{name}" in page}
    assert len(with_samples) > 60
    assert with_samples <= set(metrics)
    histogram = metrics["foreseal_call_seconds"].histogram.data_points[0]
    assert sum(histogram.bucket_counts) == histogram.count == 5
    assert len(histogram.bucket_counts) == len(histogram.explicit_bounds) + 1
    assert not histogram.HasField("min")
    assert collector.spans() == []


def test_node_serves_and_stops_without_its_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{next_free_port()}")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_on")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "1000")
    with live_node() as node:
        for _ in range(300):
            assert b'"0x7a69"' in call(node, "eth_chainId")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OTEL_TRACES_SAMPLER", "sometimes", "OTEL_TRACES_SAMPLER must be one of always_on"),
        ("OTEL_TRACES_SAMPLER_ARG", "2", "OTEL_TRACES_SAMPLER_ARG must be at least 0 and at most 1, got 2"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, got 'grpc'"),
    ],
)
def test_invalid_variable_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv(name, value)
    ended = foreseal("dev", "--port", "0")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert words in ended.stderr


def test_server_imports_no_opentelemetry_without_an_endpoint() -> None:
    script = "import sys, foreseal.server, foreseal.server.app; print('opentelemetry' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"
