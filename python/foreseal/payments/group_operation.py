"""Steps of an operation that many requests share, as the queue of the service runs them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from sqlalchemy import Connection

Item = TypeVar("Item", contravariant=True)
Checked = TypeVar("Checked")
Outcome = TypeVar("Outcome")
_Found = TypeVar("_Found", covariant=True)
_Converted = TypeVar("_Converted")


@dataclass(frozen=True, slots=True)
class DeferredCheck(Generic[_Found]):
    """Check of an item whose payer is a wallet: its code decides how long the check takes."""

    payer: str
    run: Callable[[], _Found | Exception]
    """Returns the result of the check."""


ItemResult: TypeAlias = Checked | Exception | DeferredCheck[Checked]
"""A checked item, the exception that rejects it, or its check if its payer is a wallet."""


def convert_result(
    result: ItemResult[Checked], convert: Callable[[Checked | Exception], _Converted | Exception]
) -> ItemResult[_Converted]:
    """Return the converted result of a check. That of a deferred check is converted once it has run."""
    if isinstance(result, DeferredCheck):
        return DeferredCheck(result.payer, lambda: convert(result.run()))
    return convert(result)


def run_deferred(results: Sequence[ItemResult[Checked]]) -> list[Checked | Exception]:
    """Return results of checks, after running the deferred ones."""
    return [result.run() if isinstance(result, DeferredCheck) else result for result in results]


class GroupOperation(Protocol[Item, Checked, Outcome]):
    """A kind of request. Its items are checked and stored together."""

    def check(self, items: Sequence[Item], /) -> Sequence[ItemResult[Checked]]:
        """Return each item with what `store` needs, or the exception that rejects it. Stores nothing.

        An item whose payer is a wallet has a `DeferredCheck` instead, so that no other item waits for the wallet.
        """

    def store(self, tx: Connection, checked: Sequence[Checked], /) -> Sequence[Outcome | Exception]:
        """Store checked items in the caller's transaction. Return the outcome of each, or the exception against it.

        Raises `IntegrityError`, `ConcurrentUpdate` and `TransactionStillOpen` for a conflict with another process;
        the transaction is then undone.
        """

    def send(self, outcomes: Sequence[Outcome], /) -> None:
        """Send the transactions of stored items. Raises nothing of the node."""
