"""What a status of HTTP means that comes without an answer of JSON-RPC."""

from foreseal.client.errors import ClientError, ConnectionLost, NotUnderstood

_TOO_MANY = 429
# From here on the server or the proxy before it says that the fault is its own, as while it starts or stops.
_SERVER = 500
_SHOWN = 120


def refusal(status: int, body: bytes) -> ClientError:
    """The error for it: `ConnectionLost` where it may be otherwise the next time, else `NotUnderstood`."""
    kind = ConnectionLost if status == _TOO_MANY or status >= _SERVER else NotUnderstood
    return kind(f"HTTP {status}: {body[:_SHOWN].decode(errors='replace').strip()}")
