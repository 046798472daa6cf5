"""A cache of bounded size that drops its oldest entry, and counts."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(dict[Key, Value]):
    """Read it as a dictionary; entries are added by `add` alone."""

    __slots__ = ("evicted", "misses", "size")

    def __init__(self, size: int) -> None:
        """At most `size` entries, one at least."""
        super().__init__()
        self.size = size
        self.misses = 0
        """Entries that were added."""
        self.evicted = 0
        """Entries that were dropped to make room."""

    def add(self, key: Key, value: Value) -> None:
        """Add an entry that was not found, in place of the oldest one where the cache is full."""
        self.misses += 1
        if key not in self and len(self) >= self.size:
            del self[next(iter(self))]
            self.evicted += 1
        self[key] = value
