"""Events: entries of the timeline in the form that the API and the webhooks use.

An event is a function of its entry and of values that never change afterwards, so it has the same bytes in every
delivery and in the API. `data.object` therefore has the status after the entry, and not what may still change: the
payment and the sum of refunds of an order. The payer of an order may be null at first; the entries until it is assigned
have it in their details. The configuration gives the name of a destination and the form of
an amount; its change changes both.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, and_, select

from foreseal.payments.api.models import WebhookRecord
from foreseal.payments.api.pagination import PageQuery, parse_cursor
from foreseal.payments.api.value_types import LARGEST_ID
from foreseal.payments.api.views import JsonView, Views, refined
from foreseal.payments.ledger.event_types import OBJECTS, event_id, event_type
from foreseal.payments.ledger.models import OrderRecord, PayoutRecord, RefundRecord, TimelineRecord
from foreseal.payments.ledger.queries import chunks, fetch_all, fetch_each
from foreseal.payments.ledger.record import Record
from foreseal.payments.ledger.states import parsed

MAX_TIMELINE_REFUNDS = 200
"""Refunds of an order whose events or transactions a response contains."""


def build_events(tx: Connection, views: Views, rows: Sequence[TimelineRecord]) -> list[JsonView]:
    """Return the events of timeline entries, in their order. The number of queries is that of chunks of objects."""
    objects = _objects(tx, views, rows)
    return [_event(row, objects[row.subject, row.subject_id]) for row in rows]


def encode_events(views: Views, tx: Connection, rows: Sequence[TimelineRecord]) -> dict[int, bytes]:
    """Return the bytes of events, by the id of their entries."""
    events = build_events(tx, views, rows)
    return {row.id: orjson.dumps(built) for row, built in zip(rows, events, strict=True)}


def list_events(tx: Connection, views: Views, model: type[Record], id: str, query: PageQuery) -> JsonView:
    """Return a page of the timeline of one row, oldest entry first."""
    return _page(tx, views, query, [_is_subject(model, id)])


def list_order_events(tx: Connection, views: Views, id: str, query: PageQuery) -> JsonView:
    """Return a page of the timelines of an order and its newest `MAX_TIMELINE_REFUNDS` refunds, oldest entry first."""
    of_refunds = (TimelineRecord.subject == RefundRecord.__tablename__) & TimelineRecord.subject_id.in_(
        newest_refunds(tx, id)
    )
    return _page(tx, views, query, [_is_subject(OrderRecord, id), of_refunds])


def _is_subject(model: type[Record], id: str) -> ColumnElement[bool]:
    return and_(TimelineRecord.subject == model.__tablename__, TimelineRecord.subject_id == id)


def _page(tx: Connection, views: Views, query: PageQuery, conditions: Sequence[ColumnElement[bool]]) -> JsonView:
    """Return a page of the entries for which one of the conditions holds. Anybody can add entries to an order.

    Each condition has a query of its own, which reads no more rows than the page has.
    """
    after = parse_cursor(query.cursor, LARGEST_ID)
    rows: list[TimelineRecord] = []
    for condition in conditions:
        entries = select(TimelineRecord).where(condition).order_by(TimelineRecord.id).limit(query.limit + 1)
        if after is not None:
            entries = entries.where(TimelineRecord.id > after[0])
        rows += fetch_all(tx, entries)
    rows.sort(key=lambda row: row.id)
    page = rows[: query.limit]
    following = str(page[-1].id) if len(rows) > query.limit else None
    return {"items": build_events(tx, views, page), "next": following}


def newest_refunds(tx: Connection, id: str) -> Sequence[str]:
    """Return the ids of the newest `MAX_TIMELINE_REFUNDS` refunds of an order."""
    own = select(RefundRecord.id).where(RefundRecord.order_id == id)
    begun = (TimelineRecord.subject == RefundRecord.__tablename__) & TimelineRecord.before.is_(None)
    newest = select(TimelineRecord.subject_id).where(begun, TimelineRecord.subject_id.in_(own))
    return tx.scalars(newest.order_by(TimelineRecord.id.desc()).limit(MAX_TIMELINE_REFUNDS)).all()


def _event(row: TimelineRecord, subject: Mapping[str, object]) -> JsonView:
    details = json.loads(row.details)
    then = {"payer": details["payer"]} if "payer" in details else {}
    return {
        "id": event_id(row.id),
        "type": event_type(row),
        "created": row.time,
        "data": {
            "object": {"object": OBJECTS[row.subject], **subject, **then, **_status(row.after)},
            "previous": None if row.before is None else _status(row.before),
            "details": details,
        },
    }


def _objects(
    tx: Connection, views: Views, rows: Sequence[TimelineRecord]
) -> dict[tuple[str, str], Mapping[str, object]]:
    ids: dict[str, list[str]] = {}
    for table, id in dict.fromkeys((row.subject, row.subject_id) for row in rows):
        ids.setdefault(table, []).append(id)
    objects: dict[tuple[str, str], Mapping[str, object]] = {}
    for table, subjects in ids.items():
        for chunk in chunks(subjects):
            objects |= {(table, view["id"]): view for view in _READERS[table](tx, views, chunk)}
    return objects


def _orders(tx: Connection, views: Views, ids: Sequence[str]) -> Sequence[Mapping[str, object]]:
    return [views.order_constants(row) for row in fetch_each(tx, select(OrderRecord).where(OrderRecord.id.in_(ids)))]


def _refunds(tx: Connection, views: Views, ids: Sequence[str]) -> Sequence[Mapping[str, object]]:
    return views.refunds(tx, fetch_all(tx, select(RefundRecord).where(RefundRecord.id.in_(ids))))


def _payouts(tx: Connection, views: Views, ids: Sequence[str]) -> Sequence[Mapping[str, object]]:
    return views.payouts(tx, fetch_all(tx, select(PayoutRecord).where(PayoutRecord.id.in_(ids))))


def _webhooks(tx: Connection, _: Views, ids: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    query = select(WebhookRecord).where(WebhookRecord.id.in_(ids))
    return [{"id": row.id, "created": row.created} for row in fetch_each(tx, query)]


_READERS = {"orders": _orders, "refunds": _refunds, "payouts": _payouts, "webhooks": _webhooks}


def _status(text: str) -> JsonView:
    state, step = parsed(text)
    return {"state": state, **refined(step)}
