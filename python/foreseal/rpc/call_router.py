"""Routing of one call: rejected here, or answered by a registered Python function, the core or a worker thread."""

import asyncio
from collections.abc import Mapping
from functools import partial

from foreseal.errors import RpcError
from foreseal.rpc import discovery, error_codes
from foreseal.rpc.completions import Completions
from foreseal.rpc.core_protocol import CallOutcome, CallReader, Core
from foreseal.rpc.filters import METHODS as FILTER_METHODS
from foreseal.rpc.filters import TierFilters
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.registry import Registry
from foreseal.rpc.rejected_call import FORBIDDEN, RejectedCall, busy, rejected
from foreseal.rpc.session import METHODS as SUBSCRIPTION_METHODS
from foreseal.rpc.session import RequestExchange


class CallRouter:
    """Runs calls against one node. Used from the event loop's thread only."""

    def __init__(
        self,
        core: Core,
        registry: Registry,
        max_calls: int,
        forbidden: Mapping[str, str],
        completions: Completions | None = None,
        filters: TierFilters | None = None,
    ) -> None:
        """Create the router. `forbidden` maps the methods that these callers may not use to error messages.

        `filters` are those of these callers; without it only the core's limit applies.
        """
        self.completions = Completions(core) if completions is None else completions
        self._registry = registry
        self._registered = registry.methods
        self._max_calls = max_calls
        self._forbidden = forbidden
        self._core = core
        # Not at import: the supervisor imports this module, and loads no core.
        from foreseal._core import lane_room

        self._lane_room = lane_room
        self.filters = filters
        """Filters of these callers; None if only the core's limit applies."""
        self.owned = frozenset({*forbidden, *discovery.METHODS, *SUBSCRIPTION_METHODS, *FILTER_METHODS})
        """Methods that the core never runs by itself.

        Forbidden ones, those that list methods, those that belong to a connection, and those of filters.
        """

    def room(self, limiter: RateLimiter | None) -> int:
        """Return the number of calls that the caller with this rate limiter may start on worker threads now."""
        if limiter is None:
            return self._lane_room(self._core.running, self._max_calls)
        return self._lane_room(self._core.running, self._max_calls, limiter.running, limiter.max_calls)

    def run(
        self,
        reader: CallReader,
        method: str,
        params: bytes,
        exchange: RequestExchange | None = None,
        limiter: RateLimiter | None = None,
    ) -> CallOutcome | asyncio.Future[CallOutcome]:
        """Start a call against `reader`. Return its outcome if it is immediate, otherwise the future of it.

        `exchange` belongs to a persistent connection; without one the core rejects subscriptions. `limiter` is that of
        a caller with its own limits.
        """
        if method in self._forbidden:
            return rejected(FORBIDDEN, error_codes.FORBIDDEN, self._forbidden[method])
        if method in SUBSCRIPTION_METHODS and exchange is not None:
            return exchange.call(method, params)
        if method in self._registered and method not in self.owned:
            return self._registry.call(method, params)
        if self.room(limiter) <= 0:
            return self._busy(limiter)
        if method in discovery.METHODS and self._registered and method not in self._registered:
            return self._listing(reader, method, params, limiter)
        if method in FILTER_METHODS and self.filters is not None and method not in self._registered:
            run = partial(self._run, reader, limiter=limiter)
            return self.filters.call(method, params, limiter, run)
        if method in self._registered:
            return self._registry.call(method, params)
        return self._run(reader, method, params, limiter)

    def _run(
        self, reader: CallReader, method: str, params: bytes, limiter: RateLimiter | None
    ) -> CallOutcome | asyncio.Future[CallOutcome]:
        """Start a call of the core."""
        completions = self.completions
        try:
            result = reader.call(method, params, completions.ticket, None if limiter is None else limiter.scheduled)
        except RpcError as error:
            # The traceback refers to the callers' frames, which hold the error: a cycle that retains a whole body.
            return error.with_traceback(None)
        if result is not None:
            return result
        return completions.register_call()

    def _listing(
        self, reader: CallReader, method: str, params: bytes, limiter: RateLimiter | None
    ) -> CallOutcome | asyncio.Future[CallOutcome]:
        """Return the core's list of methods together with those registered from Python."""
        try:
            answer = reader.call(
                method, params, self.completions.ticket, None if limiter is None else limiter.scheduled
            )
        except RpcError as error:
            # The traceback refers to the callers' frames, which hold the error: a cycle that retains a whole body.
            return error.with_traceback(None)
        if answer is None:
            return asyncio.ensure_future(self._listed(method, self.completions.register_call()))
        return self._joined(method, answer)

    async def _listed(self, method: str, due: asyncio.Future[CallOutcome]) -> CallOutcome:
        return self._joined(method, await due)

    def _joined(self, method: str, answer: CallOutcome) -> CallOutcome:
        if isinstance(answer, RpcError):
            return answer
        signatures = {name: signature for name, (_, signature) in self._registered.items()}
        return discovery.with_registered(method, bytes(answer), signatures)

    def _busy(self, limiter: RateLimiter | None) -> RejectedCall:
        """Return the rejection of a call at a limit of worker threads."""
        if limiter is not None and limiter.is_full:
            limiter.count_refusal("caller_calls")
            assert limiter.max_calls is not None, "a limit is reached"
            return busy("caller_calls", limiter.max_calls, "too many concurrent calls of this caller: try again")
        if limiter is not None:
            limiter.count_refusal("calls")
        return busy("calls", self._max_calls, "too many concurrent calls: try again")
