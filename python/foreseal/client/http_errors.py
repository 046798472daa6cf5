"""Errors for HTTP statuses without a JSON-RPC response."""

from foreseal.client.errors import ClientError, ConnectionLost, InvalidResponse

_TOO_MANY = 429
# From this status on, the server or its proxy reports its own fault, for example while it starts or stops.
_SERVER = 500
_SHOWN = 120


def error_from_status(status: int, body: bytes) -> ClientError:
    """Return the error: `ConnectionLost` if a retry may succeed, else `InvalidResponse`."""
    kind = ConnectionLost if status == _TOO_MANY or status >= _SERVER else InvalidResponse
    return kind(f"HTTP {status}: {body[:_SHOWN].decode(errors='replace').strip()}")
