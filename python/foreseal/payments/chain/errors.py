"""Errors between the ledger and a node.

```text
ChainError
├── NoResponse        no answer: the call may or may not have been executed
│   ├── NodeUnavailable   not sent: the node did not answer several calls in a row
│   └── TooManyCalls      not sent: too many calls of strangers' code at the same time
├── CodeTimeout       the code of a stranger's account exceeded the time limit of a call
├── RejectedByNode    the node answered with an error
│   ├── NonceTooLow           the account nonce is used
│   ├── Underpriced           the fee is too low to replace the transaction with the same account nonce
│   ├── InvalidTransaction    the rules exclude the transaction: its size, gas or type
│   └── TemporaryRejection    the account lacks ether, the fee is too low, or the node has no room
├── Reverted          the call would revert; `reason` is its text
├── Incomplete        the node's answer lacks a required field
├── ChainReorganized  the chain was reorganized while it was read
└── FinalityBroken    a final transfer is no longer on the chain
```
"""

from foreseal.client.errors import ClientError, ConnectionLost


class ChainError(Exception):
    """Base class. Unless a subclass states otherwise, the request had no effect and returned nothing."""


class NoResponse(ChainError):
    """The connection broke or the request timed out. The node may or may not have executed the call."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds until the node is called again."""


class NodeUnavailable(NoResponse):
    """The call was not sent, because the node did not answer several calls in a row."""


class TooManyCalls(NoResponse):
    """The call was not sent, because too many calls of strangers' code are in progress."""


class CodeTimeout(ChainError):
    """The code of a stranger's account exceeded the time limit of a call. This is no fault of the node."""


class RejectedByNode(ChainError):
    """The node answered with an error object."""


class NonceTooLow(RejectedByNode):
    """A transaction on the chain, possibly this one, already used the account nonce."""


class Underpriced(RejectedByNode):
    """A replacement must pay at least 10 % more than the transaction in the pool."""


class InvalidTransaction(RejectedByNode):
    """The rules exclude the transaction by its size, gas or type. The same bytes never pass."""


class TemporaryRejection(RejectedByNode):
    """Lack of ether, a fee too low, a node without room, or a wrong node. The same bytes may pass later."""


class Reverted(ChainError):
    """A call or a gas estimate that reverts."""

    def __init__(self, reason: str, data: bytes) -> None:
        super().__init__(reason, data)
        self.reason = reason
        """Revert text of Error(string), or else the node's error message."""
        self.data = data

    def __str__(self) -> str:
        return f"reverts: {self.reason}"


class Incomplete(ChainError):
    """A block or a field is missing that every node must return."""


class ChainReorganized(ChainError):
    """The answers belong to different chains; retry the operation."""


class FinalityBroken(ChainError):
    """A transfer from a final block vanished. Processing stops until an operator has checked the node."""


class CircuitOpen(ConnectionLost):
    """Error of a client behind a circuit breaker: the call was not sent. `RpcNode` raises `NodeUnavailable` for it."""

    def __init__(self, cause: str, retry_after: float) -> None:
        super().__init__(f"not sent, because the node did not answer recently: {cause}")
        self.retry_after = retry_after
        """Seconds until the node is called again."""


class SlowCode(ClientError):
    """Error of a client for strangers' calls: the time limit passed. `RpcNode` raises `CodeTimeout` for it."""


class NoFreeCall(ClientError):
    """Error of a client for strangers' calls: the call was not sent. `RpcNode` raises `TooManyCalls` for it."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds after which a retry may succeed."""
