"""A route: its input, responses and role, and the path of a request through it.

```text
API key -> path, query, body -> (POST: Idempotency-Key) -> handler -> response, stored with the key
```
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from foreseal.payments.api import api_keys
from foreseal.payments.api.authentication import Authenticator
from foreseal.payments.api.backend import Backend
from foreseal.payments.api.errors import LIBRARY_ERRORS, ApiError, to_api_error
from foreseal.payments.api.idempotency import (
    HEADER,
    MAX_KEY_LENGTH,
    IdempotentRequests,
    RequestClaim,
    StoredResponse,
    fingerprint,
)
from foreseal.payments.api.models import ApiKeyRecord
from foreseal.payments.api.order_operations import OrderOperations
from foreseal.payments.api.payment_queue import AnyJob, PaymentJob, PaymentQueue
from foreseal.payments.api.request_models import NoFields, RequestModel, parse_body, parse_fields
from foreseal.payments.api.request_threads import RequestThreads
from foreseal.payments.api.roles import Role
from foreseal.payments.api.views import Views
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.destinations.errors import UnknownDestination
from foreseal.payments.request_bodies import (
    BodiesFull,
    BodyMemory,
    BodyTimeout,
    BodyTooLarge,
    HeldBody,
    read_bounded,
)

LARGEST_BODY = 256 * 1024
"""Maximum bytes of a request's body."""
MAX_BODIES = 64 * 1024 * 1024
"""Maximum bytes of the bodies of a merchant's requests in progress, all together."""
REPLAYED = "Idempotency-Replayed"
BODY_SECONDS = 10.0
"""Seconds in which the body of a request must arrive."""
_NONE = NoFields()


P = TypeVar("P", bound=RequestModel)
Q = TypeVar("Q", bound=RequestModel)
B = TypeVar("B", bound=RequestModel)


@dataclass(frozen=True, slots=True)
class RouteCall(Generic[P, Q, B]):
    """A validated request, with the models of its path, query and body."""

    backend: Backend
    views: Views
    operations: OrderOperations
    path: P
    query: Q
    body: B
    key: ApiKeyRecord | None
    """The caller's API key; None if the route needs none."""
    claim: RequestClaim | None
    """Claim of a POST that is not queued."""
    idempotency_key: str | None = None
    """Idempotency-Key of a queued POST."""
    fingerprint: str = ""
    """Fingerprint of a queued POST: the hash of its method, path and body."""

    def destination(self, name: str | None, location: str = "") -> Destination:
        """Return the destination with a name, the default for None. `location` precedes the field of an error."""
        try:
            return self.backend.destinations.get(name)
        except UnknownDestination as error:
            raise ApiError(400, "invalid_value", f"{location}{error}", f"{location}destination") from None

    @property
    def required_claim(self) -> RequestClaim:
        """Claim of a POST."""
        assert self.claim is not None
        return self.claim

    @property
    def required_key(self) -> str:
        """Idempotency-Key of a queued POST."""
        assert self.idempotency_key is not None
        return self.idempotency_key


@dataclass(frozen=True, slots=True)
class JsonReply:
    """A JSON response."""

    value: object
    status: int = 200
    replayed: object = None
    """Value for a repeat of the request, if the first response contains a secret that must not be stored."""


@dataclass(frozen=True, slots=True)
class StreamedReply:
    """A streamed response: chunks of text with a media type and a file name."""

    chunks: Iterator[str]
    media_type: str
    name: str


AnyCall = RouteCall[Any, Any, Any]
PathCall = RouteCall[P, NoFields, NoFields]
QueryCall = RouteCall[NoFields, Q, NoFields]
BodyCall = RouteCall[NoFields, NoFields, B]
PlainCall = RouteCall[NoFields, NoFields, NoFields]


@dataclass(frozen=True, slots=True)
class TextReply:
    """A text response with a media type."""

    text: str
    media_type: str


Reply = JsonReply | StreamedReply | TextReply
RouteHandler = Callable[[AnyCall], Reply | AnyJob]
"""A handler that returns a job is called on the event loop; the queue processes the job."""


@dataclass(frozen=True, slots=True)
class RequestModels:
    """Models of a request."""

    path: type[RequestModel]
    query: type[RequestModel]
    body: type[RequestModel]

    @classmethod
    def of_handler(cls, handler: RouteHandler) -> "RequestModels":
        """Return the models that a handler's parameter names, such as `RouteCall[OrderPath, NoFields, Capture]`."""
        call, *_ = get_type_hints(handler).values()
        return cls(*get_args(call))


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path."""

    method: str
    path: str
    summary: str
    handler: RouteHandler
    answers: Mapping[int, object]
    """Types of the responses by status, or the media type of a response that is not JSON."""
    role: Role | None = Role.READER
    """Required role; None for a public route."""
    max_body: int = LARGEST_BODY
    """Maximum bytes of a request's body."""
    queued: bool = False
    """True if the handler returns a job."""
    waits: bool = True
    """False if the handler waits for nothing, so that it is called on the event loop."""
    for_shopper: bool = False
    """True if the request needs the client secret of its order, and `CheckoutHandler` answers it."""
    is_preview: bool = False
    """True for a POST that changes nothing: it requires no Idempotency-Key, and no response is stored."""
    models: RequestModels = field(init=False)
    """Models of the request, from the handler's parameter."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", RequestModels.of_handler(self.handler))

    @property
    def claims(self) -> bool:
        """True if the route requires an Idempotency-Key."""
        return self.method == "POST" and not self.for_shopper and not self.is_preview


class RequestHandler:
    """Handler of requests to the routes."""

    def __init__(
        self, backend: Backend, requests: IdempotentRequests, payments: PaymentQueue, authenticator: Authenticator
    ) -> None:
        self._backend = backend
        self._requests = requests
        self._payments = payments
        self._authenticator = authenticator
        self._views = Views(backend.destinations.labels)
        self._threads = RequestThreads()
        self._bodies = BodyMemory(MAX_BODIES)
        self._operations = OrderOperations.build(backend, self._views)

    async def answer(self, route: Route, request: Request) -> Response:
        """Return the response to a request. Library errors become error responses."""
        try:
            # Before the body, so that a stranger's is never read.
            key = None if route.role is None else await self._find_key(request, route.role)
            with self._bodies.request() as held:
                raw = await read_body(request, route.max_body, held) if route.method == "POST" else b""
                if route.queued:
                    return await self._enqueue(route, request, raw, key)
                if not route.waits:
                    return self._answer(route, request, raw, key)
                return await self._threads.run(self._answer, route, request, raw, key)
        except BodiesFull as error:
            return error_response(ApiError(503, "overloaded", str(error), Retry_After=str(error.retry_after)))
        except ApiError as error:
            return error_response(error)
        except LIBRARY_ERRORS as error:  # database errors before or after the handler
            return error_response(to_api_error(error))

    async def _find_key(self, request: Request, needed: Role) -> ApiKeyRecord:
        """Return the API key of a request. Raises `ApiError` 401 or 403."""
        find = self._authenticator.find
        is_cached = self._authenticator.is_cached(request)
        return require_role(find(request) if is_cached else await self._threads.run(find, request), needed)

    async def _enqueue(self, route: Route, request: Request, raw: bytes, key: ApiKeyRecord | None) -> Response:
        """Return the response to a queued request."""
        path = parse_fields(route.models.path, request.path_params)
        query = parse_fields(route.models.query, read_query(request))
        body, canonical = parse_body(route.models.body, raw)
        request_fingerprint = fingerprint("POST", merchant_path(request), canonical)
        call = self._call(path, query, body, key, None, _idempotency_key(request), request_fingerprint)
        job = route.handler(call)
        assert isinstance(job, PaymentJob)
        self._payments.submit(job)
        answer, replayed = await asyncio.wrap_future(job.future)
        return reply_json(answer, {REPLAYED: "true"} if replayed else None)

    def _call(self, *request: Any) -> AnyCall:
        """Return a call from its path, query, body, API key, claim, Idempotency-Key and fingerprint."""
        return RouteCall(self._backend, self._views, self._operations, *request)

    def _answer(self, route: Route, request: Request, raw: bytes, key: ApiKeyRecord | None) -> Response:
        path = parse_fields(route.models.path, request.path_params)
        query = parse_fields(route.models.query, read_query(request))
        body, canonical = parse_body(route.models.body, raw) if route.method == "POST" else (_NONE, b"")
        call = (path, query, body, key)
        if not route.claims:
            return self._response(self._execute(route, self._call(*call, None)))
        claim = self._requests.claim(_idempotency_key(request), fingerprint("POST", merchant_path(request), canonical))
        if isinstance(claim, StoredResponse):
            return reply_json(claim, {REPLAYED: "true"})
        try:
            reply = self._execute(route, self._call(*call, claim))
        except ApiError as error:
            if error.passing:
                self._requests.release(claim)
            else:
                self._requests.conclude(claim, json_response(error.status, error.body()))
            raise
        except Exception:  # the application logs it; the same request may be repeated
            self._requests.release(claim)
            raise
        assert isinstance(reply, JsonReply)
        answer = json_response(reply.status, reply.value)
        stored = answer if reply.replayed is None else json_response(reply.status, reply.replayed)
        self._requests.conclude(claim, stored)
        return reply_json(answer)

    def _execute(self, route: Route, call: AnyCall) -> Reply:
        try:
            reply = route.handler(call)
        except LIBRARY_ERRORS as error:
            raise to_api_error(error) from error
        assert not isinstance(reply, PaymentJob)
        return reply

    def _response(self, reply: Reply) -> Response:
        if isinstance(reply, JsonReply):
            return reply_json(json_response(reply.status, reply.value))
        if isinstance(reply, TextReply):
            return Response(reply.text, headers={"cache-control": "no-store"}, media_type=reply.media_type)
        named = {"content-disposition": f'attachment; filename="{reply.name}"', "cache-control": "no-store"}
        return StreamingResponse(self._threads.iterate(reply.chunks), media_type=reply.media_type, headers=named)


def require_role(record: ApiKeyRecord | None, needed: Role) -> ApiKeyRecord:
    """Return the key. Raises `ApiError` 401 without one, and 403 if its role does not satisfy the required one."""
    if record is None:
        message = f"an API key is required: Authorization: Bearer {api_keys.prefix(needed)}_..."
        raise ApiError(401, "invalid_api_key", message, "Authorization", WWW_Authenticate="Bearer")
    if not api_keys.allowed(record.role, needed):
        message = f"this request requires role {needed}, the key {record.name} has {record.role}"
        raise ApiError(403, "insufficient_role", message, "Authorization")
    return record


def json_response(status: int, value: object) -> StoredResponse:
    """Return a response with a JSON value."""
    return StoredResponse(status, orjson.dumps(value))


def error_response(error: ApiError) -> Response:
    """Return the response of an error."""
    return JSONResponse(error.body(), error.status, {"cache-control": "no-store", **error.headers})


def reply_json(answer: StoredResponse, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a JSON body, which no cache may store."""
    response_headers = {"cache-control": "no-store", **(headers or {})}
    return Response(answer.body, answer.status, response_headers, media_type="application/json")


def _idempotency_key(request: Request) -> str:
    keys = request.headers.getlist(HEADER)
    if len(keys) != 1 or not 0 < len(keys[0]) <= MAX_KEY_LENGTH or not keys[0].isprintable():
        message = f"POST requires one {HEADER} of 1 to {MAX_KEY_LENGTH} characters, unique per request"
        raise ApiError(400, "idempotency_key_missing", message, HEADER)
    return keys[0]


def merchant_path(request: Request) -> str:
    """Return the path below the merchant's: the same request under another mount has the same fingerprint."""
    return str(request.scope["path"]).removeprefix(request.scope.get("root_path", ""))


def read_query(request: Request) -> dict[str, str]:
    """Return the parameters of the query. Raises `ApiError` 400 if one occurs twice."""
    parameters: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in parameters:
            raise ApiError(400, "invalid_value", f"{name} occurs twice", name)
        parameters[name] = value
    return parameters


async def read_body(request: Request, max_size: int, held: HeldBody | None = None) -> bytes:
    """Return the body of at most `max_size` bytes, which count in `held`.

    Raises `ApiError` 413, and 400 if it does not arrive in time, and `BodiesFull`.
    """
    try:
        return await read_bounded(request, max_size, BODY_SECONDS, held)
    except BodyTooLarge:
        raise ApiError(413, "body_too_large", f"the body is larger than {max_size} bytes") from None
    except BodyTimeout:
        raise ApiError(400, "invalid_body", f"the body did not arrive within {BODY_SECONDS:g} s") from None
