"""Steps of an operation that many requests share, as the queue of the service runs them."""

from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import Connection


class GroupOperation(Protocol):
    """A kind of request. Its items are checked and stored together."""

    def check(self, items: Sequence[Any], /) -> list[Any]:
        """Return each item with what `store` needs, or the exception that rejects it. Stores nothing."""

    def store(self, tx: Connection, checked: Sequence[Any], /) -> list[Any]:
        """Store checked items in the caller's transaction. Return the outcome of each, or the exception against it.

        Raises `IntegrityError`, `ConcurrentUpdate` and `TransactionStillOpen` for a conflict with another process;
        the transaction is then undone.
        """

    def send(self, outcomes: Sequence[Any], /) -> None:
        """Send the transactions of stored items. Raises nothing of the node."""
