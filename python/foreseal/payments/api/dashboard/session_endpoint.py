"""`/dashboard/api/session`: sign in, the current session, sign out."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from foreseal.client_network import client_network, parse_client_address
from foreseal.payments.api import api_keys
from foreseal.payments.api.authentication import Authenticator
from foreseal.payments.api.backend import Backend
from foreseal.payments.api.errors import LIBRARY_ERRORS, ApiError, to_api_error
from foreseal.payments.api.request_models import RequestModel, parse_body
from foreseal.payments.api.request_rates import RequestRate, RequestRates
from foreseal.payments.api.request_threads import RequestThreads
from foreseal.payments.api.roles import Role
from foreseal.payments.api.route import Route, error_response, read_body, require_role
from foreseal.payments.api.sessions import OpenSession, Sessions
from foreseal.payments.api.value_types import ShortText

PATH = "/dashboard/api/session"

WRONG_KEY_RATE = RequestRate("wrong key", 6.0, 10)
"""Sign-ins of one address with a wrong API key."""
_MAX_BODY = 1_024
_JSON = "application/json"


class SignIn(RequestModel):
    """A sign-in."""

    key: ShortText


def permissions(role: Role, routes: Sequence[Route]) -> list[str]:
    """Return the requests that a role may send, such as `POST /v1/orders/{id}/capture`."""
    return [
        f"{route.method} {route.path}" for route in routes if route.role is None or api_keys.allowed(role, route.role)
    ]


@dataclass(frozen=True, slots=True)
class SessionEndpoint:
    """Handler of the requests."""

    backend: Backend
    authenticator: Authenticator
    sessions: Sessions
    routes: Sequence[Route]
    rates: RequestRates
    threads: RequestThreads

    @classmethod
    def build(
        cls, backend: Backend, authenticator: Authenticator, sessions: Sessions, routes: Sequence[Route]
    ) -> StarletteRoute:
        """Return the route."""
        endpoint = cls(
            backend, authenticator, sessions, routes, RequestRates(backend.monotonic), RequestThreads(maximum=4)
        )
        handler: Callable[[Request], Awaitable[Response]] = endpoint.answer
        return StarletteRoute(PATH, handler, methods=["GET", "POST", "DELETE"])

    async def answer(self, request: Request) -> Response:
        """Return the response to a request."""
        try:
            if request.method == "POST":
                # Without this check, another page could sign a browser in with a key of its own.
                self.authenticator.cookie.check_origin(request)
                body = await read_body(request, _MAX_BODY)
                return await self.threads.run(self._sign_in, request, body)
            if request.method == "DELETE":
                return await self.threads.run(self._sign_out, request)
            return await self.threads.run(self._current, request)
        except ApiError as error:
            return error_response(error)
        except LIBRARY_ERRORS as error:
            return error_response(to_api_error(error))

    def _sign_in(self, request: Request, body: bytes) -> Response:
        cookie, address = self.authenticator.cookie, "" if request.client is None else request.client.host
        if request.headers.get("content-type", "").partition(";")[0].strip() != _JSON:
            raise ApiError(400, "invalid_body", f"the body must be {_JSON}", "Content-Type")
        given, _ = parse_body(SignIn, body)
        key = self.authenticator.keys.find(given.key.strip())
        if key is None:
            # Only wrong keys are limited: an address may be that of a proxy, and a valid key is too long to be guessed.
            wait = self.rates.charge(WRONG_KEY_RATE, client_network(parse_client_address(address)))
            if wait:
                message = f"too many wrong API keys: try again in {wait} s"
                raise ApiError(429, "too_many_attempts", message, "key", Retry_After=str(wait))
            raise ApiError(401, "invalid_api_key", "the API key is unknown or revoked", "key")
        # A publishable key is public, and reads nothing but the order of its shopper.
        require_role(key, Role.READER)
        before = cookie.id(request)
        if before:
            self.sessions.close(before)
        session = self.sessions.open(key)
        is_over_tls = request.headers.get("origin", "").startswith("https://")
        return _json(self._view(session), {"set-cookie": cookie.set(session.id, is_over_tls=is_over_tls)})

    def _current(self, request: Request) -> Response:
        session = self.authenticator.find_session(request)
        return _json(None if session is None else self._view(session))

    def _sign_out(self, request: Request) -> Response:
        session = self.authenticator.find_session(request)
        if session is not None:
            self.sessions.close(session.id)
        # The site data includes cached pages of the session.
        return _json(None, {"set-cookie": self.authenticator.cookie.set(""), "clear-site-data": '"cache"'})

    def _view(self, session: OpenSession) -> dict[str, object]:
        configuration, limits = self.backend.configuration, self.sessions.limits
        return {
            "key": {"id": session.key.id, "name": session.key.name, "role": session.key.role},
            "csrf_token": session.csrf_token,
            "expires": session.created + limits.lifetime,
            "idle_seconds": limits.idle,
            "margin_seconds": configuration.policy.margin_seconds,
            "permissions": permissions(session.key.role, self.routes),
            "merchant": None if configuration.merchant is None else configuration.merchant.name,
            "chain_id": self.backend.chain_id,
            "explorer_url": configuration.dashboard.explorer_url,
            "destinations": [
                {
                    "name": each.label.name,
                    "symbol": each.label.token.symbol,
                    "decimals": each.label.token.decimals,
                    "pays_out": each.payouts_contract is not None,
                }
                for each in self.backend.destinations
            ],
        }


def _json(value: object, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), 200, {"cache-control": "no-store", **(headers or {})}, media_type=_JSON)
