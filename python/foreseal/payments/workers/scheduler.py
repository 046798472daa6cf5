"""Schedule of the worker's polls, with growing pauses for rows that do not change or fail.

A poll of a row reads the node and the database. The query for the receipts of many rows is one batch, so it has its own
schedule: a row that was just sent is queried in the next pass, and a receipt makes it due at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from foreseal.payments.workers.work_kinds import RowStatus, Subject

GRACE = 2.0
"""Seconds between sending a transaction and the first poll for it: the watcher usually sees it sooner."""
MAX_PAUSE = 30.0
"""Maximum seconds between two polls."""
RECEIPT_PAUSE = 0.125
"""Seconds between the first two queries for the receipts of a row."""


@dataclass(slots=True)
class _Item:
    due: float
    pause: float
    receipt_due: float
    receipt_pause: float = RECEIPT_PAUSE
    status: RowStatus | None = None
    effected: bool = False


class Scheduler:
    """Schedule of polls. Times are seconds of any clock. For use by one thread."""

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._items: dict[Subject, _Item] = {}
        self._begun = False

    def due(self, waiting: Iterable[Subject], now: float) -> list[Subject]:
        """Return the waiting rows that are due now, and drop all others.

        The first call returns all of them, since the time of their last poll is not recorded.
        """
        grace = self._grace if self._begun else 0.0
        self._begun = True
        self._items = {subject: self._items.get(subject) or _Item(now + grace, GRACE, now) for subject in waiting}
        return [subject for subject, item in self._items.items() if item.due <= now]

    def receipts_due(self, now: float) -> list[Subject]:
        """Return the rows whose receipts are due for a query before the row itself, and schedule the next query.

        Rows whose effect is on the chain have no such query.
        """
        due = []
        for subject, item in self._items.items():
            if item.receipt_due <= now < item.due and not item.effected:
                item.receipt_due = now + item.receipt_pause
                item.receipt_pause = min(2 * item.receipt_pause, MAX_PAUSE)
                due.append(subject)
        return due

    def record_poll(self, subject: Subject, status: RowStatus | None, now: float, *, effected: bool = False) -> None:
        """Record a poll and the row's `status` after it; None if the poll failed.

        `effected` is True if the effect of the row's transaction is on the chain.
        """
        item = self._items.get(subject)
        if item is None:
            return
        moved = status is not None and status != item.status
        item.pause = GRACE if moved else min(2 * item.pause, MAX_PAUSE)
        if item.effected and not effected:  # a reorganization undid it
            item.receipt_due, item.receipt_pause = now, RECEIPT_PAUSE
        item.status, item.due, item.effected = status, now + item.pause, effected and status is not None
