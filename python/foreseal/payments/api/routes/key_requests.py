"""API keys: create, list and revoke."""

import hashlib
from typing import Annotated

from pydantic import Field
from sqlalchemy import select

from foreseal.payments.api import api_keys
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.models import ApiKeyRecord
from foreseal.payments.api.request_models import RequestModel
from foreseal.payments.api.responses import ApiKeys, ApiKeySecret, ApiKeyView
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import BodyCall, JsonReply, PathCall, PlainCall, Route
from foreseal.payments.api.value_types import ObjectId, Selected, limited_text
from foreseal.payments.api.views import api_key
from foreseal.payments.ledger import DuplicateRecord
from foreseal.payments.ledger.queries import fetch_one, fetch_one_or_none


class ApiKeyPath(RequestModel):
    """Path of an API key."""

    id: ObjectId = Field(description="Id of the API key.")


class NewApiKey(RequestModel):
    """An API key to create."""

    name: Annotated[str, limited_text(api_keys.LONGEST_NAME, min_length=1)] = Field(
        description="Name of the key, for people."
    )
    role: Selected[Role] = Field(description="Role of the key.")


def _create(call: BodyCall[NewApiKey]) -> JsonReply:
    claim, now = call.required_claim, int(call.backend.clock())
    # One Idempotency-Key creates one key, also after a crash.
    id = hashlib.sha256(claim.key.encode()).hexdigest()[: api_keys.ID_LENGTH]
    secret: str | None = None
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, select(ApiKeyRecord).where(ApiKeyRecord.id == id))
        if row is None:
            try:
                secret = api_keys.create(tx, call.body.name, call.body.role, now, id=id)
            except ValueError as error:
                raise ApiError(400, "invalid_value", str(error), "name") from None
            row = fetch_one(tx, select(ApiKeyRecord).where(ApiKeyRecord.id == id))
        elif not claim.again:
            raise DuplicateRecord(f"api keys: {id} exists: repeat the request with another Idempotency-Key")
    shown = api_key(row)
    # Only the hash of a key is stored.
    return JsonReply({"api_key": shown, "secret": secret}, 201, replayed={"api_key": shown, "secret": None})


def _list(call: PlainCall) -> JsonReply:
    with call.backend.database.reading() as tx:
        rows = api_keys.listed(tx)
    return JsonReply({"items": [api_key(row) for row in rows]})


def _revoke(call: PathCall[ApiKeyPath]) -> JsonReply:
    query = select(ApiKeyRecord).where(ApiKeyRecord.id == call.path.id)
    with call.backend.database.transaction() as tx:
        row = fetch_one_or_none(tx, query)
        if not (call.required_claim.again and row is not None and row.revoked is not None):
            api_keys.revoke(tx, call.path.id, int(call.backend.clock()), by_name=False)
        row = fetch_one(tx, query)
    return JsonReply(api_key(row))


ROUTES = (
    Route(
        "POST",
        "/v1/api-keys",
        "Create an API key; only the first response contains it",
        _create,
        {201: ApiKeySecret},
        Role.ADMIN,
    ),
    Route(
        "GET",
        "/v1/api-keys",
        "List all API keys without their secrets",
        _list,
        {200: ApiKeys},
        Role.ADMIN,
    ),
    Route(
        "POST",
        "/v1/api-keys/{id}/revoke",
        "Revoke an API key, and end its sessions",
        _revoke,
        {200: ApiKeyView},
        Role.ADMIN,
    ),
)
