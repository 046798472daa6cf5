"""The path of a shopper's request: limits, origin, client secret, publishable key, and threads of its own.

```text
address's limits -> origin -> client secret -> publishable key -> order's limits -> body -> handler
```

Everything before the handler costs no query and no thread, except the look-up of a key. Threads, limits and the
number of signatures in the queue are separate from the merchant's, so shoppers cannot use up what the merchant needs.
"""

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from foreseal.client_disconnect import unless_disconnected
from foreseal.payments.api.api_keys import KeyCache
from foreseal.payments.api.authentication import read_bearer
from foreseal.payments.api.backend import Backend
from foreseal.payments.api.checkout.client_secrets import HEADER
from foreseal.payments.api.checkout.limits import (
    ADDRESS_RATE,
    ADDRESS_SIGNATURE_RATE,
    ORDER_RATE,
    SIGNATURE_RATE,
    ShopperLimits,
    client_address,
)
from foreseal.payments.api.checkout.order_watch import OrderWatch
from foreseal.payments.api.checkout.routes import PAYMENT_PATH, WatchQuery
from foreseal.payments.api.checkout.settings import CheckoutSettings
from foreseal.payments.api.checkout.views import versions
from foreseal.payments.api.errors import LIBRARY_ERRORS, ApiError, to_api_error
from foreseal.payments.api.idempotency import fingerprint
from foreseal.payments.api.order_operations import OrderOperations
from foreseal.payments.api.payment_queue import AnyJob, PaymentJob, PaymentQueue
from foreseal.payments.api.request_models import NoFields, RequestModel, parse_body, parse_fields
from foreseal.payments.api.request_threads import RequestThreads
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import (
    JsonReply,
    Route,
    RouteCall,
    error_response,
    json_response,
    merchant_path,
    read_body,
    read_query,
    reply_json,
    require_role,
)
from foreseal.payments.api.views import Views

MAX_THREADS = 8
"""Maximum number of shoppers' requests that are executed at the same time; others wait."""
MAX_NODE_THREADS = 4
"""Maximum number of shoppers' requests that wait for the node at the same time."""
_PREFLIGHT_SECONDS = 600


class CheckoutHandler:
    """Handler of shoppers' requests."""

    def __init__(self, backend: Backend, payments: PaymentQueue, limits: ShopperLimits | None = None) -> None:
        self._backend = backend
        self._payments = payments
        self._limits = limits or ShopperLimits()
        self._keys = KeyCache(backend.database, backend.clock)
        self._threads = RequestThreads(MAX_THREADS)
        # Calls of the node wait here, so that a slow node delays no other request.
        self._node_threads = RequestThreads(MAX_NODE_THREADS)
        self._watch = OrderWatch(self._versions)
        self._views = Views(backend.destinations.labels)
        self._operations = OrderOperations.build(backend, self._views)

    def stop_waits(self) -> None:
        """End the waits of all shoppers, because the service stops."""
        self._watch.stop()

    async def answer(self, route: Route, request: Request) -> Response:
        """Return the response to a request. Library errors become error responses."""
        headers: Mapping[str, str] = {}
        try:
            settings = self._settings()
            address = self._address(settings, request)
            self._limits.charge(ADDRESS_RATE, address)
            is_foreign = _is_foreign(settings, request)
            if is_foreign:
                headers = _cors(request)
            with self._limits.request(address):
                response = await self._answer(route, request, address, is_foreign=is_foreign)
        except ApiError as error:
            response = error_response(_without_details(error))
        except LIBRARY_ERRORS as error:
            response = error_response(_without_details(to_api_error(error)))
        response.headers.update(headers)
        return response

    async def preflight(self, request: Request) -> Response:
        """Return the response to a browser that asks if a page of another origin may send a request."""
        try:
            settings = self._settings()
            self._limits.charge(ADDRESS_RATE, self._address(settings, request))
            is_foreign = _is_foreign(settings, request)
        except ApiError as error:
            return error_response(error)
        if not is_foreign:
            return Response(status_code=204)
        return Response(
            status_code=204,
            headers={
                **_cors(request),
                "access-control-allow-methods": "GET, POST",
                "access-control-allow-headers": f"authorization, content-type, {HEADER.lower()}",
                "access-control-max-age": str(_PREFLIGHT_SECONDS),
            },
        )

    async def _answer(self, route: Route, request: Request, address: str, *, is_foreign: bool) -> Response:
        settings = self._settings()
        path = parse_fields(route.models.path, request.path_params)
        id: str = path.id  # type: ignore[attr-defined]  # every shopper's path has the order's
        if not settings.secrets.matches(id, request.headers.get(HEADER, "")):
            message = "no order has this id and client secret"
            raise ApiError(404, "not_found", message, HEADER)
        await self._check_key(request, is_foreign=is_foreign)
        self._limits.charge(ORDER_RATE, id)
        query = parse_fields(route.models.query, read_query(request))
        if route.queued:
            self._limits.charge(ADDRESS_SIGNATURE_RATE, address)
            self._limits.charge(SIGNATURE_RATE, id)
            return await self._authorize(route, request, path)
        if isinstance(query, WatchQuery) and query.version is not None and query.wait_seconds:
            # A page that was closed or reloaded must not count until the end of its wait.
            with self._limits.wait(id, address):
                wait = self._watch.wait(id, query.version, query.wait_seconds)
                if await unless_disconnected(wait, request.receive) is None:
                    return Response(status_code=204)
        call = self._call(path, query, NoFields())
        if not route.path.endswith(PAYMENT_PATH):
            return _response(await self._threads.run(route.handler, call))
        with self._limits.node_call(address):
            return _response(await self._node_threads.run(route.handler, call))

    async def _authorize(self, route: Route, request: Request, path: RequestModel) -> Response:
        raw = await read_body(request, route.max_body)
        body, canonical = parse_body(route.models.body, raw)
        with self._limits.signature():
            call = self._call(path, NoFields(), body, fingerprint("POST", merchant_path(request), canonical))
            outcome = await self._node_threads.run(route.handler, call)
            if not isinstance(outcome, PaymentJob):
                return _response(outcome)
            if outcome.wallet is None:
                return await self._store(outcome)
        with self._limits.wallet_signature(outcome.wallet):
            return await self._store(outcome)

    async def _store(self, job: AnyJob) -> Response:
        self._payments.submit(job)
        answer, _ = await asyncio.wrap_future(job.future)
        return reply_json(answer)

    def _call(
        self, path: RequestModel, query: RequestModel, body: RequestModel, digest: str = ""
    ) -> RouteCall[Any, Any, Any]:
        key = self._settings().secrets.request_key(path.id, digest)  # type: ignore[attr-defined]
        return RouteCall(self._backend, self._views, self._operations, path, query, body, None, None, key, digest)

    async def _check_key(self, request: Request, *, is_foreign: bool) -> None:
        """Check the API key, which pages of other origins must send. Raises `ApiError` unless it is publishable."""
        text = read_bearer(request)
        if "authorization" not in request.headers and not is_foreign:
            return
        record = self._keys.find(text) if self._keys.has(text) else await self._threads.run(self._keys.find, text)
        require_role(record, Role.PUBLISHABLE)

    def _settings(self) -> CheckoutSettings:
        if self._backend.checkout is None:
            message = "the configuration has no section [checkout]"
            raise ApiError(404, "checkout_disabled", message)
        return self._backend.checkout

    @staticmethod
    def _address(settings: CheckoutSettings, request: Request) -> str:
        peer = "" if request.client is None else request.client.host
        return client_address(peer, request.headers.getlist("x-forwarded-for"), settings.section.trusted_proxies)

    async def _versions(self, ids: Sequence[str]) -> Mapping[str, str]:
        return await self._threads.run(self._read_versions, ids)

    def _read_versions(self, ids: Sequence[str]) -> Mapping[str, str]:
        with self._backend.database.reading() as tx:
            return versions(tx, ids)


def shopper_preflights(handler: CheckoutHandler, routes: Sequence[Route]) -> list[StarletteRoute]:
    """Return the routes of preflight requests (CORS)."""
    return [StarletteRoute(route.path, handler.preflight, methods=["OPTIONS"]) for route in routes]


def _without_details(error: ApiError) -> ApiError:
    """Return an error for shoppers: a failure of the service names no address of its parts."""
    if error.status < HTTPStatus.INTERNAL_SERVER_ERROR or error.code == "overloaded":
        return error
    headers = {name.replace("-", "_"): value for name, value in error.headers.items()}
    return ApiError(error.status, error.code, "the payment cannot be processed now: try again", None, **headers)


def _is_foreign(settings: CheckoutSettings, request: Request) -> bool:
    """Return True for a page of a configured origin other than the service's. Raises `ApiError` 403 for any other."""
    origin = request.headers.get("origin")
    if origin is None or origin == settings.section.public_origin:
        return False
    if origin not in settings.section.origins:
        message = "pages of this origin may not call the checkout: add it to origins of [checkout]"
        raise ApiError(403, "origin_not_allowed", message, "Origin")
    return True


def _cors(request: Request) -> Mapping[str, str]:
    return {
        "access-control-allow-origin": request.headers["origin"],
        "access-control-expose-headers": "retry-after",
        "vary": "origin",
    }


def _response(reply: object) -> Response:
    assert isinstance(reply, JsonReply), "shoppers get JSON"
    return reply_json(json_response(reply.status, reply.value))
