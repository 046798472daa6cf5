"""Types of the administration.

`make merchant-client` generates this file from the OpenAPI document of the service.
"""

from typing import TypedDict

from foreseal.merchant.types import Money
from foreseal.merchant.values import DeliveryState, EventType, ObjectKind, Role, SelectableType, WebhookOrigin


class ApiKey(TypedDict):
    """An API key, without its secret."""

    id: str
    name: str
    role: "Role"
    created: int
    """Unix time in seconds."""
    revoked: int | None


class ApiKeySecret(TypedDict):
    """A new API key and its secret."""

    api_key: "ApiKey"
    secret: str | None
    """Text of the API key, shown only once; null if the request is repeated."""


class ApiKeys(TypedDict):
    """All API keys."""

    items: "list[ApiKey]"


class DayStatistics(TypedDict):
    """Orders in one token, by the day of their creation."""

    day: int
    """Unix time in seconds."""
    token: str
    symbol: str | None
    """Symbol of the token; null if the token is not configured."""
    orders: int
    captured: int
    failed: int
    """Orders that were voided, canceled or expired."""
    volume: "Money"
    """Sum of the captured amounts."""
    refunded: "Money"
    """Sum of the refunds of these orders, including pending ones."""


class Delivery(TypedDict):
    """The delivery of one event to one target."""

    id: int
    webhook_id: str
    event_id: str
    event_type: "EventType"
    object: "ObjectKind"
    object_id: str
    state: "DeliveryState"
    attempts: int
    next_attempt: int | None
    last_error: str | None


class DeliveryPage(TypedDict):
    """One page of deliveries."""

    items: "list[Delivery]"
    next: str | None
    """The cursor of the next page, or null."""


class Statistics(TypedDict):
    """Statistics of orders by day."""

    created_from: int
    """Unix time from which all orders are counted."""
    created_before: int
    """Unix time in seconds."""
    complete: bool
    """False if the range has too many orders; the oldest are left out."""
    items: "list[DayStatistics]"


class Webhook(TypedDict):
    """A target of webhooks."""

    id: str
    url: str
    events: "list[SelectableType] | None"
    """Event types; null for all."""
    origin: "WebhookOrigin"
    created: int
    retired: int | None
    previous_secret_expires: int | None
    """Time until which a replaced secret signs as well."""


class WebhookSecret(TypedDict):
    """A target and its new secret."""

    webhook: "Webhook"
    secret: str
    """Key of the signatures, shown only once."""


class Webhooks(TypedDict):
    """All targets."""

    items: "list[Webhook]"
