"""Fair eviction near a shared limit: the caller that holds the most loses an item."""

from collections.abc import Callable, Collection
from typing import Any, TypeVar

HeldItem = TypeVar("HeldItem")


def find_eviction_candidate(
    held: Collection[Collection[HeldItem]], own: int, last_used: Callable[[HeldItem], Any]
) -> HeldItem | None:
    """Return the item to evict for a caller that holds `own` items; None if no caller holds more.

    `held` has the items of each caller, and `last_used` orders items by their last use. A caller without items is
    always served. Callers with equal numbers of items do not displace each other.
    """
    largest = max(map(len, held), default=0)
    if largest <= own:
        return None
    return min((item for items in held if len(items) == largest for item in items), key=last_used)
