"""Filters by caller: the core limits the number of all filters, and each caller has a share of it."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

import orjson

from foreseal.errors import RpcError
from foreseal.rpc.core_protocol import Outcome
from foreseal.rpc.envelope import over_limit
from foreseal.rpc.fair_eviction import longest_idle_of_largest
from foreseal.rpc.rate_limiter import RateLimiter

UNINSTALL = "eth_uninstallFilter"
NEW = frozenset({"eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter"})
METHODS = NEW | {UNINSTALL, "eth_getFilterChanges", "eth_getFilterLogs"}
"""Methods that create, use or remove a filter."""

EXPIRY = 300.0
"""Seconds after which the core drops an unused filter."""

Run = Callable[[str, bytes], Outcome | asyncio.Future[Outcome]]
"""Starts a call of the core, of a method with its params."""
# The caller that owns a filter; None for administrators.
_Holder = RateLimiter | None


class FilterTable:
    """Filters that callers have created in this process. Used from the event loop's thread only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an empty table. `clock` returns seconds since an arbitrary moment."""
        self.evicted = 0
        """Filters evicted for others."""
        self._clock = clock
        # Ids with the time of their last use, the longest idle first; by tier and caller.
        self._held: dict[str, dict[_Holder, dict[int, float]]] = defaultdict(dict)
        self._places: dict[int, tuple[str, _Holder]] = {}
        # Filters that are being created.
        self._pending: dict[_Holder, int] = defaultdict(int)
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._places) + sum(self._pending.values())

    def count(self, caller: _Holder, tier: str) -> int:
        """Return the number of a caller's filters, including those that are being created."""
        return len(self._held[tier].get(caller, ())) + self._pending.get(caller, 0)

    def begin(self, caller: _Holder) -> None:
        """Count a filter that is being created, until `add` or `fail`."""
        self._pending[caller] += 1

    def fail(self, caller: _Holder) -> None:
        """Stop counting a filter that was not created."""
        self._pending[caller] -= 1
        if not self._pending[caller]:
            del self._pending[caller]

    def add(self, caller: _Holder, tier: str, ident: int) -> None:
        """Add a filter whose creation was counted by `begin`."""
        self.fail(caller)
        self._held[tier].setdefault(caller, {})[ident] = self._clock()
        self._places[ident] = tier, caller

    def use(self, ident: int) -> None:
        """Update the time of the last use of a filter."""
        place = self._places.get(ident)
        if place is not None:
            filters = self._held[place[0]][place[1]]
            del filters[ident]
            filters[ident] = self._clock()

    def discard(self, ident: int) -> None:
        """Remove a filter that no longer exists."""
        place = self._places.pop(ident, None)
        if place is not None:
            tier, caller = place
            filters = self._held[tier][caller]
            del filters[ident]
            if not filters:
                del self._held[tier][caller]

    def expired_of(self, caller: _Holder, tier: str) -> int | None:
        """Return a filter of a caller that has been idle for so long that the core has dropped it."""
        return self._expired(self._held[tier].get(caller, {}))

    def expired(self) -> int | None:
        """Return a filter of any caller that the core has dropped."""
        every = (filters for held in self._held.values() for filters in held.values())
        return next((found for filters in every if (found := self._expired(filters)) is not None), None)

    def largest(self, tier: str, own: int) -> int | None:
        """Return the longest idle filter of a tier's callers with the most filters, if they have more than `own`."""
        return longest_idle_of_largest(self._held[tier].values(), own, self._last_use)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` to its end, even if its client disconnects."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _last_use(self, ident: int) -> float:
        tier, caller = self._places[ident]
        return self._held[tier][caller][ident]

    def _expired(self, filters: dict[int, float]) -> int | None:
        ident = next(iter(filters), None)
        return ident if ident is not None and self._clock() - filters[ident] > EXPIRY else None


class TierFilters:
    """Filters of one tier's callers. Used from the event loop's thread only."""

    def __init__(
        self, table: FilterTable, tier: str, most: int, caller_most: int | None = None, lower: tuple[str, ...] = ()
    ) -> None:
        """Allow `most` filters of all callers, and `caller_most` of one. Filters of `lower` tiers are evicted first."""
        self.table = table
        self._tier = tier
        self._most = most
        self._caller_most = caller_most
        self._lower = lower

    def call(
        self, method: str, params: bytes, caller: RateLimiter | None, run: Run
    ) -> Outcome | asyncio.Future[Outcome]:
        """Start a call of one of `METHODS`. Return its outcome if it is immediate, otherwise the future of it."""
        if method in NEW:
            return self._make(method, params, caller, run)
        ident = _ident_in(params)
        if ident is None:
            return run(method, params)
        self.table.use(ident)
        outcome = run(method, params)
        if method == UNINSTALL and isinstance(outcome, asyncio.Future):
            outcome.add_done_callback(lambda done: self._uninstalled(ident, done))
        return outcome

    def _make(
        self, method: str, params: bytes, caller: RateLimiter | None, run: Run
    ) -> Outcome | asyncio.Future[Outcome]:
        victim = self._room_for(caller)
        if isinstance(victim, RpcError):
            return victim
        self.table.begin(caller)
        if victim is not None:
            self.table.discard(victim)
        made: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        # A filter exists, and counts, even if its client disconnects before the answer.
        self.table.spawn(self._made(method, params, caller, run, victim, made))
        return made

    async def _made(
        self,
        method: str,
        params: bytes,
        caller: RateLimiter | None,
        run: Run,
        victim: int | None,
        made: asyncio.Future[Outcome],
    ) -> None:
        """Remove the evicted filter, then create the new one."""
        ident = None
        try:
            if victim is not None:
                await _outcome(run(UNINSTALL, b'["0x%x"]' % victim))
            outcome = await _outcome(run(method, params))
            ident = None if isinstance(outcome, RpcError) else int(orjson.loads(outcome), 16)
        except asyncio.CancelledError:
            made.cancel()
            raise
        finally:
            if ident is None:
                self.table.fail(caller)
            else:
                self.table.add(caller, self._tier, ident)
        if not made.done():
            made.set_result(outcome)

    def _room_for(self, caller: RateLimiter | None) -> int | RpcError | None:
        """Return the filter to evict for a new one of a caller, None if there is room, or the error of a limit."""
        table, most = self.table, self._caller_most
        own = table.count(caller, self._tier)
        if most is not None and own >= most:
            found = table.expired_of(caller, self._tier)
            if found is None and caller is not None:
                caller.count_refusal("caller_filters")
            return (
                over_limit("caller_filters", most, f"you may have at most {most} filters") if found is None else found
            )
        if len(table) < self._most:
            return None
        found = table.expired()
        if found is not None:
            return found
        for tier in (*self._lower, self._tier):
            found = table.largest(tier, own if tier == self._tier else 0)
            if found is not None:
                table.evicted += 1
                return found
        return over_limit("filters", self._most, f"another filter would be more than {self._most} of all callers")

    def _uninstalled(self, ident: int, done: asyncio.Future[Outcome]) -> None:
        if not done.cancelled() and isinstance(done.result(), bytes):
            self.table.discard(ident)


async def _outcome(outcome: Outcome | asyncio.Future[Outcome]) -> Outcome:
    return await outcome if isinstance(outcome, asyncio.Future) else outcome


def _ident_in(params: bytes) -> int | None:
    """Return the id at the start of the params; None if there is none, which the core rejects."""
    match orjson.loads(params):
        case [str(text), *_]:
            try:
                return int(text, 16)
            except ValueError:
                return None
    return None
