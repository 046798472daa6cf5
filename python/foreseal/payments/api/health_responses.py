"""Responses of the routes without an API key: the health of the service, and the OpenAPI document."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from foreseal.payments.api.responses import Problem, Unsigned


class NodeHealth(TypedDict):
    """Health of the node."""

    reachable: bool
    latest_block: Unsigned | None


class DatabaseHealth(TypedDict):
    """Health of the database."""

    reachable: bool


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

    status: Literal["ok", "unhealthy"]
    reasons: Annotated[list[Problem], Field(description="Failed checks; empty if the service is healthy.")]
    node: NodeHealth
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
