"""Export of finished spans by OTLP, in batches and in the background."""

import logging
import threading

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from foreseal.telemetry.signals import FinishedSpan, SpanReference

log = logging.getLogger(__name__)

STOP_TIME = 5.0
"""Maximum time in seconds to export what is left at the end."""

_KINDS = {"internal": SpanKind.INTERNAL, "server": SpanKind.SERVER, "client": SpanKind.CLIENT}
_SCOPE = InstrumentationScope("foreseal")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class SpanExport:
    """Queue of spans to the collector, which drops the oldest spans when it is full. Safe to use from any thread."""

    def __init__(self, resource: Resource) -> None:
        """Set up the exporter, which reads its endpoint from the environment."""
        self._resource = resource
        self._exporter = OTLPSpanExporter()
        self._processor = BatchSpanProcessor(self._exporter)

    def export(self, span: FinishedSpan) -> None:
        """Queue a span. Never waits for the collector."""
        status = Status() if span.error is None else Status(StatusCode.ERROR, span.error)
        self._processor.on_end(
            ReadableSpan(
                name=span.name,
                context=_context(span.reference),
                parent=None if span.parent is None else _context(span.parent),
                resource=self._resource,
                attributes=span.attributes,
                links=tuple(Link(_context(each)) for each in span.links),
                kind=_KINDS[span.kind],
                status=status,
                start_time=span.start,
                end_time=span.end,
                instrumentation_scope=_SCOPE,
            )
        )

    def stop(self, seconds: float = STOP_TIME) -> None:
        """Export the queued spans, at most for some seconds."""
        # A daemon thread does not delay the end of the process if the collector hangs.
        thread = threading.Thread(target=self._processor.shutdown, name="otlp", daemon=True)
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            self._exporter.shutdown()  # type: ignore[no-untyped-call]  # no further attempts
            log.warning("spans not exported at the stop", extra={"seconds": seconds})


def _context(reference: SpanReference) -> SpanContext:
    return SpanContext(reference.trace_id, reference.span_id, is_remote=False, trace_flags=_SAMPLED)
