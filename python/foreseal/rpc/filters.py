"""Filters by caller: the core limits the number of all filters, and each caller has a share of it."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

import orjson

from foreseal.errors import RpcError
from foreseal.rpc.core_protocol import CallOutcome
from foreseal.rpc.fair_eviction import find_eviction_candidate
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.response_envelope import over_limit

UNINSTALL = "eth_uninstallFilter"
NEW = frozenset({"eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter"})
METHODS = NEW | {UNINSTALL, "eth_getFilterChanges", "eth_getFilterLogs"}
"""Methods that create, use or remove a filter."""

EXPIRY = 300.0
"""Seconds after which the core drops an unused filter."""

RunCall = Callable[[str, bytes], CallOutcome | asyncio.Future[CallOutcome]]
"""Starts a call of the core, of a method with its params."""
# The caller that owns a filter; None for administrators.
_Caller = RateLimiter | None


class FilterTable:
    """Filters that callers have created in this process. Used from the event loop's thread only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an empty table. `clock` returns seconds since an arbitrary moment."""
        self.evicted = 0
        """Filters evicted for others."""
        self._clock = clock
        # Ids with the time of their last use, the longest idle first; by tier and caller.
        self._held: dict[str, dict[_Caller, dict[int, float]]] = defaultdict(dict)
        self._callers: dict[int, tuple[str, _Caller]] = {}
        # Filters that are being created.
        self._pending: dict[_Caller, int] = defaultdict(int)
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._callers) + sum(self._pending.values())

    def count(self, caller: _Caller, tier: str) -> int:
        """Return the number of a caller's filters, including those that are being created."""
        return len(self._held[tier].get(caller, ())) + self._pending.get(caller, 0)

    def begin_creation(self, caller: _Caller) -> None:
        """Count a filter that is being created, until `add` or `end_creation`."""
        self._pending[caller] += 1

    def end_creation(self, caller: _Caller) -> None:
        """Stop counting a filter that was not created."""
        self._pending[caller] -= 1
        if not self._pending[caller]:
            del self._pending[caller]

    def add(self, caller: _Caller, tier: str, ident: int) -> None:
        """Add a filter whose creation was counted by `begin_creation`."""
        self.end_creation(caller)
        self._held[tier].setdefault(caller, {})[ident] = self._clock()
        self._callers[ident] = tier, caller

    def touch(self, ident: int) -> None:
        """Update the time of the last use of a filter."""
        entry = self._callers.get(ident)
        if entry is not None:
            filters = self._held[entry[0]][entry[1]]
            del filters[ident]
            filters[ident] = self._clock()

    def discard(self, ident: int) -> None:
        """Remove a filter that no longer exists."""
        entry = self._callers.pop(ident, None)
        if entry is not None:
            tier, caller = entry
            filters = self._held[tier][caller]
            del filters[ident]
            if not filters:
                del self._held[tier][caller]

    def find_expired_for_caller(self, caller: _Caller, tier: str) -> int | None:
        """Return a filter of a caller that has been idle for so long that the core has dropped it."""
        return self._expired(self._held[tier].get(caller, {}))

    def find_expired(self) -> int | None:
        """Return a filter of any caller that the core has dropped."""
        every = (filters for held in self._held.values() for filters in held.values())
        return next((expired for filters in every if (expired := self._expired(filters)) is not None), None)

    def find_eviction_candidate(self, tier: str, own: int) -> int | None:
        """Return the longest idle filter of a tier's callers with the most filters, if they have more than `own`."""
        return find_eviction_candidate(self._held[tier].values(), own, self._last_use)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` to its end, even if its client disconnects."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _last_use(self, ident: int) -> float:
        tier, caller = self._callers[ident]
        return self._held[tier][caller][ident]

    def _expired(self, filters: dict[int, float]) -> int | None:
        ident = next(iter(filters), None)
        return ident if ident is not None and self._clock() - filters[ident] > EXPIRY else None


class TierFilters:
    """Filters of one tier's callers. Used from the event loop's thread only."""

    def __init__(
        self,
        table: FilterTable,
        tier: str,
        max_filters: int,
        max_caller_filters: int | None = None,
        lower: tuple[str, ...] = (),
    ) -> None:
        """Allow `max_filters` of all callers, `max_caller_filters` of one. Those of `lower` tiers are evicted first."""
        self.table = table
        self._tier = tier
        self._max_filters = max_filters
        self._max_caller_filters = max_caller_filters
        self._lower = lower

    def call(
        self, method: str, params: bytes, caller: RateLimiter | None, run: RunCall
    ) -> CallOutcome | asyncio.Future[CallOutcome]:
        """Start a call of one of `METHODS`. Return its outcome if it is immediate, otherwise the future of it."""
        if method in NEW:
            return self._create(method, params, caller, run)
        ident = _ident_in(params)
        if ident is None:
            return run(method, params)
        self.table.touch(ident)
        outcome = run(method, params)
        if method == UNINSTALL and isinstance(outcome, asyncio.Future):
            outcome.add_done_callback(lambda done: self._uninstalled(ident, done))
        return outcome

    def _create(
        self, method: str, params: bytes, caller: RateLimiter | None, run: RunCall
    ) -> CallOutcome | asyncio.Future[CallOutcome]:
        victim = self._find_room(caller)
        if isinstance(victim, RpcError):
            return victim
        self.table.begin_creation(caller)
        if victim is not None:
            self.table.discard(victim)
        made: asyncio.Future[CallOutcome] = asyncio.get_running_loop().create_future()
        # A filter exists, and counts, even if its client disconnects before the answer.
        self.table.spawn(self._run_creation(method, params, caller, run, victim, made))
        return made

    async def _run_creation(
        self,
        method: str,
        params: bytes,
        caller: RateLimiter | None,
        run: RunCall,
        victim: int | None,
        made: asyncio.Future[CallOutcome],
    ) -> None:
        """Remove the evicted filter, then create the new one."""
        ident = None
        try:
            if victim is not None:
                await _outcome(run(UNINSTALL, b'["0x%x"]' % victim))
            outcome = await _outcome(run(method, params))
            ident = None if isinstance(outcome, RpcError) else int(orjson.loads(bytes(outcome)), 16)
        except asyncio.CancelledError:
            made.cancel()
            raise
        finally:
            if ident is None:
                self.table.end_creation(caller)
            else:
                self.table.add(caller, self._tier, ident)
        if not made.done():
            made.set_result(outcome)

    def _find_room(self, caller: RateLimiter | None) -> int | RpcError | None:
        """Return the filter to evict for a new one of a caller, None if there is room, or the error of a limit."""
        table, limit = self.table, self._max_caller_filters
        own = table.count(caller, self._tier)
        if limit is not None and own >= limit:
            candidate = table.find_expired_for_caller(caller, self._tier)
            if candidate is None and caller is not None:
                caller.count_refusal("caller_filters")
            return (
                over_limit("caller_filters", limit, f"a caller may have at most {limit} filters")
                if candidate is None
                else candidate
            )
        if len(table) < self._max_filters:
            return None
        candidate = table.find_expired()
        if candidate is not None:
            return candidate
        for tier in (*self._lower, self._tier):
            candidate = table.find_eviction_candidate(tier, own if tier == self._tier else 0)
            if candidate is not None:
                table.evicted += 1
                return candidate
        return over_limit("filters", self._max_filters, f"the limit of {self._max_filters} filters is reached")

    def _uninstalled(self, ident: int, done: asyncio.Future[CallOutcome]) -> None:
        if not done.cancelled() and isinstance(done.result(), bytes):
            self.table.discard(ident)


async def _outcome(outcome: CallOutcome | asyncio.Future[CallOutcome]) -> CallOutcome:
    return await outcome if isinstance(outcome, asyncio.Future) else outcome


def _ident_in(params: bytes) -> int | None:
    """Return the id at the start of the params; None if there is none, which the core rejects."""
    try:
        match orjson.loads(params):
            case [str(text), *_]:
                return int(text, 16)
    except ValueError:  # of either function: orjson reads no number such as 1e999
        return None
    return None
