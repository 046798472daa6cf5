"""Export of traces and metrics of one process. No step of it blocks the event loop."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricsData
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from foreseal.server.metrics import MetricSources
from foreseal.server.telemetry.metric_data import node_metric_data
from foreseal.server.telemetry.request_tracer import RequestTracer, Waits
from foreseal.telemetry.configuration import TelemetryConfiguration
from foreseal.telemetry.request_sampler import RequestSampler
from foreseal.telemetry.resource import service_resource
from foreseal.telemetry.span_export import STOP_TIME

log = logging.getLogger(__name__)


async def _in_daemon_thread(work: Callable[[], object]) -> None:
    """Run `work`, which may wait for the collector, in a thread that does not delay the end of the process.

    Threads of the event loop's executor are joined when the loop is closed.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failure: BaseException | None = None
        try:
            work()
        except Exception as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, failure)

    threading.Thread(target=run, name="otlp", daemon=True).start()
    await done


class Telemetry:
    """Exporters of a node process, from `start` to `stop`. Used from the event loop's thread only."""

    def __init__(self, configuration: TelemetryConfiguration, waits: Waits, process: str | None) -> None:
        """Set up the exporters, which read their endpoints from the environment."""
        resource = service_resource("foreseal", process)
        self._configuration = configuration
        self._resource = resource
        self._provider: TracerProvider | None = None
        self._task: asyncio.Task[None] | None = None
        self.tracer: RequestTracer | None = None
        """Tracer of requests; None if traces are not exported."""
        if configuration.traces:
            # The request tracer samples; the processor drops spans when its queue is full.
            self._provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
            self._exporter = OTLPSpanExporter()
            self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
            self.tracer = RequestTracer(self._provider, RequestSampler(configuration.sampling), waits)

    def start(self, sources: Callable[[], MetricSources]) -> None:
        """Export the metrics of `sources` periodically."""
        if self._configuration.metrics:
            self._task = asyncio.get_running_loop().create_task(self._export(sources))

    async def stop(self) -> None:
        """Stop, and export the spans that are queued."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._provider is not None:
            try:
                async with asyncio.timeout(STOP_TIME):
                    await _in_daemon_thread(self._provider.shutdown)
            except TimeoutError:
                self._exporter.shutdown()  # type: ignore[no-untyped-call]  # no further attempts
                log.warning("spans not exported at the stop", extra={"seconds": STOP_TIME})

    async def _export(self, sources: Callable[[], MetricSources]) -> None:
        exporter = OTLPMetricExporter()
        try:
            while True:
                await asyncio.sleep(self._configuration.interval)
                try:
                    # Read on the event loop like /metrics, and sent by a thread.
                    data: MetricsData = node_metric_data(sources(), self._resource, time.time())
                    await _in_daemon_thread(partial(exporter.export, data))
                except Exception:  # the next export may succeed
                    log.exception("failed to export metrics")
        finally:
            exporter.shutdown()
