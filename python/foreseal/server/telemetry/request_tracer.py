"""Spans of requests: the message of a caller, and the calls that the core answers for it.

```text
request   from the body to the response; its parent is that of the header traceparent
  call    from the dispatch to the outcome, with the waits in the lanes' queues at its start
```
"""

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from foreseal.rpc import HttpReply
from foreseal.rpc.session import RequestExchange
from foreseal.server.auth.callers import Caller
from foreseal.server.auth.origins import Headers
from foreseal.telemetry.request_sampler import RequestSampler
from foreseal.telemetry.traceparent import TraceParent, parse_traceparent

Waits = Callable[[], list[tuple[str, float]]]
"""Returns the lanes by name, each with the seconds that its oldest call has waited."""

_MAX_PARSED = 64 * 1024
"""Size in bytes above which a body or a response is not parsed for attributes."""
_MAX_METHODS = 20
_MAX_NAME = 80
# Error codes of faults of the node; others are faults of the call.
_INTERNAL = (-32603, -32002)


class RequestTracer:
    """Traces the requests of one process. Used from the event loop's thread only."""

    def __init__(
        self,
        provider: TracerProvider,
        sampler: RequestSampler,
        waits: Waits,
    ) -> None:
        self._tracer = provider.get_tracer("foreseal")
        self._sampler = sampler
        self._waits = waits

    def answer(
        self, caller: Caller, headers: Headers, body: bytes, exchange: RequestExchange | None
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        """Answer a body like `CallerTier.answer`, with spans if the request is sampled."""
        parent = parse_traceparent(headers.get(b"traceparent"))
        if not self._sampler.is_sampled(parent):
            return caller.tier.answer(body, exchange, caller.limiter)
        trace = _TracedRequest(self._start("request", _context(parent), SpanKind.SERVER), self._start)
        trace.begin(caller, body, self._waits(), is_websocket=exchange is not None)
        try:
            reply = caller.tier.answer(body, exchange, caller.limiter)
        except BaseException:
            trace.fail()
            raise
        if isinstance(reply, tuple):
            trace.end(reply, is_inline=True)
            return reply
        return _traced(reply, trace)

    def _start(self, name: str, context: Context | None, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        span = self._tracer.start_span(name, context, kind)
        assert isinstance(span, Span), "the provider samples every span"
        return span


async def _traced(reply: Coroutine[Any, Any, HttpReply], trace: "_TracedRequest") -> HttpReply:
    try:
        answered = await reply
    except BaseException:
        trace.fail()
        raise
    trace.end(answered, is_inline=False)
    return answered


class _TracedRequest:
    """Spans of one request."""

    def __init__(self, span: Span, start: Callable[[str, Context | None], Span]) -> None:
        self._span = span
        self._start = start
        self._call = span

    def begin(self, caller: Caller, body: bytes, waits: list[tuple[str, float]], *, is_websocket: bool) -> None:
        methods = _methods(body)
        names = [method[:_MAX_NAME] for method in methods[:_MAX_METHODS]]
        name = names[0] if len(methods) == 1 else "batch" if methods else "unread body"
        self._span.update_name(f"request {name}")
        self._span.set_attributes(
            {
                "rpc.system": "jsonrpc",
                "network.protocol.name": "websocket" if is_websocket else "http",
                "foreseal.tier": caller.tier.name,
                "foreseal.request.bytes": len(body),
                "foreseal.request.calls": len(methods),
            }
        )
        self._call = self._start(name, set_span_in_context(self._span))
        self._call.set_attributes(
            {
                "rpc.system": "jsonrpc",
                **({"rpc.method": names[0]} if len(names) == 1 else {"foreseal.methods": names}),
                **{f"foreseal.lane.{lane}.oldest_wait_seconds": wait for lane, wait in waits},
            }
        )

    def end(self, reply: HttpReply, *, is_inline: bool) -> None:
        """End the spans with the response. `is_inline` is True if no worker thread was waited for."""
        status, answer, _ = reply
        code = _error_code(answer) if isinstance(answer, bytes) else None
        self._call.set_attribute("foreseal.execution", "inline" if is_inline else "waited")
        self._span.set_attributes({"http.response.status_code": status, "foreseal.response.bytes": len(answer)})
        if code is not None:
            for span in (self._call, self._span):
                span.set_attribute("rpc.jsonrpc.error_code", code)
                if code in _INTERNAL:
                    span.set_status(StatusCode.ERROR)
        self._finish()

    def fail(self) -> None:
        """End the spans without a response: the client has disconnected, or the call failed."""
        self._span.set_status(StatusCode.ERROR, "no response")
        self._finish()

    def _finish(self) -> None:
        self._call.end()
        self._span.end()


def _context(parent: TraceParent | None) -> Context:
    if parent is None:
        return Context()
    context = SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=TraceFlags(parent.is_sampled))
    return set_span_in_context(NonRecordingSpan(context), Context())


def _methods(body: bytes) -> list[str]:
    """Return the methods that a body calls; none if it is large or invalid."""
    value = _parsed(body)
    calls = value if isinstance(value, list) else [value]
    return [call["method"] for call in calls if isinstance(call, dict) and isinstance(call.get("method"), str)]


def _error_code(answer: bytes) -> int | None:
    """Return the error code of the response to one call; None for a result, a batch or a large response."""
    value = _parsed(answer)
    error = value.get("error") if isinstance(value, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else None


def _parsed(text: bytes) -> Any:
    if len(text) > _MAX_PARSED:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
