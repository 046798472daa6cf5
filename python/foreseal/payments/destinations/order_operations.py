"""Requests about stored orders of any destination: each is processed by the components of its order's destination."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from sqlalchemy import Connection

from foreseal.payments.destinations.destination import Destination
from foreseal.payments.destinations.errors import DestinationNotConfigured
from foreseal.payments.destinations.lookup import DestinationLookup
from foreseal.payments.destinations.registry import Destinations
from foreseal.payments.group_operation import GroupOperation, ItemResult, convert_result
from foreseal.payments.ledger import Database, UnknownRecord, read_all, unknown_record
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.transactions import SendingError, TransactionStillOpen


class OrderSubject(Protocol):
    """A request about an order, or its outcome."""

    @property
    def id(self) -> str:
        """Id of the order."""


Item = TypeVar("Item", bound=OrderSubject)
Checked = TypeVar("Checked")
Outcome = TypeVar("Outcome", bound=OrderSubject)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class AtDestination(Generic[_Value]):
    """A checked item, or an outcome, with the destination of its order."""

    destination: Destination
    value: _Value


class OrderOperation(Generic[Item, Checked, Outcome]):
    """An operation on stored orders of all destinations."""

    def __init__(
        self,
        database: Database,
        destinations: Destinations,
        select: Callable[[Destination], GroupOperation[Item, Checked, Outcome]],
    ) -> None:
        """Set up. `select` returns the operation of one destination."""
        self._database = database
        self._destinations = destinations
        self._select = select

    def check(self, requests: Sequence[Item]) -> list[ItemResult[AtDestination[Checked]]]:
        """Return each checked request as `AtDestination`, or the exception that rejects it.

        A request whose payer is a wallet has a `DeferredCheck` instead.
        """
        results: dict[int, ItemResult[AtDestination[Checked]]] = {}
        destinations: dict[int, Destination] = {}
        with self._database.reading() as tx:
            lookup = DestinationLookup(self._destinations, tx)
            rows = {row.id: row for row in read_all(tx, OrderRecord, [each.id for each in requests])}
            for position, request in enumerate(requests):
                try:
                    destinations[position] = lookup.order(_require(rows.get(request.id), request.id))
                except (UnknownRecord, DestinationNotConfigured) as error:
                    results[position] = error
        for destination, positions in _by_destination(destinations):
            checked = self._select(destination).check([requests[position] for position in positions])
            for position, value in zip(positions, checked, strict=True):
                results[position] = convert_result(value, partial(_at, destination))
        return [results[position] for position in range(len(requests))]

    def store(
        self, tx: Connection, checked: Sequence[AtDestination[Checked]]
    ) -> list[AtDestination[Outcome] | Exception]:
        """Store checked requests. Return each outcome as `AtDestination`, or the exception against it.

        If one key cannot sign, only the requests to it have that error. Raises like `GroupOperation.store`.
        """
        results: dict[int, AtDestination[Outcome] | Exception] = {}
        for destination, positions in _by_destination(
            {number: each.destination for number, each in enumerate(checked)}
        ):
            try:
                with tx.begin_nested():
                    values = self._select(destination).store(tx, [checked[position].value for position in positions])
            except TransactionStillOpen:  # a conflict of one order, not of the key
                raise
            except SendingError as error:
                results.update(dict.fromkeys(positions, error))
                continue
            for position, value in zip(positions, values, strict=True):
                results[position] = _at(destination, value)
        return [results[position] for position in range(len(checked))]

    def send(self, outcomes: Sequence[AtDestination[Outcome]]) -> None:
        """Send the transactions of stored requests. Raises nothing of the node."""
        for destination, positions in _by_destination(
            {number: each.destination for number, each in enumerate(outcomes)}
        ):
            self._select(destination).send([outcomes[position].value for position in positions])


def _at(destination: Destination, value: _Value | Exception) -> AtDestination[_Value] | Exception:
    """Return a value with its destination, and an exception unchanged."""
    return value if isinstance(value, Exception) else AtDestination(destination, value)


def _require(row: OrderRecord | None, id: str) -> OrderRecord:
    if row is None:
        raise unknown_record(OrderRecord, id)
    return row


def _by_destination(destinations: dict[int, Destination]) -> Iterator[tuple[Destination, list[int]]]:
    """Yield each destination with its positions, sorted by account: all processes lock accounts in the same order."""
    positions: dict[tuple[str, str], tuple[Destination, list[int]]] = {}
    for position, destination in destinations.items():
        merchant = destination.merchant
        key = (merchant.payee, merchant.domain.contract)
        positions.setdefault(key, (destination, []))[1].append(position)
    for key in sorted(positions):
        yield positions[key]
