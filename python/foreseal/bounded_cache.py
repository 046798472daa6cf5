"""Bounded cache with first-in, first-out eviction and counters."""

from typing import TypeVar

CacheKey = TypeVar("CacheKey")
CacheValue = TypeVar("CacheValue")


class BoundedCache(dict[CacheKey, CacheValue]):
    """A dictionary for reading; entries are only added by `add`."""

    __slots__ = ("evicted", "misses", "size")

    def __init__(self, size: int) -> None:
        """Create a cache of at most `size` entries, and at least one."""
        super().__init__()
        self.size = size
        self.misses = 0
        """Number of added entries."""
        self.evicted = 0
        """Number of entries evicted to make room."""

    def add(self, key: CacheKey, value: CacheValue) -> None:
        """Add an entry that was not found; evict the oldest one if the cache is full."""
        self.misses += 1
        if key not in self and len(self) >= self.size:
            del self[next(iter(self))]
            self.evicted += 1
        self[key] = value
