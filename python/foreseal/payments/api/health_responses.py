"""Responses of the routes without an API key: the health of the service, and the OpenAPI document."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from foreseal.payments.api.responses import AddressText, Problem, UnitsText, Unsigned
from foreseal.payments.chain import BreakerState

Seconds = Annotated[float, Field(ge=0)]
Checked = Annotated[Seconds | None, Field(description="Seconds since the last check; null before the first.")]


HealthStatus = Literal["ok", "degraded", "unhealthy"]


class NodeHealth(TypedDict):
    """Health of the node."""

    reachable: bool
    latest_block: Unsigned | None
    block_age: Annotated[Seconds | None, Field(description="Seconds since the timestamp of the latest block.")]
    breaker: BreakerState
    checked: Checked


class PayeeHealth(TypedDict):
    """Ether of a payee, which pays the gas."""

    address: AddressText
    balance: Annotated[UnitsText | None, Field(description="Ether for gas in wei; null before the first check.")]
    captures_left: Annotated[Unsigned | None, Field(description="Estimated captures that it pays at current fees.")]
    status: Literal["ok", "low", "empty", "unknown"]


class DestinationHealth(TypedDict):
    """A destination."""

    name: str
    token: AddressText
    symbol: str
    payee: PayeeHealth


class DatabaseHealth(TypedDict):
    """Health of the database."""

    reachable: bool
    checked: Checked


class WorkerHealth(TypedDict):
    """Progress of background processing."""

    read_block: Annotated[Unsigned | None, Field(description="Block up to which transfers are read.")]
    latest_block: Unsigned | None
    synced: bool
    last_success: Annotated[float | None, Field(description="Unix time in seconds of the last full pass.")]
    consecutive_failures: Unsigned


class WebhookHealth(TypedDict):
    """Numbers of deliveries."""

    pending: Unsigned
    dead: Unsigned


class Health(TypedDict):
    """Health of the service."""

    status: HealthStatus
    reasons: Annotated[list[Problem], Field(description="Failed checks; empty if the service is healthy.")]
    node: NodeHealth
    destinations: list[DestinationHealth]
    orders_without_destination: Annotated[
        Unsigned, Field(description="Open orders whose token and payee no configured destination has.")
    ]
    database: DatabaseHealth
    worker: WorkerHealth
    processes: Unsigned
    webhooks: WebhookHealth


@with_config(ConfigDict(extra="allow"))
class Document(TypedDict):
    """OpenAPI 3.1."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
