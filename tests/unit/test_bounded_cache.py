"""A cache of bounded size."""

from foreseal.bounded_cache import BoundedCache


def test_full_cache_evicts_its_oldest_entry() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    for value, key in enumerate("abc"):
        cache.add(key, value)
    assert cache == {"b": 1, "c": 2}
    assert (cache.misses, cache.evicted) == (3, 1)


def test_replaced_entry_evicts_no_other() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    for value, key in enumerate("abb"):
        cache.add(key, value)
    assert cache == {"a": 0, "b": 2}
    assert cache.evicted == 0
