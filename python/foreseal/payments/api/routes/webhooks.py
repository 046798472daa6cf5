"""Webhooks: targets, their secrets, test events and failed deliveries."""

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema
from sqlalchemy import Connection, select
from typing_extensions import TypeAliasType

from foreseal.payments.api import views, webhooks
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookOrigin, WebhookRecord
from foreseal.payments.api.pagination import PageQuery, by_id
from foreseal.payments.api.request_models import NoFields, RequestModel
from foreseal.payments.api.responses import DeliveryPage, DeliveryView, Webhooks, WebhookSecret, WebhookView
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import AnyCall, BodyCall, JsonReply, PathCall, PlainCall, QueryCall, Route, RouteCall
from foreseal.payments.api.value_types import LARGEST_ID, Digits, ObjectId, Selected, ShortText
from foreseal.payments.configuration.webhook_targets import AddressPolicy, TargetForbidden, check_url
from foreseal.payments.ledger.event_types import TYPES, check_types
from foreseal.payments.ledger.queries import fetch_all, fetch_one, fetch_one_or_none
from foreseal.payments.ledger.timeline import WEBHOOK_ROTATED, WEBHOOK_TESTED

_DAY = 86_400
_MAX_OVERLAP = 30 * _DAY
_ALL_EVENTS = ["*"]


def _event_types(values: list[str]) -> list[str]:
    return values if values == _ALL_EVENTS else list(check_types(values))


EventFilter = TypeAliasType(
    "EventFilter", Annotated[str, WithJsonSchema({"type": "string", "enum": [*_ALL_EVENTS, *TYPES]})]
)
EventSelection = Annotated[list[EventFilter], Field(json_schema_extra={"minItems": 1}), AfterValidator(_event_types)]


class WebhookPath(RequestModel):
    """Path of a target."""

    id: ObjectId = Field(description="The target.")


class DeliveryPath(RequestModel):
    """Path of a delivery."""

    id: Annotated[int, Field(ge=1, le=LARGEST_ID), Digits] = Field(description="Id of the delivery.")


class NewWebhook(RequestModel):
    """A target to register."""

    url: ShortText = Field(description="Public URL of http or https that receives the POST.")
    events: EventSelection | None = Field(
        default=None, description='Event types that the target receives; ["*"] or by default all.'
    )


class WebhookChange(RequestModel):
    """New values of a target."""

    url: ShortText | None = Field(default=None, description="New URL; by default unchanged.")
    events: EventSelection | None = Field(
        default=None, description='Event types that the target receives; ["*"] for all; by default unchanged.'
    )


class SecretRotation(RequestModel):
    """Replacement of a secret."""

    overlap_seconds: Annotated[int, Field(ge=0, le=_MAX_OVERLAP)] | None = Field(
        default=None, description="Seconds in which the replaced secret signs as well; default 86400."
    )


class DeliveriesQuery(PageQuery):
    """Filters of deliveries."""

    state: Selected[DeliveryState] | None = Field(
        default=None, description="Only in this state; dead: all attempts failed."
    )
    webhook: ObjectId | None = Field(default=None, description="Filter by target.")


def _register(call: BodyCall[NewWebhook]) -> JsonReply:
    id, url, now = call.required_claim.id("hook"), call.body.url, int(call.backend.clock())
    _check_url(call, url)
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, select(WebhookRecord).where(WebhookRecord.id == id))
        # It exists if an earlier execution of this request created it.
        secret = webhooks.register(tx, id, url, now, _types(call.body.events)) if row is None else row.secret
        row = fetch_one(tx, select(WebhookRecord).where(WebhookRecord.id == id))
    return JsonReply({"webhook": views.webhook(row), "secret": secret}, 201)


def _update(call: RouteCall[WebhookPath, NoFields, WebhookChange]) -> JsonReply:
    id, url = call.path.id, call.body.url
    if url is not None:
        _check_url(call, url)
    with call.backend.database.transaction() as tx:
        _require_registered(webhooks.find_active(tx, id))
        webhooks.change_target(tx, id, url, _types(call.body.events), all_events=call.body.events == _ALL_EVENTS)
        row = fetch_one(tx, select(WebhookRecord).where(WebhookRecord.id == id))
    return JsonReply(views.webhook(row))


def _rotate_secret(call: RouteCall[WebhookPath, NoFields, SecretRotation]) -> JsonReply:
    id, now = call.path.id, int(call.backend.clock())
    overlap = _DAY if call.body.overlap_seconds is None else call.body.overlap_seconds
    with call.backend.database.transaction() as tx:
        row = _require_registered(webhooks.find_active(tx, id))
        # A second rotation would end the secret that the receiver has.
        done = call.required_claim.again and _happened(call, tx, id, WEBHOOK_ROTATED)
        secret = row.secret if done else webhooks.rotate_secret(tx, row, now, overlap)
        row = fetch_one(tx, select(WebhookRecord).where(WebhookRecord.id == id))
    return JsonReply({"webhook": views.webhook(row), "secret": secret})


def _test(call: PathCall[WebhookPath]) -> JsonReply:
    id = call.path.id
    newest = (
        select(DeliveryRecord)
        .where(DeliveryRecord.webhook_id == id, DeliveryRecord.subject == WebhookRecord.__tablename__)
        .order_by(DeliveryRecord.id.desc())
        .limit(1)
    )
    with call.backend.database.transaction() as tx:
        webhooks.find_active(tx, id)
        if not (call.required_claim.again and _happened(call, tx, id, WEBHOOK_TESTED)):
            webhooks.send_test(tx, id, int(call.backend.clock()))
        (shown,) = views.deliveries(tx, [fetch_one(tx, newest)])
    return JsonReply(shown, 201)


def _happened(call: AnyCall, tx: Connection, id: str, trigger: str) -> bool:
    return call.required_claim.happened(tx, WebhookRecord.__tablename__, id, trigger)


def _check_url(call: AnyCall, url: str) -> None:
    try:
        check_url(url, AddressPolicy(call.backend.configuration.serve.webhook_networks))
    except TargetForbidden as error:
        raise ApiError(400, "invalid_value", f"url {error}, got {url!r}", "url") from None


def _types(events: list[str] | None) -> list[str] | None:
    return None if events == _ALL_EVENTS else events


def _require_registered(row: WebhookRecord) -> WebhookRecord:
    if row.origin is not WebhookOrigin.REGISTERED:
        raise ApiError(409, "not_allowed", f"webhooks: {row.id} is configured: change it in pay.toml", "id")
    return row


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
        return JsonReply({"items": views.deliveries(tx, rows), "next": following})


def _retry(call: PathCall[DeliveryPath]) -> JsonReply:
    id = call.path.id
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, select(DeliveryRecord).where(DeliveryRecord.id == id))
        if not (call.required_claim.again and row is not None and row.state is not DeliveryState.DEAD):
            webhooks.revive(tx, id, call.backend.clock())
        (shown,) = views.deliveries(tx, [fetch_one(tx, select(DeliveryRecord).where(DeliveryRecord.id == id))])
    return JsonReply(shown)


ROUTES = (
    Route(
        "POST",
        "/v1/webhooks",
        "Register a target, which receives events from now on",
        _register,
        {201: WebhookSecret},
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
        "POST",
        "/v1/webhooks/{id}/update",
        "Change the URL or the event types of a registered target",
        _update,
        {200: WebhookView},
        Role.ADMIN,
    ),
    Route(
        "POST",
        "/v1/webhooks/{id}/rotate-secret",
        "Replace the secret of a registered target; the replaced one signs as well for a while",
        _rotate_secret,
        {200: WebhookSecret},
        Role.ADMIN,
    ),
    Route(
        "POST",
        "/v1/webhooks/{id}/test",
        "Send the event webhook.test to one target",
        _test,
        {201: DeliveryView},
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
