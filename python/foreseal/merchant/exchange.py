"""Requests and responses of both clients, without sockets."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from urllib.parse import quote

import httpx

from foreseal.merchant.errors import InvalidServiceResponse, response_error

T = TypeVar("T")

# httpx closes each idle connection while more than `max_keepalive_connections`, 20 by default, exist.
LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=100)
"""Connections of a client."""


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A request to the service."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None
    idempotency_key: str | None
    """Key of a POST."""
    accepts_503: bool = False
    """True if a response with the status 503 is a result."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of httpx."""
        headers = {} if self.idempotency_key is None else {"idempotency-key": self.idempotency_key}
        arguments: dict[str, Any] = {"method": self.method, "url": self.path, "params": self.query, "headers": headers}
        return arguments if self.body is None else {**arguments, "json": self.body}

    def is_result(self, response: httpx.Response) -> bool:
        """Return True if a response contains a result."""
        return response.is_success or (self.accepts_503 and response.status_code == 503)


def get_request(path: str, query: Mapping[str, Any], *, accepts_503: bool = False) -> ServiceRequest:
    """Return a GET request without the parameters that are None."""
    return ServiceRequest("GET", path, _present(query), None, None, accepts_503)


def post_request(path: str, body: Mapping[str, Any], idempotency_key: str | None) -> ServiceRequest:
    """Return a POST request without the fields that are None, with a new random key by default."""
    if idempotency_key is not None and not (
        1 <= len(idempotency_key) <= 255 and idempotency_key.isascii() and idempotency_key.isprintable()
    ):
        raise ValueError(f"idempotency_key must have 1 to 255 printable ASCII characters, got {idempotency_key!r}")
    return ServiceRequest("POST", path, {}, _present(body), idempotency_key or str(uuid.uuid4()))


def parse(kind: type[T], request: ServiceRequest, response: httpx.Response) -> T:
    """Return the result in a response. Raises `MerchantError` for any other response."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not request.is_result(response):
        raise response_error(response.status_code, body, request.idempotency_key)
    required: frozenset[str] = getattr(kind, "__required_keys__")  # noqa: B009 - absent from `type`
    if not isinstance(body, dict) or not required <= body.keys():
        if response.status_code == 503:
            raise response_error(503, body, request.idempotency_key)
        message = f"the response to {request.method} {request.path} is not a {kind.__name__}"
        raise InvalidServiceResponse(message, request.idempotency_key)
    return cast(T, body)


def segment(value: str | int) -> str:
    """Return a value as a segment of a path. Raises ValueError if no path can contain it."""
    text = str(value)
    if text in ("", ".", "..") or "/" in text:
        raise ValueError(f"{text!r} must be an id without '/'")
    return quote(text, safe="")


def check_url(url: str) -> str:
    """Return the URL of a service without a trailing slash. Raises ValueError for another kind of URL."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ValueError(f"url: {url!r} is not a URL") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"url: {url!r} must begin with http:// or https:// and name a host")
    return url.rstrip("/")


def request_headers(api_key: str) -> dict[str, str]:
    """Return the headers of every request. Raises ValueError for text that is not a key."""
    if not api_key or not api_key.isascii() or not api_key.isprintable() or " " in api_key:
        raise ValueError("api_key must be a key that `foreseal pay keys create` printed")
    return {"authorization": f"Bearer {api_key}", "accept": "application/json, text/csv"}


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
