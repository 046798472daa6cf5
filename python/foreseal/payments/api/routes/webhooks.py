"""Webhooks: targets and failed deliveries."""

import re
from typing import Annotated

from pydantic import Field
from sqlalchemy import select

from foreseal.payments.api import views, webhooks
from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookRecord
from foreseal.payments.api.pagination import PageQuery, by_id
from foreseal.payments.api.request_models import RequestModel
from foreseal.payments.api.responses import DeliveryPage, DeliveryView, WebhookCreated, Webhooks, WebhookView
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import BodyCall, JsonReply, PathCall, PlainCall, QueryCall, Route
from foreseal.payments.api.value_types import LARGEST_ID, Digits, ObjectId, Selected
from foreseal.payments.ledger.identifiers import is_storable
from foreseal.payments.ledger.queries import fetch_all, fetch_one, fetch_one_or_none
from foreseal.payments.validation import ParsedText

_URL = re.compile(r"https?://[^\s/@]+(?:/\S*)?")
_LONGEST_URL = 500


def _url(text: str) -> str:
    if len(text) > _LONGEST_URL or not is_storable(text) or _URL.fullmatch(text) is None:
        raise ValueError(f"{text[:100]!r} must be a URL with http or https of at most {_LONGEST_URL} characters")
    return text


WebhookUrl = Annotated[str, ParsedText(_url, {"type": "string", "maxLength": _LONGEST_URL})]


class WebhookPath(RequestModel):
    """Path of a target."""

    id: ObjectId = Field(description="The target.")


class DeliveryPath(RequestModel):
    """Path of a delivery."""

    id: Annotated[int, Field(ge=1, le=LARGEST_ID), Digits] = Field(description="Id of the delivery.")


class NewWebhook(RequestModel):
    """A target to register."""

    url: WebhookUrl = Field(description="URL of http or https that receives the POST.")


class DeliveriesQuery(PageQuery):
    """Filters of deliveries."""

    state: Selected[DeliveryState] | None = Field(
        default=None, description="Only in this state; dead: all attempts failed."
    )
    webhook: ObjectId | None = Field(default=None, description="Filter by target.")


def _register(call: BodyCall[NewWebhook]) -> JsonReply:
    id, url, now = call.required_claim.id("hook"), call.body.url, int(call.backend.clock())
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, select(WebhookRecord).where(WebhookRecord.id == id))
        # It exists if an earlier execution of this request created it.
        secret = webhooks.register(tx, id, url, now) if row is None else row.secret
        row = fetch_one(tx, select(WebhookRecord).where(WebhookRecord.id == id))
    return JsonReply({"webhook": views.webhook(row), "secret": secret}, 201)


def _list(call: PlainCall) -> JsonReply:
    with call.backend.database.reading() as tx:
        rows = fetch_all(tx, select(WebhookRecord).order_by(WebhookRecord.created, WebhookRecord.id))
    return JsonReply({"items": [views.webhook(row) for row in rows]})


def _retire(call: PathCall[WebhookPath]) -> JsonReply:
    id = call.path.id
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, select(WebhookRecord).where(WebhookRecord.id == id))
        if not (call.required_claim.again and row is not None and row.retired is not None):
            webhooks.retire(tx, id, int(call.backend.clock()))
            webhooks.drop_pending(tx, id)
        row = fetch_one(tx, select(WebhookRecord).where(WebhookRecord.id == id))
    return JsonReply(views.webhook(row))


def _deliveries(call: QueryCall[DeliveriesQuery]) -> JsonReply:
    parameters, conditions = call.query, []
    if parameters.state is not None:
        conditions.append(DeliveryRecord.state == parameters.state)
    if parameters.webhook is not None:
        conditions.append(DeliveryRecord.webhook_id == parameters.webhook)
    with call.backend.database.reading() as tx:
        rows, following = by_id(tx, DeliveryRecord, parameters, *conditions)
    return JsonReply({"items": [views.delivery(row) for row in rows], "next": following})


def _retry(call: PathCall[DeliveryPath]) -> JsonReply:
    id = call.path.id
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, select(DeliveryRecord).where(DeliveryRecord.id == id))
        if not (call.required_claim.again and row is not None and row.state is not DeliveryState.DEAD):
            webhooks.revive(tx, id, call.backend.clock())
        row = fetch_one(tx, select(DeliveryRecord).where(DeliveryRecord.id == id))
    return JsonReply(views.delivery(row))


ROUTES = (
    Route(
        "POST",
        "/v1/webhooks",
        "Register a target, which receives events from now on",
        _register,
        {201: WebhookCreated},
        Role.ADMIN,
    ),
    Route("GET", "/v1/webhooks", "List all targets", _list, {200: Webhooks}, Role.ADMIN),
    Route(
        "POST",
        "/v1/webhooks/{id}/retire",
        "Send no further events to a target, and drop its pending deliveries",
        _retire,
        {200: WebhookView},
        Role.ADMIN,
    ),
    Route(
        "GET",
        "/v1/deliveries",
        "List deliveries to targets, newest first",
        _deliveries,
        {200: DeliveryPage},
        Role.ADMIN,
    ),
    Route("POST", "/v1/deliveries/{id}/retry", "Retry a dead delivery", _retry, {200: DeliveryView}, Role.ADMIN),
)
