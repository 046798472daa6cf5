"""What can go wrong between a client and a node.

RpcError                the node answered with an error object (`foreseal.errors`)
ClientError
├── ConnectionLost      nobody answered, or the connection broke before the answer was there
├── TimedOut            no answer, no receipt within the time given; also a `TimeoutError`
├── NotUnderstood       something answered that is no JSON-RPC answer, or lacks what it must have
└── FeedError           a feed that cannot go on by itself
    ├── CursorGone      the node no longer keeps the place to resume from; `oldest` is what it has
    └── FeedBroken      a step does not follow the one before it
"""

from foreseal.client.place import Place
from foreseal.errors import RpcError

__all__ = [
    "ClientError",
    "ConnectionLost",
    "CursorGone",
    "FeedBroken",
    "FeedError",
    "NotUnderstood",
    "RpcError",
    "TimedOut",
]


class ClientError(Exception):
    """A call or a feed failed without an answer that could be used."""


class ConnectionLost(ClientError):
    """Nobody answered, or the connection broke: whether the call was executed is not known."""


class TimedOut(ClientError, TimeoutError):
    """The time given was over first: whether the call was executed is not known."""


class NotUnderstood(ClientError):
    """What came back is not what the method answers: another server, a proxy's page, or a broken answer."""


class FeedError(ClientError):
    """A feed cannot go on. Its `place` still is that of the last event."""


class CursorGone(FeedError):
    """The place is no longer kept, so what followed it cannot be told.

    `oldest` is the oldest place that the node can resume from, or None where it did not say: read the state as of
    there anew and begin with it as the cursor.
    """

    def __init__(self, message: str, oldest: Place | None) -> None:
        super().__init__(message)
        self.oldest = oldest


class FeedBroken(FeedError):
    """A step came whose `parent` is not the step before, or one was undone that is not the newest.

    Something was skipped, repeated or mixed up between the node and this process. The feed does not go on over it.
    """
