"""What the worker looks at again, and when: what does not move, or fails, is looked at ever more rarely."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

GRACE = 2.0
"""Seconds that what was just sent gets before it is looked for: the watcher sees it sooner."""
LONGEST = 30.0
"""Seconds between two looks at most."""


@dataclass(slots=True)
class _Item:
    due: float
    pause: float
    place: Hashable = None


class Agenda:
    """Times are seconds of any clock. For one thread."""

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._items: dict[tuple[str, str], _Item] = {}
        self._begun = False

    def due(self, waiting: Iterable[tuple[str, str]], now: float) -> list[tuple[str, str]]:
        """Which of those that wait are to be looked at now. Others are forgotten.

        At first it is all of them: nobody knows since when they wait.
        """
        grace = self._grace if self._begun else 0.0
        self._begun = True
        self._items = {each: self._items.get(each) or _Item(now + grace, GRACE) for each in waiting}
        return [each for each, item in self._items.items() if item.due <= now]

    def looked(self, subject: tuple[str, str], place: Hashable, now: float) -> None:
        """It was looked at, and is now at `place`; None where that failed."""
        item = self._items.get(subject)
        if item is None:
            return
        moved = place is not None and place != item.place
        item.pause = GRACE if moved else min(2 * item.pause, LONGEST)
        item.place, item.due = place, now + item.pause
