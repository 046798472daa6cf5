"""Webhooks: targets and failed deliveries."""

import re

from sqlalchemy import select

from foreseal.payments.api import views, webhooks
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.fields import ID, TEXT, Field, choice_field, integer_field
from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookRecord
from foreseal.payments.api.pagination import LARGEST_ID, PAGE_FIELDS, by_id
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import JsonReply, Route, RouteCall
from foreseal.payments.ledger.queries import fetch_all, fetch_one, fetch_one_or_none

_URL = re.compile(r"https?://[^\s/@]+(?:/\S*)?")
_HOOK_ID = Field("id", ID, "The target.", required=True)


def _register(call: RouteCall) -> JsonReply:
    id, url, now = call.required_claim.id("hook"), call.body["url"], int(call.backend.clock())
    if _URL.fullmatch(url) is None:
        raise ApiError(400, "invalid_value", f"url must be a URL with http or https, got {url!r}", "url")
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, select(WebhookRecord).where(WebhookRecord.id == id))
        # It exists if an earlier execution of this request created it.
        secret = webhooks.register(tx, id, url, now) if row is None else row.secret
        row = fetch_one(tx, select(WebhookRecord).where(WebhookRecord.id == id))
    return JsonReply({"webhook": views.webhook(row), "secret": secret}, 201)


def _list(call: RouteCall) -> JsonReply:
    with call.backend.database.reading() as tx:
        rows = fetch_all(tx, select(WebhookRecord).order_by(WebhookRecord.created, WebhookRecord.id))
    return JsonReply({"items": [views.webhook(row) for row in rows]})


def _retire(call: RouteCall) -> JsonReply:
    id = call.path["id"]
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, select(WebhookRecord).where(WebhookRecord.id == id))
        if not (call.required_claim.again and row is not None and row.retired is not None):
            webhooks.retire(tx, id, int(call.backend.clock()))
            webhooks.drop_pending(tx, id)
        row = fetch_one(tx, select(WebhookRecord).where(WebhookRecord.id == id))
    return JsonReply(views.webhook(row))


def _deliveries(call: RouteCall) -> JsonReply:
    parameters, conditions = call.query, []
    if parameters["state"] is not None:
        conditions.append(DeliveryRecord.state == DeliveryState(parameters["state"]))
    if parameters["webhook"] is not None:
        conditions.append(DeliveryRecord.webhook_id == parameters["webhook"])
    with call.backend.database.reading() as tx:
        rows, following = by_id(tx, DeliveryRecord, parameters, *conditions)
    return JsonReply({"items": [views.delivery(row) for row in rows], "next": following})


def _retry(call: RouteCall) -> JsonReply:
    id = call.path["id"]
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
        {201: "WebhookCreated"},
        Role.ADMIN,
        body=(Field("url", TEXT, "URL of http or https that receives the POST.", required=True),),
    ),
    Route("GET", "/v1/webhooks", "List all targets", _list, {200: "Webhooks"}, Role.ADMIN),
    Route(
        "POST",
        "/v1/webhooks/{id}/retire",
        "Send no further events to a target, and drop its pending deliveries",
        _retire,
        {200: "Webhook"},
        Role.ADMIN,
        path_fields=(_HOOK_ID,),
    ),
    Route(
        "GET",
        "/v1/deliveries",
        "List deliveries to targets, newest first",
        _deliveries,
        {200: "DeliveryPage"},
        Role.ADMIN,
        query=(
            Field(
                "state",
                choice_field([state.value for state in DeliveryState]),
                "Only in this state; dead: all attempts failed.",
            ),
            Field("webhook", ID, "Filter by target."),
            *PAGE_FIELDS,
        ),
    ),
    Route(
        "POST",
        "/v1/deliveries/{id}/retry",
        "Retry a dead delivery",
        _retry,
        {200: "Delivery"},
        Role.ADMIN,
        path_fields=(Field("id", integer_field(1, LARGEST_ID), "Id of the delivery.", required=True),),
    ),
)
