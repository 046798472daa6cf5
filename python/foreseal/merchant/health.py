"""Types of the health check.

`make merchant-client` generates this file from the OpenAPI document of the service.
"""

from typing import Literal, TypedDict

from foreseal.merchant.types import Problem
from foreseal.merchant.values import BreakerState


class DatabaseHealth(TypedDict):
    """Health of the database."""

    reachable: bool
    checked: "float | None"
    """Seconds since the last check; null before the first."""


class DestinationHealth(TypedDict):
    """A destination."""

    name: str
    token: str
    symbol: str
    payee: "PayeeHealth"


class Health(TypedDict):
    """Health of the service."""

    status: "Literal['ok', 'degraded', 'unhealthy']"
    reasons: "list[Problem]"
    """Failed checks; empty if the service is healthy."""
    node: "NodeHealth"
    destinations: "list[DestinationHealth]"
    orders_without_destination: int
    """Open orders whose token and payee no configured destination has."""
    database: "DatabaseHealth"
    worker: "WorkerHealth"
    processes: int
    webhooks: "WebhookHealth"


class NodeHealth(TypedDict):
    """Health of the node."""

    reachable: bool
    latest_block: int | None
    block_age: "float | None"
    """Seconds since the timestamp of the latest block."""
    breaker: "BreakerState"
    checked: "float | None"


class PayeeHealth(TypedDict):
    """Ether of a payee, which pays the gas."""

    address: str
    balance: str | None
    """Ether for gas in wei; null before the first check."""
    captures_left: int | None
    """Estimated captures that it pays at current fees."""
    status: "Literal['ok', 'low', 'empty', 'unknown']"


class WebhookHealth(TypedDict):
    """Numbers of deliveries."""

    pending: int
    dead: int


class WorkerHealth(TypedDict):
    """Progress of background processing."""

    read_block: int | None
    """Block up to which transfers are read."""
    latest_block: int | None
    synced: bool
    last_success: "float | None"
    """Unix time in seconds of the last full pass."""
    consecutive_failures: int
