"""Steps of an operation that many requests share, as the queue of the service runs them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class DeferredCheck:
    """Check of an item whose payer is a wallet: its code decides how long the check takes."""

    payer: str
    run: Callable[[], Any]
    """Returns the result of the check."""


def convert_result(result: Any, convert: Callable[[Any], Any]) -> Any:
    """Return the converted result of a check. That of a deferred check is converted once it has run."""
    if isinstance(result, DeferredCheck):
        return DeferredCheck(result.payer, lambda: convert(result.run()))
    return convert(result)


def run_deferred(results: Sequence[Any]) -> list[Any]:
    """Return results of checks, after running the deferred ones."""
    return [result.run() if isinstance(result, DeferredCheck) else result for result in results]


class GroupOperation(Protocol):
    """A kind of request. Its items are checked and stored together."""

    def check(self, items: Sequence[Any], /) -> list[Any]:
        """Return each item with what `store` needs, or the exception that rejects it. Stores nothing.

        An item whose payer is a wallet has a `DeferredCheck` instead, so that no other item waits for the wallet.
        """

    def store(self, tx: Connection, checked: Sequence[Any], /) -> list[Any]:
        """Store checked items in the caller's transaction. Return the outcome of each, or the exception against it.

        Raises `IntegrityError`, `ConcurrentUpdate` and `TransactionStillOpen` for a conflict with another process;
        the transaction is then undone.
        """

    def send(self, outcomes: Sequence[Any], /) -> None:
        """Send the transactions of stored items. Raises nothing of the node."""
