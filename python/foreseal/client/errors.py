"""Errors between a client and a node.

RpcError                the node returned an error object (`foreseal.errors`)
ClientError
├── ConnectionLost      no server responded, or the connection broke before the response
├── TimedOut            no response or no receipt before the deadline; also a `TimeoutError`
├── InvalidResponse     an invalid JSON-RPC response, or one that lacks a required field
└── FeedError           a feed that cannot continue on its own
    ├── CursorGone      the node no longer stores the cursor; `oldest` is its oldest cursor
    └── FeedBroken      a step does not follow the one before it
"""

from foreseal.client.cursor import Cursor
from foreseal.errors import RpcError

__all__ = [
    "ClientError",
    "ConnectionLost",
    "CursorGone",
    "FeedBroken",
    "FeedError",
    "InvalidResponse",
    "RpcError",
    "TimedOut",
]


class ClientError(Exception):
    """A call or a feed failed without a usable response."""


class ConnectionLost(ClientError):
    """No server responded, or the connection broke; the call may or may not have been executed."""


class TimedOut(ClientError, TimeoutError):
    """The deadline passed; the call may or may not have been executed."""


class InvalidResponse(ClientError):
    """The response is not valid for the method: another server, a proxy's page, or malformed data."""


class FeedError(ClientError):
    """A feed cannot continue. Its `cursor` is still the cursor of the last event."""


class CursorGone(FeedError):
    """The node no longer stores the cursor, so the steps after it are unavailable.

    `oldest` is the oldest cursor that the node can resume from, or None if the node did not report it. Read the state
    at that step again and continue with this cursor.
    """

    def __init__(self, message: str, oldest: Cursor | None) -> None:
        super().__init__(message)
        self.oldest = oldest


class FeedBroken(FeedError):
    """The `parent` of a step is not the step before, or a removed step is not the newest.

    Steps were skipped, repeated or reordered between the node and this process. The feed does not continue past the
    gap.
    """
