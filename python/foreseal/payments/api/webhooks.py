"""Targets of webhooks: registered by the API, or configured in `pay.toml`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookOrigin, WebhookRecord
from foreseal.payments.api.webhook_signature import new_secret
from foreseal.payments.configuration.webhook_targets import PUBLIC_ONLY, AddressPolicy
from foreseal.payments.ledger import UnknownRecord
from foreseal.payments.ledger.models import TimelineRecord
from foreseal.payments.ledger.queries import Column, ColumnValues, fetch_each, fetch_one_or_none, insert_all_returning
from foreseal.payments.ledger.timeline import WEBHOOK_ROTATED, WEBHOOK_TESTED

# An arbitrary number, unique among this database's advisory locks.
_CONFIGURING = 0x666F7266
_ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class ConfiguredTarget:
    """A target of `pay.toml`."""

    url: str
    secrets: tuple[str, ...] = ()
    """The secret, and the previous one during a rotation."""
    events: tuple[str, ...] | None = None
    """Event types that it receives; None for all."""
    policy: AddressPolicy = PUBLIC_ONLY


def register(tx: Connection, id: str, url: str, now: int, events: Sequence[str] | None = None) -> str:
    """Register a new target. Return the secret that signs its webhooks."""
    secret = new_secret()
    _add(tx, id, url, WebhookOrigin.REGISTERED, now, secret, events)
    return secret


def configure(tx: Connection, targets: Mapping[str, ConfiguredTarget], now: int) -> None:
    """Activate the targets of the configuration by id. Retire configured targets that it no longer has."""
    _lock(tx)
    query = select(WebhookRecord).where(WebhookRecord.origin == WebhookOrigin.CONFIGURED)
    before = {row.id: row for row in fetch_each(tx, query)}
    for id, target in targets.items():
        if id not in before:
            _add(tx, id, target.url, WebhookOrigin.CONFIGURED, now, None, target.events)
            continue
        values: ColumnValues = {WebhookRecord.events: _encode(target.events)}
        if before[id].retired is not None:
            values = {**values, WebhookRecord.retired: None, WebhookRecord.since: _newest(tx)}
        tx.execute(update(WebhookRecord).where(WebhookRecord.id == id).values(values))
    for id, row in before.items():
        if id not in targets and row.retired is None:
            retire(tx, id, now)


def retire(tx: Connection, id: str, now: int) -> None:
    """Retire a target, which gets no further events, and drop its pending deliveries. Raises `UnknownRecord`."""
    _change(tx, id, {WebhookRecord.retired: now})
    pending = (DeliveryRecord.webhook_id == id) & (DeliveryRecord.state == DeliveryState.WAITING)
    tx.execute(delete(DeliveryRecord).where(pending))


def change_target(tx: Connection, id: str, url: str | None, events: Sequence[str] | None, *, all_events: bool) -> None:
    """Change the URL or the event types of a registered target. Deliveries that exist already are not dropped.

    None leaves a value as it is; `all_events` removes the list of types. Raises `UnknownRecord`.
    """
    values: dict[Column, str | None] = {}
    if url is not None:
        values[WebhookRecord.url] = url
    if events is not None or all_events:
        values[WebhookRecord.events] = None if all_events else _encode(events)
    _change(tx, id, values or {WebhookRecord.id: id}, WebhookRecord.origin == WebhookOrigin.REGISTERED)


def rotate_secret(tx: Connection, row: WebhookRecord, now: int, overlap: int) -> str:
    """Replace the secret of a registered target. Return the new one.

    The replaced one signs as well for `overlap` seconds. A secret that was replaced earlier ends at once.
    """
    secret = new_secret()
    expires = now + overlap if overlap else None
    values: ColumnValues = {
        WebhookRecord.secret: secret,
        WebhookRecord.previous_secret: row.secret if overlap else None,
        WebhookRecord.previous_secret_expires: expires,
    }
    _change(tx, row.id, values)
    _record_entry(tx, row.id, now, WEBHOOK_ROTATED, {"previous_secret_expires": expires})
    return secret


def send_test(tx: Connection, id: str, now: int) -> int:
    """Add a test event for one target. Return the id of its delivery."""
    entry = _record_entry(tx, id, now, WEBHOOK_TESTED, {})
    (delivery,) = insert_all_returning(
        tx, DeliveryRecord.id, [waiting(id, entry, WebhookRecord.__tablename__, id, now)]
    )
    return delivery


def waiting(webhook_id: str, entry: int, subject: str, subject_id: str, now: float) -> ColumnValues:
    """Return the values of a new delivery."""
    return {
        DeliveryRecord.webhook_id: webhook_id,
        DeliveryRecord.event_id: entry,
        DeliveryRecord.subject: subject,
        DeliveryRecord.subject_id: subject_id,
        DeliveryRecord.state: DeliveryState.WAITING,
        DeliveryRecord.attempts: 0,
        DeliveryRecord.next_attempt: now,
        DeliveryRecord.leased_until: 0.0,
        DeliveryRecord.error: "",
    }


def find_active(tx: Connection, id: str) -> WebhookRecord:
    """Return an active target. Raises `UnknownRecord`."""
    query = select(WebhookRecord).where(WebhookRecord.id == id, WebhookRecord.retired.is_(None))
    row = fetch_one_or_none(tx, query.with_for_update())
    if row is None:
        raise _unknown(id)
    return row


def release_leases(tx: Connection, name: str) -> None:
    """Release the deliveries that earlier processes with this name have claimed."""
    leased = (DeliveryRecord.state == DeliveryState.WAITING) & (DeliveryRecord.leased_until > 0)
    mine = DeliveryRecord.leased_by.startswith(f"{name} ", autoescape=True)
    values: ColumnValues = {DeliveryRecord.leased_until: 0.0, DeliveryRecord.leased_by: None}
    tx.execute(update(DeliveryRecord).where(leased, mine).values(values))


def revive(tx: Connection, id: int, now: float) -> None:
    """Reset a dead delivery to its first attempt. Raises `UnknownRecord`."""
    dead = (DeliveryRecord.id == id) & (DeliveryRecord.state == DeliveryState.DEAD)
    values: ColumnValues = {
        DeliveryRecord.state: DeliveryState.WAITING,
        DeliveryRecord.attempts: 0,
        DeliveryRecord.next_attempt: now,
        DeliveryRecord.leased_until: 0.0,
    }
    if tx.execute(update(DeliveryRecord).where(dead).values(values)).rowcount != 1:
        raise UnknownRecord(f"webhooks: no dead delivery {id}")


def _add(
    tx: Connection,
    id: str,
    url: str,
    origin: WebhookOrigin,
    now: int,
    secret: str | None,
    events: Sequence[str] | None,
) -> None:
    """Add a target for events from now on."""
    values: ColumnValues = {
        WebhookRecord.id: id,
        WebhookRecord.url: url,
        WebhookRecord.origin: origin,
        WebhookRecord.secret: secret,
        WebhookRecord.created: now,
        WebhookRecord.retired: None,
        WebhookRecord.since: _newest(tx),
        WebhookRecord.events: _encode(events),
    }
    tx.execute(insert(WebhookRecord).values(values))


def _change(tx: Connection, id: str, values: ColumnValues, *conditions: ColumnElement[bool]) -> None:
    active = (WebhookRecord.id == id, WebhookRecord.retired.is_(None))
    if tx.execute(update(WebhookRecord).where(*active, *conditions).values(values)).rowcount != 1:
        raise _unknown(id)


def _unknown(id: str) -> UnknownRecord:
    return UnknownRecord(f"webhooks: no active target {id}")


def _record_entry(tx: Connection, id: str, now: int, trigger: str, details: Mapping[str, object]) -> int:
    """Add a timeline entry of a target that is not fanned out. Return its id."""
    values: ColumnValues = {
        TimelineRecord.subject: WebhookRecord.__tablename__,
        TimelineRecord.subject_id: id,
        TimelineRecord.time: now,
        TimelineRecord.trigger: trigger,
        TimelineRecord.before: None,
        TimelineRecord.after: _ACTIVE,
        TimelineRecord.details: json.dumps(details, sort_keys=True),
        TimelineRecord.fanned_out: True,
    }
    (entry,) = insert_all_returning(tx, TimelineRecord.id, [values])
    return entry


def _encode(events: Sequence[str] | None) -> str | None:
    return None if events is None else json.dumps(list(events))


def _lock(tx: Connection) -> None:
    """Serialize configuration between processes. SQLite has one writer anyway."""
    if tx.dialect.name == "postgresql":
        tx.execute(select(func.pg_advisory_xact_lock(_CONFIGURING)))


def _newest(tx: Connection) -> int:
    return int(tx.execute(select(func.max(TimelineRecord.id))).scalar_one() or 0)
