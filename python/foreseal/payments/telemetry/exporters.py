"""Exporters of a process of the service, which all of its merchants share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreseal.payments.ledger import Database
from foreseal.payments.telemetry.order_spans import OrderSpans
from foreseal.payments.telemetry.order_tracer import OrderTracer
from foreseal.payments.telemetry.request_spans import RequestSpans
from foreseal.payments.telemetry.trace_ids import TraceIds
from foreseal.telemetry.configuration import TelemetryConfiguration
from foreseal.telemetry.request_sampler import RequestSampler
from foreseal.telemetry.signals import ExportedFamily

if TYPE_CHECKING:
    from foreseal.telemetry.metric_export import MetricExport

SERVICE_NAME = "foreseal-pay"
"""Default of the resource attribute `service.name`."""


@dataclass(frozen=True, slots=True)
class MerchantTracers:
    """Tracers of one merchant."""

    orders: OrderTracer
    requests: RequestSpans


class ServiceTelemetry:
    """Exporters, from their construction to `stop`. Needs the extra `otlp`."""

    def __init__(self, configuration: TelemetryConfiguration, process: str | None) -> None:
        """Set up the exporters, which read their endpoints from the environment."""
        # Imported only if it is configured: it needs an extra.
        from foreseal.telemetry.resource import service_resource
        from foreseal.telemetry.span_export import SpanExport

        self._configuration = configuration
        self._resource = service_resource(SERVICE_NAME, process)
        self._sampler = RequestSampler(configuration.sampling)
        self._spans: SpanExport | None = SpanExport(self._resource) if configuration.traces else None
        self._metrics: MetricExport | None = None

    def build_tracers(self, database: Database, ids: TraceIds) -> MerchantTracers | None:
        """Return the tracers of a merchant; None if traces are not exported."""
        if self._spans is None:
            return None
        export = self._spans.export
        orders = OrderTracer(OrderSpans(database, ids, self._configuration.sampling.ratio, export))
        return MerchantTracers(orders, RequestSpans(ids, self._sampler, export))

    def start_metrics(self, read: Callable[[], Iterable[ExportedFamily]]) -> None:
        """Export the metrics that `read` returns periodically, if metrics are exported."""
        from foreseal.telemetry.metric_export import MetricExport

        if self._configuration.metrics:
            self._metrics = MetricExport(self._resource, self._configuration.interval, read)
            self._metrics.start()

    def stop(self) -> None:
        """Stop, and export the queued spans."""
        if self._metrics is not None:
            self._metrics.stop()
        if self._spans is not None:
            self._spans.stop()
