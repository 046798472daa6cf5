"""Waits of shoppers for a change of their order."""

import asyncio
from collections.abc import Mapping, Sequence

from foreseal.payments.api.checkout.order_watch import OrderWatch

# Longer than any test: only the awaited event ends a wait.
LONG = 600.0


class StoredVersions:
    """Versions of orders, and the ids of each query."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.queries: list[list[str]] = []

    async def read(self, ids: Sequence[str]) -> Mapping[str, str]:
        self.queries.append(list(ids))
        return {id: self.versions[id] for id in ids if id in self.versions}


def test_wait_ends_when_the_order_has_another_version() -> None:
    stored = StoredVersions()

    async def run() -> None:
        watch = OrderWatch(stored.read, interval=0.0)
        waits = [asyncio.create_task(watch.wait(id, "1", LONG)) for id in ("a", "b")]
        await asyncio.sleep(0)
        stored.versions = {"a": "2", "b": "1"}
        assert await waits[0]
        assert not waits[1].done()
        watch.stop()
        assert not await waits[1]

    asyncio.run(run())
    assert ["a", "b"] in stored.queries


def test_stop_ends_all_waits_and_lets_none_begin() -> None:
    stored = StoredVersions()

    async def run() -> None:
        watch = OrderWatch(stored.read, interval=LONG)
        waits = [asyncio.create_task(watch.wait("a", "1", LONG)) for _ in range(3)]
        await asyncio.sleep(0)
        watch.stop()
        await asyncio.gather(*waits)
        await watch.wait("a", "1", LONG)

    asyncio.run(run())
