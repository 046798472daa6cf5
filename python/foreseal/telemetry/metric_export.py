"""Periodic export of metrics by OTLP from a thread."""

import logging
import threading
import time
from collections.abc import Callable, Iterable

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.resources import Resource

from foreseal.telemetry.metric_data import metric_data
from foreseal.telemetry.signals import ExportedFamily

log = logging.getLogger(__name__)


class MetricExport:
    """Thread that exports the metrics of a process every `interval` seconds, from `start` to `stop`."""

    def __init__(self, resource: Resource, interval: float, read: Callable[[], Iterable[ExportedFamily]]) -> None:
        """Set up the exporter, which reads its endpoint from the environment. `read` returns all metrics."""
        self._resource = resource
        self._interval = interval
        self._read = read
        self._started = time.time()
        self._exporter = OTLPMetricExporter()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otlp metrics", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop. An export in progress ends in the background."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            try:
                self._exporter.export(metric_data(self._read(), self._resource, self._started, time.time()))
            except Exception:  # the next export may succeed
                log.exception("failed to export metrics")
        self._exporter.shutdown()
