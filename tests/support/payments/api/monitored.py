"""A `Service` on the fake chain whose background checks run on request."""

from typing import Any

import httpx

from foreseal.payments.api.backend import Backend
from foreseal.payments.configuration import read
from foreseal.payments.workers.service import Service
from payments.api.service_harness import ServiceHarness, call_application


class MonitoredService:
    """The service; the threads do not run."""

    def __init__(self, harness: ServiceHarness) -> None:
        self.now = 1_000.0
        environment = harness.environment
        self.backend = Backend.open(
            read(harness.file), environment, harness.clock, harness.batches, monotonic=lambda: self.now
        )
        self.service = Service(self.backend, environment)

    def get(self, path: str) -> httpx.Response:
        """Return a response, without a check of node or database."""
        return call_application(self.service.app, "GET", path)

    def health(self) -> Any:
        """Return the health after a check."""
        self.service.monitor.run_checks()
        return self.get("/healthz").json()

    def close(self) -> None:
        self.service._pool.shutdown()
        self.backend.close()
