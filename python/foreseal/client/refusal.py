"""What a status of HTTP means that comes without an answer of JSON-RPC."""

from foreseal.client.errors import ClientError, ConnectionLost, NotUnderstood

# What a server or the proxy before it answers while it cannot take the call.
_UNAVAILABLE = frozenset({429, 502, 503, 504})
_SHOWN = 120


def refusal(status: int, body: bytes) -> ClientError:
    """The error for it: `ConnectionLost` where it may be otherwise the next time, else `NotUnderstood`."""
    kind = ConnectionLost if status in _UNAVAILABLE else NotUnderstood
    return kind(f"HTTP {status}: {body[:_SHOWN].decode(errors='replace').strip()}")
