"""Fair shares of what all callers hold together: near its limit the caller with the most makes way."""

from collections.abc import Callable, Collection
from typing import Any, TypeVar

Item = TypeVar("Item")


def longest_idle_of_largest(
    held: Collection[Collection[Item]], own: int, last_used: Callable[[Item], Any]
) -> Item | None:
    """Return the item that makes way for one of a caller that holds `own`; None if nobody holds more.

    `held` has the items of each caller, and `last_used` orders items by their last use. A caller without any is always
    served. Callers that hold as many as the others do not displace each other.
    """
    most = max(map(len, held), default=0)
    if most <= own:
        return None
    return min((item for items in held if len(items) == most for item in items), key=last_used)
