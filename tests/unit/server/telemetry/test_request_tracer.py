"""Sampling of requests and their spans, with a caller double."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import StatusCode

from foreseal.server.auth.callers import Caller
from foreseal.server.telemetry.request_tracer import RequestTracer
from foreseal.telemetry.configuration import TraceSampling
from foreseal.telemetry.request_sampler import RequestSampler
from foreseal.telemetry.traceparent import TraceParent, parse_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALL = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'


@pytest.mark.parametrize(
    ("value", "parent"),
    [
        (f"00-{TRACE}-{SPAN}-01", TraceParent(int(TRACE, 16), int(SPAN, 16), True)),
        (f" 00-{TRACE}-{SPAN}-02 ", TraceParent(int(TRACE, 16), int(SPAN, 16), False)),
        (f"01-{TRACE}-{SPAN}-01-future", TraceParent(int(TRACE, 16), int(SPAN, 16), True)),
        (f"00-{TRACE}-{SPAN}-01-x", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}", None),
        (f"01-{TRACE}-{SPAN}-01-{'x' * 300}", None),
        ("", None),
    ],
)
def test_traceparent_of_w3c(value: str, parent: TraceParent | None) -> None:
    assert parse_traceparent(value.encode()) == parent
    assert parse_traceparent(None) is None


class TracedTier:
    """A tier whose answer is scripted."""

    name = "public"

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.tier = self
        self.limiter = None

    def answer(self, body: bytes, exchange: object, limiter: object) -> Any:
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    spans = InMemorySpanExporter()
    yield spans
    spans.shutdown()


def tracer(exporter: InMemorySpanExporter, sampling: TraceSampling, **options: Any) -> RequestTracer:
    provider = TracerProvider(sampler=ALWAYS_ON, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return RequestTracer(provider, RequestSampler(sampling, **options), lambda: [("read", 0.25)])


def answer(tracer: RequestTracer, reply: Any, body: bytes = CALL, traceparent: str | None = None) -> Any:
    headers = {} if traceparent is None else {b"traceparent": traceparent.encode()}
    return tracer.answer(cast(Caller, TracedTier(reply)), headers, body, None)


@pytest.mark.parametrize(
    ("sampling", "flag", "drawn", "is_traced"),
    [
        (TraceSampling(0.0, True), "01", 0.5, True),
        (TraceSampling(1.0, True), "00", 0.5, False),
        (TraceSampling(1.0, False), "00", 0.5, True),
        (TraceSampling(0.4, True), None, 0.5, False),
        (TraceSampling(0.6, True), None, 0.5, True),
    ],
)
def test_parent_or_ratio_decides(
    exporter: InMemorySpanExporter, sampling: TraceSampling, flag: str | None, drawn: float, is_traced: bool
) -> None:
    parent = None if flag is None else f"00-{TRACE}-{SPAN}-{flag}"
    reply = (200, b'{"result":1}', 0)
    assert answer(tracer(exporter, sampling, draw=lambda: drawn), reply, traceparent=parent) == reply
    assert bool(exporter.get_finished_spans()) == is_traced


def test_awaited_reply_ends_the_spans_with_its_error_code(exporter: InMemorySpanExporter) -> None:
    async def reply() -> Any:
        return 200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}', 0

    coroutine = answer(tracer(exporter, TraceSampling(1.0)), reply())
    assert not exporter.get_finished_spans()
    asyncio.run(coroutine)
    call, request = exporter.get_finished_spans()
    assert (call.name, request.name) == ("eth_chainId", "request eth_chainId")
    assert call.attributes is not None
    assert call.attributes["foreseal.execution"] == "waited"
    assert call.attributes["foreseal.lane.read.oldest_wait_seconds"] == 0.25
    assert call.attributes["rpc.jsonrpc.error_code"] == -32603
    assert request.status.status_code is StatusCode.ERROR


def test_failed_request_ends_its_spans_and_raises(exporter: InMemorySpanExporter) -> None:
    with pytest.raises(OSError, match="broken"):
        answer(tracer(exporter, TraceSampling(1.0)), OSError("broken"))
    assert [span.status.status_code for span in exporter.get_finished_spans()] == [StatusCode.UNSET, StatusCode.ERROR]


@pytest.mark.parametrize(
    ("body", "name", "calls"),
    [
        (b"[" + CALL + b"," + CALL + b"]", "batch", 2),
        (b"{", "unread body", 0),
        (b'{"method":5}', "unread body", 0),
        (b'{"method":"' + b"x" * 500 + b'"}', "x" * 80, 1),
        (b"[" + b" " * 70_000 + CALL + b"]", "unread body", 0),
    ],
)
def test_names_are_bounded(exporter: InMemorySpanExporter, body: bytes, name: str, calls: int) -> None:
    answer(tracer(exporter, TraceSampling(1.0)), (200, b"not JSON", 0), body)
    call, request = exporter.get_finished_spans()
    assert (call.name, request.name) == (name, f"request {name}")
    assert request.attributes is not None
    assert request.attributes["foreseal.request.calls"] == calls
