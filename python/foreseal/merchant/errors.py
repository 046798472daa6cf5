"""Errors of the merchant's clients.

```text
MerchantError
├── NoServiceResponse           no response: the outcome of a POST is unknown; repeat it with the same key
├── InvalidServiceResponse      a response that is not from this API
└── RequestFailed               an error response: status, code, argument, reason
    ├── InvalidRequest          400, 413    a field, parameter or header is invalid
    ├── AccessDenied            401, 403    the API key is unknown, or its role does not suffice
    ├── ResourceNotFound        404
    ├── StateConflict           409         not possible in this state, or in progress
    ├── RequestUnprocessable    422         wrong signature, or the key was used for another request
    └── ServiceUnavailable      5xx         temporary: repeat it with the same key
```
"""

from collections.abc import Mapping
from typing import Any


class MerchantError(Exception):
    """Base class of the errors."""

    def __init__(self, message: str, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        """Description for people."""
        self.idempotency_key = idempotency_key
        """Idempotency-Key of the POST; None for a GET."""


class NoServiceResponse(MerchantError):
    """The service did not respond. The outcome of a POST is unknown until it is repeated with the same key."""


class InvalidServiceResponse(MerchantError):
    """The response is not from this API, for example from a proxy."""


class RequestFailed(MerchantError):
    """An error response."""

    def __init__(self, status: int, body: Mapping[str, Any], idempotency_key: str | None = None) -> None:
        super().__init__(str(body["message"]), idempotency_key)
        self.status = status
        """HTTP status."""
        self.code = str(body["code"])
        """Code of the error, such as `not_capturable`."""
        self.argument: str | None = body.get("argument")
        """The field, parameter or header at fault."""
        self.reason: str | None = body.get("reason")
        """Obstacle to a capture, as a code."""

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


class InvalidRequest(RequestFailed):
    """A field, a parameter or a header is invalid; `argument` names it."""


class AccessDenied(RequestFailed):
    """The API key is unknown or revoked, or its role does not permit the request."""


class ResourceNotFound(RequestFailed):
    """No resource has this id."""


class StateConflict(RequestFailed):
    """Not possible in this state, or the same request is in progress."""


class RequestUnprocessable(RequestFailed):
    """The signature is not the payer's, or the Idempotency-Key was used for another request."""


class ServiceUnavailable(RequestFailed):
    """The service, its node or its database does not respond. Repeat the request with the same key."""


_BY_STATUS = {
    400: InvalidRequest,
    401: AccessDenied,
    403: AccessDenied,
    404: ResourceNotFound,
    409: StateConflict,
    413: InvalidRequest,
    422: RequestUnprocessable,
}


def response_error(status: int, body: object, idempotency_key: str | None) -> MerchantError:
    """Return the exception for a response that is not a success; `body` is its JSON, or None if it has none."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and {"code", "message"} <= error.keys():
        kind = ServiceUnavailable if status >= 500 else _BY_STATUS.get(status, RequestFailed)
        return kind(status, error, idempotency_key)
    if status in (502, 503, 504):  # from a proxy
        message = "the response has no error of this API"
        return ServiceUnavailable(status, {"code": "unavailable", "message": message}, idempotency_key)
    return InvalidServiceResponse(f"status {status} without an error of this API", idempotency_key)
