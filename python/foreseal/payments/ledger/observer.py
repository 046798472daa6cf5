"""Interface that receives the events of a ledger, for metrics and logs."""

from collections.abc import Sequence
from typing import Protocol

from foreseal.payments.ledger.timeline import TimelineEntry


class LedgerObserver(Protocol):
    """Receiver of events. It is called outside of transactions and raises nothing."""

    def record_committed(self, entries: Sequence[TimelineEntry]) -> None:
        """Receive the timeline entries of a committed transaction."""
        ...

    def record_rejection(self, subject: str, id: str, message: str) -> None:
        """Receive the node's rejection of the transaction of a row; `subject` is its table."""
        ...

    def record_database_error(self, error: BaseException) -> None:
        """Receive an error of the database."""
        ...


class SilentObserver:
    """Observer that ignores every event."""

    def record_committed(self, entries: Sequence[TimelineEntry]) -> None:
        """Ignore the entries."""

    def record_rejection(self, subject: str, id: str, message: str) -> None:
        """Ignore the rejection."""

    def record_database_error(self, error: BaseException) -> None:
        """Ignore the error."""


class CombinedObserver:
    """Observer that passes every event on to several others."""

    def __init__(self, *observers: LedgerObserver) -> None:
        self._observers = observers

    def record_committed(self, entries: Sequence[TimelineEntry]) -> None:
        """Pass on the entries."""
        for observer in self._observers:
            observer.record_committed(entries)

    def record_rejection(self, subject: str, id: str, message: str) -> None:
        """Pass on the rejection."""
        for observer in self._observers:
            observer.record_rejection(subject, id, message)

    def record_database_error(self, error: BaseException) -> None:
        """Pass on the error."""
        for observer in self._observers:
            observer.record_database_error(error)
