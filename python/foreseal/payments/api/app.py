"""The ASGI application: routes, and errors in one format."""

import logging
import time
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from foreseal.payments.api.api_keys import KeyCache
from foreseal.payments.api.authentication import Authenticator, SessionCookie
from foreseal.payments.api.backend import Backend
from foreseal.payments.api.checkout.handler import CheckoutHandler, shopper_preflights
from foreseal.payments.api.checkout.routes import shopper_routes
from foreseal.payments.api.checkout.site import checkout_site
from foreseal.payments.api.dashboard.session_endpoint import SessionEndpoint
from foreseal.payments.api.dashboard.site import dashboard_site
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.idempotency import IdempotentRequests
from foreseal.payments.api.openapi import document
from foreseal.payments.api.pages import page_routes
from foreseal.payments.api.payment_queue import PaymentQueue
from foreseal.payments.api.reference.endpoint import reference_route
from foreseal.payments.api.route import RequestHandler, Route, error_response
from foreseal.payments.api.routes import ROUTES
from foreseal.payments.api.routes.service import Monitoring, general_routes
from foreseal.payments.api.sessions import SessionLimits, Sessions

log = logging.getLogger(__name__)

Changed = Callable[[], None]


def build_application(
    backend: Backend, requests: IdempotentRequests, payments: PaymentQueue, monitoring: Monitoring, changed: Changed
) -> Starlette:
    """Return the merchant's HTTP service. `changed` is called after a request that may have changed state.

    `state.stop_waits` of the application ends waiting requests, before its listener stops.
    """
    configuration = backend.configuration.dashboard
    limits = SessionLimits(configuration.idle_minutes * 60, configuration.session_hours * 3_600)
    sessions = Sessions(backend.database, backend.clock, limits) if configuration.enabled else None
    merchant = None if backend.configuration.merchant is None else backend.configuration.merchant.name
    cookie = SessionCookie(configuration.public_url, merchant)
    authenticator = Authenticator(KeyCache(backend.database, backend.clock), sessions, cookie)
    handler = RequestHandler(backend, requests, payments, authenticator)
    checkout = CheckoutHandler(backend, payments)
    for_shoppers = shopper_routes(monitoring.health)
    routes = (*ROUTES, *general_routes(monitoring, (*ROUTES, *for_shoppers)))
    dashboard = (
        [SessionEndpoint.build(backend, authenticator, sessions, routes), *page_routes(dashboard_site(merchant))]
        if sessions
        else []
    )
    application = Starlette(
        routes=[
            *(_endpoint(handler, route, monitoring, changed) for route in routes),
            *(_endpoint(checkout, route, monitoring, changed) for route in for_shoppers),
            *shopper_preflights(checkout, for_shoppers),
            *([] if backend.checkout is None else page_routes(checkout_site())),
            reference_route(lambda: document((*routes, *for_shoppers))),
            *dashboard,
        ],
        exception_handlers={HTTPException: unknown_path, Exception: _failed},
    )
    application.state.stop_waits = checkout.stop_waits
    return application


def _endpoint(
    handler: RequestHandler | CheckoutHandler, route: Route, monitoring: Monitoring, changed: Changed
) -> StarletteRoute:
    async def answer(request: Request) -> Response:
        began = time.perf_counter()
        response: Response | None = None
        try:
            response = await handler.answer(route, request)
        finally:
            seconds = time.perf_counter() - began
            status = 500 if response is None else response.status_code
            monitoring.observe(route.method, route.path, status, seconds)
            if monitoring.trace is not None:
                monitoring.trace(route, request, response, seconds)
        if route.claims and not route.queued:  # the queue calls it after a group
            changed()
        return response

    endpoint: Callable[[Request], Awaitable[Response]] = answer
    return StarletteRoute(route.path, endpoint, methods=[route.method])


def unknown_path(request: Request, error: Exception) -> Response:
    """Return the response to a request for a path or method that does not exist."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        message = f"{request.url.path} does not support {request.method}"
        return error_response(ApiError(405, "method_not_allowed", message, Allow=allowed))
    return error_response(ApiError(error.status_code, "no_such_path", f"{request.url.path} does not exist"))


def _failed(request: Request, error: Exception) -> Response:
    log.error("request failed", extra={"path": request.url.path}, exc_info=error)
    return error_response(ApiError(500, "internal", "internal error; retry the same request"))
