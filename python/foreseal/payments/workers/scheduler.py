"""Schedule of the worker's polls, with growing pauses for rows that do not change or fail."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

GRACE = 2.0
"""Seconds between sending a transaction and the first poll for it: the watcher usually sees it sooner."""
MAX_PAUSE = 30.0
"""Maximum seconds between two polls."""


@dataclass(slots=True)
class _Item:
    due: float
    pause: float
    status: Hashable = None


class Scheduler:
    """Schedule of polls. Times are seconds of any clock. For use by one thread."""

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._items: dict[tuple[str, str], _Item] = {}
        self._begun = False

    def due(self, waiting: Iterable[tuple[str, str]], now: float) -> list[tuple[str, str]]:
        """Return the waiting rows that are due now, and drop all others.

        The first call returns all of them, since the time of their last poll is not recorded.
        """
        grace = self._grace if self._begun else 0.0
        self._begun = True
        self._items = {subject: self._items.get(subject) or _Item(now + grace, GRACE) for subject in waiting}
        return [subject for subject, item in self._items.items() if item.due <= now]

    def record_poll(self, subject: tuple[str, str], status: Hashable, now: float) -> None:
        """Record a poll and the row's `status` after it; None if the poll failed."""
        item = self._items.get(subject)
        if item is None:
            return
        moved = status is not None and status != item.status
        item.pause = GRACE if moved else min(2 * item.pause, MAX_PAUSE)
        item.status, item.due = status, now + item.pause
