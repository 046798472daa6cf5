"""Records of the service, in addition to the ledger's. Times are seconds since 1970."""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from foreseal.payments.api.roles import Role
from foreseal.payments.ledger.columns import EnumText
from foreseal.payments.ledger.record import Record


class WebhookOrigin(StrEnum):
    """Origin of a webhook's target."""

    CONFIGURED = "configured"
    REGISTERED = "registered"


class DeliveryState(StrEnum):
    """State of one event's delivery to one target."""

    WAITING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"
    """All attempts failed."""


class ApiKeyRecord(Record):
    """An API key."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(20), primary_key=True)
    name: Mapped[str] = mapped_column(String(64))
    role: Mapped[Role] = mapped_column(EnumText(Role))
    hash: Mapped[str] = mapped_column(String(64))
    created: Mapped[int] = mapped_column(BigInteger)
    revoked: Mapped[int | None] = mapped_column(BigInteger)


class SessionRecord(Record):
    """A session of the dashboard, opened with an API key."""

    __tablename__ = "sessions"
    __table_args__ = (Index("sessions_key", "key_id", "created"),)

    # Hash of the id, which only the browser has.
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    key_id: Mapped[str] = mapped_column(ForeignKey("api_keys.id"))
    created: Mapped[int] = mapped_column(BigInteger)
    # Last use, precise to the interval at which it is recorded.
    used: Mapped[int] = mapped_column(BigInteger)


class RequestRecord(Record):
    """A POST request, by its Idempotency-Key, and its response."""

    __tablename__ = "requests"

    # The caller's Idempotency-Key.
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    # Newest timeline entry at the start of the request; a later entry may be its effect.
    since: Mapped[int] = mapped_column(BigInteger)
    owner: Mapped[str] = mapped_column(String(100))
    leased_until: Mapped[float] = mapped_column(Float)
    created: Mapped[int] = mapped_column(BigInteger)
    status: Mapped[int | None] = mapped_column(Integer)
    answer: Mapped[bytes | None] = mapped_column(LargeBinary)


class WebhookRecord(Record):
    """A target of webhooks."""

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    origin: Mapped[WebhookOrigin] = mapped_column(EnumText(WebhookOrigin))
    # Set for registered targets only. A configured secret stays in its file or environment variable.
    secret: Mapped[str | None] = mapped_column(String(100))
    created: Mapped[int] = mapped_column(BigInteger)
    retired: Mapped[int | None] = mapped_column(BigInteger)
    # Newest timeline entry when the target was added; only later entries are delivered.
    since: Mapped[int] = mapped_column(BigInteger)
    # JSON list of the event types that it receives; null for all.
    events: Mapped[str | None] = mapped_column(Text)
    # Replaced secret, which signs as well until it expires.
    previous_secret: Mapped[str | None] = mapped_column(String(100))
    previous_secret_expires: Mapped[int | None] = mapped_column(BigInteger)


class DeliveryRecord(Record):
    """The delivery of one event to one target."""

    __tablename__ = "deliveries"
    __table_args__ = (
        UniqueConstraint("webhook_id", "event_id"),
        Index("deliveries_next_attempt", "webhook_id", "state", "next_attempt"),
        Index("deliveries_state", "state", "id"),
        Index("deliveries_order", "webhook_id", "subject", "subject_id", "state", "event_id"),
    )

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhooks.id"))
    event_id: Mapped[int] = mapped_column(ForeignKey("timeline.id"))
    subject: Mapped[str] = mapped_column(String(40))
    subject_id: Mapped[str] = mapped_column(String(200))
    state: Mapped[DeliveryState] = mapped_column(EnumText(DeliveryState))
    attempts: Mapped[int] = mapped_column(Integer)
    next_attempt: Mapped[float] = mapped_column(Float)
    leased_until: Mapped[float] = mapped_column(Float)
    # Process that claimed it.
    leased_by: Mapped[str | None] = mapped_column(String(100))
    error: Mapped[str] = mapped_column(Text)


class ProcessRecord(Record):
    """An active process of the service."""

    __tablename__ = "processes"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    seen: Mapped[float] = mapped_column(Float)


class ServiceKeyRecord(Record):
    """A secret key of the service, which all its processes share."""

    __tablename__ = "service_keys"

    purpose: Mapped[str] = mapped_column(String(40), primary_key=True)
    key: Mapped[bytes] = mapped_column(LargeBinary(32))
