"""An OTLP collector over HTTP that decodes and retains what it receives."""

import contextlib
import gzip
import http.server
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from http_thread import QuietHandler, running_server

_REQUESTS: dict[str, type[Message]] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}


class OtlpCollector(http.server.ThreadingHTTPServer):
    """A collector on a free port."""

    daemon_threads = True

    def __init__(self) -> None:
        self.received: list[Any] = []
        """Decoded requests in the order of their arrival."""
        received = self.received

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = self.read_body()
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                message = _REQUESTS[self.path]()
                message.ParseFromString(body)
                received.append(message)
                self.respond(200)

        super().__init__(("127.0.0.1", 0), Handler)

    def configure(self, set_variable: Callable[[str, str], None]) -> None:
        """Set the variables with which processes export every request and order to this collector, soon."""
        set_variable("OTEL_EXPORTER_OTLP_ENDPOINT", self.url)
        set_variable("OTEL_TRACES_SAMPLER", "parentbased_always_on")
        set_variable("OTEL_BSP_SCHEDULE_DELAY", "50")
        set_variable("OTEL_METRIC_EXPORT_INTERVAL", "1000")

    @property
    def url(self) -> str:
        """Value of OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> list[Span]:
        """Return all spans."""
        return [
            span
            for request in list(self.received)
            if isinstance(request, ExportTraceServiceRequest)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def span(self, name: str) -> Span | None:
        """Return the first span with this name; None if it has not arrived."""
        return next((span for span in self.spans() if span.name == name), None)

    def metrics(self) -> dict[str, Metric]:
        """Return the metrics of the newest export by name."""
        exports = [each for each in list(self.received) if isinstance(each, ExportMetricsServiceRequest)]
        if not exports:
            return {}
        return {
            metric.name: metric
            for resource in exports[-1].resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def resources(self) -> list[dict[str, Any]]:
        """Return the attributes of the resources of all exports."""
        return [
            attributes(resource.resource.attributes)
            for request in list(self.received)
            for resource in (getattr(request, "resource_spans", None) or request.resource_metrics)
        ]


def attributes(pairs: Any) -> dict[str, Any]:
    """Return attributes as a dictionary."""
    values: dict[str, Any] = {}
    pair: KeyValue
    for pair in pairs:
        values[pair.key] = _value(pair.value)
    return values


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return None if kind is None else getattr(value, kind)


@contextlib.contextmanager
def otlp_collector() -> Iterator[OtlpCollector]:
    """Run a collector."""
    collector = OtlpCollector()
    with running_server(collector):
        yield collector
