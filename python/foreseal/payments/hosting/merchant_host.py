"""The merchants of one process: opened together, started and stopped at the same time."""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp

from foreseal.payments.api.backend import Backend, BackendClock
from foreseal.payments.configuration import Configuration, ConfigurationError, SecretError
from foreseal.payments.hosting.conflicts import MerchantResources, check_configurations, check_resources
from foreseal.payments.hosting.process_app import build_process_app
from foreseal.payments.hosting.router import MerchantRouter
from foreseal.payments.ledger import PoolerRefused, WrongSchema
from foreseal.payments.ledger.database_identity import find_identity
from foreseal.payments.merchant_context import merchant_context
from foreseal.payments.metrics import MetricGroups
from foreseal.payments.telemetry.exporters import ServiceTelemetry
from foreseal.payments.telemetry.metric_families import metric_families
from foreseal.payments.workers.process_name import NameInUse, ProcessName
from foreseal.payments.workers.service import Service
from foreseal.telemetry.signals import ExportedFamily

log = logging.getLogger(__name__)

MAX_REQUESTS = 600
"""Maximum number of concurrent requests of all merchants together, which share it equally."""
MAX_SHOPPER_REQUESTS = 400
"""Maximum number of concurrent requests of the shoppers of all merchants, which share it equally.

Both together leave the listener some of its 1,024 connections.
"""

_EXPECTED = (ConfigurationError, SecretError, WrongSchema, PoolerRefused, NameInUse, SQLAlchemyError)


class MerchantFailed(Exception):
    """A merchant that cannot be served. `error` is the reason, `path` its configuration file."""

    def __init__(self, path: Path, error: BaseException) -> None:
        super().__init__(f"{path}: {error}")
        self.path = path
        self.error = error


@dataclass(frozen=True, slots=True)
class HostedMerchant:
    """A merchant with its service."""

    path: Path
    name: str | None
    """None for a merchant without a path of its own."""
    backend: Backend
    service: Service

    @classmethod
    def open(
        cls,
        configuration: Configuration,
        environment: Mapping[str, str],
        clock: BackendClock,
        telemetry: ServiceTelemetry | None,
    ) -> Self:
        """Open the database and set up the service. Raises `MerchantFailed`."""
        name = None if configuration.merchant is None else configuration.merchant.name
        try:
            with merchant_context(name):
                backend = Backend.open(configuration, environment, clock)
                try:
                    service = Service(backend, environment, telemetry)
                except BaseException:
                    backend.close()
                    raise
        except _EXPECTED as error:
            raise MerchantFailed(configuration.path, error) from error
        return cls(configuration.path, name, backend, service)

    def resources(self) -> MerchantResources:
        """Return what no other merchant may use. Raises `MerchantFailed`."""
        configuration = self.backend.configuration
        try:
            identity = find_identity(self.backend.database)
        except SQLAlchemyError as error:
            raise MerchantFailed(self.path, error) from error
        process = ProcessName.from_section(configuration.serve).name
        payees = frozenset(each.merchant.payee for each in self.backend.destinations)
        return MerchantResources(self.path, configuration.node.chain_id, payees, identity, process)

    def call(self, act: Callable[[], None]) -> None:
        """Call a function of the service with the merchant in the log."""
        with merchant_context(self.name):
            act()


class MerchantHost:
    """All merchants of a process. `app` handles HTTP requests."""

    def __init__(
        self,
        configurations: Sequence[Configuration],
        environment: Mapping[str, str],
        clock: BackendClock,
        telemetry: ServiceTelemetry | None = None,
    ) -> None:
        """Open all databases and set up all services. `telemetry` has the exporters of the process.

        Raises `ConfigurationError` for a conflict between merchants, and `MerchantFailed`.
        """
        check_configurations(configurations)
        self._merchants: list[HostedMerchant] = []
        self._started: list[HostedMerchant] = []
        try:
            for configuration in configurations:
                self._merchants.append(HostedMerchant.open(configuration, environment, clock, telemetry))
            check_resources([merchant.resources() for merchant in self._merchants])
        except BaseException:
            self.close()
            raise
        self.services = {each.name: each.service for each in self._merchants if each.name is not None}
        """Services by the name of their merchant; empty for one merchant without a name."""
        self.app = self._application()

    def _application(self) -> ASGIApp:
        if not self.services:
            (merchant,) = self._merchants
            return merchant.service.app
        services = self.services
        process = build_process_app(lambda: {name: each.monitor.health() for name, each in services.items()}, self.text)
        applications = {name: each.app for name, each in services.items()}
        shares = (max(total // len(services), 1) for total in (MAX_REQUESTS, MAX_SHOPPER_REQUESTS))
        self._router = MerchantRouter(applications, process, *shares)
        return self._router

    def text(self) -> str:
        """Return the metrics of all named merchants as text."""
        return self._metrics().text()

    def families(self) -> list[ExportedFamily]:
        """Return the metrics of all merchants for their export."""
        return metric_families(self._metrics())

    def _metrics(self) -> MetricGroups:
        groups: dict[str | None, Collector] = {each.name: each.service.metrics.registry for each in self._merchants}
        if self.services:
            groups[None] = self._router.registry
        return MetricGroups(groups)

    def stop_waits(self) -> None:
        """Answer requests that wait for a change now, before the listener stops. On the thread of the event loop."""
        for merchant in self._merchants:
            merchant.service.app.state.stop_waits()

    def start(self) -> None:
        """Start all services at the same time. Raises `MerchantFailed` for the first that fails."""
        results = self._on_all(self._merchants, lambda merchant: merchant.service.start)
        self._started = [merchant for merchant, result in results if result.exception() is None]
        for merchant, result in results:
            error = result.exception()
            if isinstance(error, _EXPECTED):
                raise MerchantFailed(merchant.path, error) from error
            result.result()

    def stop(self) -> None:
        """Stop all started services at the same time, so that a slow end of one does not delay the others."""
        started, self._started = self._started, []
        for merchant, result in self._on_all(started, lambda merchant: merchant.service.stop):
            if result.exception() is not None:
                log.error("failed to stop", extra={"config": str(merchant.path)}, exc_info=result.exception())

    def close(self) -> None:
        """Close all databases."""
        for merchant in self._merchants:
            merchant.backend.close()

    @staticmethod
    def _on_all(
        merchants: Sequence[HostedMerchant], act: Callable[[HostedMerchant], Callable[[], None]]
    ) -> list[tuple[HostedMerchant, Future[None]]]:
        """Call a function of each merchant's service on a thread of its own, and wait for all."""
        with ThreadPoolExecutor(max(len(merchants), 1), "merchant") as pool:
            return [(merchant, pool.submit(merchant.call, act(merchant))) for merchant in merchants]
