"""All components of a merchant, built from the configuration."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection

from foreseal.client import Client
from foreseal.payments.api.checkout.settings import CheckoutSettings
from foreseal.payments.chain import (
    BatchClient,
    ChainNode,
    CircuitBreaker,
    GuardedClient,
    RpcNode,
    StrangerCalls,
    stranger_options,
)
from foreseal.payments.configuration import Configuration
from foreseal.payments.crash_points import OnCrashPoint, ignore_crash_point
from foreseal.payments.destinations.destination import Destination, DestinationContext
from foreseal.payments.destinations.lookup import DestinationLookup
from foreseal.payments.destinations.registry import Destinations, list_signers
from foreseal.payments.ledger import Database, Ledger, read
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.orders.payment_groups import PaymentGroups

BackendClock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Backend:
    """Components behind the HTTP service and the worker."""

    configuration: Configuration
    clock: BackendClock
    """Unix time in seconds."""
    monotonic: BackendClock
    """Monotonic time in seconds."""
    database: Database
    ledger: Ledger
    breaker: CircuitBreaker
    """Circuit breaker of the node."""
    node: ChainNode
    destinations: Destinations
    payments: PaymentGroups
    checkout: CheckoutSettings | None
    """Settings of the checkout page; None without one."""

    @classmethod
    def open(
        cls,
        configuration: Configuration,
        environment: Mapping[str, str],
        clock: BackendClock,
        client: BatchClient | None = None,
        passed: OnCrashPoint = ignore_crash_point,
        monotonic: BackendClock = time.monotonic,
    ) -> Self:
        """Open the database. The node is not contacted yet.

        `client` replaces the clients of the configured node. `monotonic` is a clock in seconds for time limits. Raises
        `ConfigurationError`, `SecretError`, `WrongSchema`, `PoolerRefused` and the database's errors.
        """
        section, policy = configuration.node, configuration.policy
        breaker = CircuitBreaker(section.breaker(), monotonic)
        strangers = StrangerCalls(
            client or Client(section.url, stranger_options(section.options())),
            CircuitBreaker(section.breaker(), monotonic),
            policy.stranger_gas(),
            monotonic,
        )
        node = RpcNode(GuardedClient(client or Client(section.url, section.options()), breaker), strangers.node)
        signers = list_signers(configuration, environment)
        database = Database(configuration.database.url)
        ledger = Ledger(database, lambda: int(clock()), passed)
        context = DestinationContext(ledger, node, section.chain_id, policy)
        destinations = Destinations.build(signers, context)
        payments = PaymentGroups(ledger, destinations.default.sender, [each.payments for each in destinations])
        checkout = CheckoutSettings.load(configuration.checkout, database)
        return cls(configuration, clock, monotonic, database, ledger, breaker, node, destinations, payments, checkout)

    @property
    def chain_id(self) -> int:
        """Chain id of all destinations (EIP-155)."""
        return self.configuration.node.chain_id

    def lookup(self, tx: Connection) -> DestinationLookup:
        """Return the lookup of the destinations of rows."""
        return DestinationLookup(self.destinations, tx)

    def order_destination(self, id: str) -> Destination:
        """Return the destination of an order. Raises `UnknownRecord` and `DestinationNotConfigured`."""
        with self.database.reading() as tx:
            return self.lookup(tx).order(read(tx, OrderRecord, id))

    def close(self) -> None:
        """Close the database."""
        self.database.close()
