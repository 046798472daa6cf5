"""Filters by caller, over a double of the core with a global limit."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.filters import EXPIRY, FilterTable, TierFilters
from foreseal.rpc.rate_limiter import RateLimiter

from fake_core import FakeNode

NEW, CHANGES, UNINSTALL = "eth_newBlockFilter", "eth_getFilterChanges", "eth_uninstallFilter"


class FilterNode(FakeNode):
    """A node with at most `most` filters."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.filters: set[int] = set()
        self._made = 0

    def answer(self, method: str, params: bytes, ticket: int, block: int) -> bytes | None:
        if "Filter" not in method:
            return super().answer(method, params, ticket, block)
        self.calls.append((method, params))
        self._later(ticket, lambda: self._filter(method, orjson.loads(params)))
        return None

    def _filter(self, method: str, params: list[Any]) -> bytes | RpcError:
        if method.startswith("eth_new"):
            if len(self.filters) >= self.most:
                return RpcError(-32005, "another filter", b'{"limit":"filters"}')
            if params:
                return RpcError(-32602, "filter: wrong", None)
            self._made += 1
            self.filters.add(self._made)
            return b'"0x%x"' % self._made
        ident = int(params[0], 16)
        if method == UNINSTALL:
            exists = ident in self.filters
            self.filters.discard(ident)
            return b"true" if exists else b"false"
        return b"[]" if ident in self.filters else RpcError(-32000, "filter not found", None)


class Callers:
    """Callers of two tiers with filters of one core."""

    def __init__(self, most: int, public_most: int, caller_most: int | None) -> None:
        self.now = 0.0
        self.node = FilterNode(most)
        self.table = FilterTable(lambda: self.now)
        self.refusals: Counter[str] = Counter()
        tiers = {
            "dedicated": TierFilters(self.table, "dedicated", most, None, ("public",)),
            "public": TierFilters(self.table, "public", public_most, caller_most),
        }
        dedicated = Dispatcher(self.node, Limits(), Registry(), filters=tiers["dedicated"])
        completions = dedicated.router.completions
        public = Dispatcher(self.node, Limits(), Registry(), completions=completions, filters=tiers["public"])
        self.dispatchers = {"dedicated": dedicated, "public": public}
        self.completions = completions
        self._meters: dict[str, RateLimiter] = {}

    def limiter(self, name: str) -> RateLimiter:
        return self._meters.setdefault(name, RateLimiter(None, None, self.refusals))

    async def send(self, name: str, body: Any) -> Any:
        """Send a body as a caller; names that begin with `key` are in the dedicated tier."""
        tier = self.dispatchers["dedicated" if name.startswith("key") else "public"]
        reply = tier.answer(orjson.dumps(body), None, self.limiter(name))
        _, answer, _ = await reply if isinstance(reply, Awaitable) else reply
        return orjson.loads(answer)

    async def request(self, name: str, method: str, *params: Any) -> Any:
        """Call and return the result or the error."""
        self.now += 1
        answer = await self.send(name, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return answer["result"] if "result" in answer else answer["error"]

    async def make(self, name: str, count: int = 1) -> list[str]:
        """Create filters, which must succeed."""
        made = [await self.request(name, NEW) for _ in range(count)]
        assert all(isinstance(ident, str) for ident in made), made
        return made


@asynccontextmanager
async def running(most: int = 10, public_most: int = 6, caller_most: int | None = 3) -> AsyncIterator[Callers]:
    callers = Callers(most, public_most, caller_most)
    callers.completions.attach(asyncio.get_running_loop())
    try:
        yield callers
    finally:
        callers.completions.detach()


async def test_caller_has_a_share_and_others_are_served() -> None:
    async with running() as callers:
        made = await callers.make("a", 3)
        rejected = await callers.request("a", NEW)
        assert (rejected["code"], rejected["data"]) == (-32005, {"limit": "caller_filters", "max": 3})
        assert callers.refusals == {"caller_filters": 1}
        await callers.make("b", 3)
        assert await callers.request("a", UNINSTALL, made[0]) is True
        await callers.make("a")
        assert await callers.request("a", UNINSTALL, made[0]) is False


async def test_new_filter_evicts_the_idlest_of_the_largest_caller() -> None:
    async with running() as callers:
        first, second, third = await callers.make("a", 3)
        await callers.make("b", 2)
        await callers.make("c")
        assert await callers.request("a", CHANGES, first) == []
        await callers.make("d")
        assert await callers.request("a", CHANGES, second) == {"code": -32000, "message": "filter not found"}
        assert [await callers.request("a", CHANGES, ident) for ident in (first, third)] == [[], []]
        assert callers.table.evicted == 1
        assert len(callers.node.filters) == 6


async def test_callers_with_equal_counts_do_not_evict_each_other() -> None:
    async with running() as callers:
        for name in "abcdef":
            await callers.make(name)
        rejected = await callers.request("a", NEW)
        assert (rejected["code"], rejected["data"]) == (-32005, {"limit": "filters", "max": 6})
        await callers.make("g")
        # The filter that was idle longest was evicted.
        assert callers.table.count(callers.limiter("a"), "public") == 0
        await callers.make("a")


async def test_dedicated_callers_never_lose_filters_to_public_ones() -> None:
    async with running() as callers:
        await callers.make("a", 3)
        await callers.make("b", 3)
        await callers.make("key one", 5)
        assert callers.table.count(callers.limiter("a"), "public") == 2
        await callers.make("key two", 5)
        assert len(callers.node.filters) == 10
        assert [callers.table.count(callers.limiter(name), "public") for name in "ab"] == [0, 0]
        assert (await callers.request("a", NEW))["data"] == {"limit": "filters", "max": 6}
        await callers.make("key three")
        assert len(callers.node.filters) == 10


async def test_expired_filters_do_not_count() -> None:
    async with running() as callers:
        old = await callers.make("a", 3)
        callers.node.filters.clear()
        callers.now += EXPIRY
        await callers.make("a", 3)
        assert await callers.request("a", CHANGES, old[0]) == {"code": -32000, "message": "filter not found"}
        await callers.make("b", 3)
        callers.node.filters.clear()
        callers.now += EXPIRY
        await callers.make("c", 3)
        assert callers.table.evicted == 0


async def test_filter_of_a_disconnected_client_counts() -> None:
    async with running() as callers:
        callers.node.hold = True
        calls = [asyncio.ensure_future(callers.request("a", NEW)) for _ in range(4)]
        await asyncio.sleep(0)
        rejected = await calls.pop()
        assert rejected["data"]["limit"] == "caller_filters"
        while len(callers.node.held) < 3:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        callers.node.hold = False
        callers.node.release()
        while len(callers.node.filters) < 3 or callers.table._pending:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert callers.table.count(callers.limiter("a"), "public") == 3
        assert (await callers.request("a", NEW))["data"]["limit"] == "caller_filters"


async def test_failed_filter_does_not_count() -> None:
    async with running() as callers:
        for _ in range(5):
            assert (await callers.request("a", "eth_newFilter", {"wrong": 1}))["code"] == -32602
        assert len(callers.table) == 0
        await callers.make("a", 3)


async def test_batch_entries_count() -> None:
    async with running() as callers:
        batch = [{"jsonrpc": "2.0", "id": n, "method": NEW, "params": []} for n in range(5)]
        answers = await callers.send("a", batch)
        assert ["result" in answer for answer in answers] == [True, True, True, False, False]
        assert callers.table.count(callers.limiter("a"), "public") == 3


async def test_invalid_filter_ids_are_passed_to_the_node() -> None:
    async with running() as callers:
        (ident,) = await callers.make("a")
        assert await callers.request("a", CHANGES, ident.replace("0x", "0X")) == []
        assert (await callers.request("a", CHANGES, "0xffff"))["message"] == "filter not found"


async def test_random_calls_are_counted_and_new_callers_always_served() -> None:
    async with running() as callers:
        draw = random.Random(5)
        names = [*"abcdefgh", "key one", "key two"]
        made: list[str] = []
        for _ in range(3000):
            name = draw.choice(names)
            method = draw.choice((NEW, NEW, CHANGES, UNINSTALL))
            if method == NEW:
                tier = "dedicated" if name.startswith("key") else "public"
                own = callers.table.count(callers.limiter(name), tier)
                dedicated = sum(callers.table.count(callers.limiter(key), "dedicated") for key in names[-2:])
                outcome = await callers.request(name, NEW)
                if isinstance(outcome, str):
                    made.append(outcome)
                else:
                    assert own or (tier == "public" and dedicated >= 6), outcome
            elif made:
                await callers.request(name, method, draw.choice(made[-12:]))
            assert callers.node.filters == set(callers.table._callers)
            assert not callers.table._pending
            assert all(callers.table.count(callers.limiter(name), "public") <= 3 for name in names)
