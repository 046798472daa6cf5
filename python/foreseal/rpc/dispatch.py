"""Dispatch of request bodies: from the bytes of a body to the bytes of its answer.

```text
body -> core: parsed, charged, dispatched, executed ----------------------------> answer
          '-> PendingBody -> BodyRun: calls of Python, worker threads, slices ------^
```
"""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from foreseal.rpc.body_run import BodyRun, CallTools
from foreseal.rpc.call_costs import COSTS
from foreseal.rpc.call_metrics import QUICK, CallMetrics
from foreseal.rpc.call_router import CallRouter
from foreseal.rpc.completions import BodyWait, Completions
from foreseal.rpc.core_protocol import Answer, CallOutcome, Core, EntranceLimits, SlowCall
from foreseal.rpc.filters import TierFilters
from foreseal.rpc.limits import Limits
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.registry import Registry
from foreseal.rpc.session import ConnectionSession, RequestExchange
from foreseal.rpc.subscription import Subscriber
from foreseal.rpc.time_slices import TimeSlices

if TYPE_CHECKING:
    from foreseal._core import Answered, PendingBody

HttpReply = tuple[int, Answer, int]
"""HTTP status, body, and the seconds after which the caller may retry (0: not stated)."""

OK = 200

# Size in bytes above which a body is parsed in its own slice.
_LARGE_BODY = 32 * 1024


class Dispatcher:
    """Answers request bodies from one node. Used from the event loop's thread only."""

    def __init__(
        self,
        core: Core,
        limits: Limits,
        registry: Registry,
        forbidden: Mapping[str, str] | None = None,
        completions: Completions | None = None,
        call_metrics: CallMetrics | None = None,
        tier: str = "",
        time_slices: TimeSlices | None = None,
        filters: TierFilters | None = None,
        *,
        is_public: bool = False,
    ) -> None:
        """Create a dispatcher. `forbidden` maps methods rejected with HTTP 403 and -32004 to error messages.

        Dispatchers of one node share `completions`, because the node has one queue of outcomes; they may also share
        `call_metrics` and `time_slices`. `tier` is the name of the callers' tier, for the log, and `filters` are their
        filters. Long work of public callers runs after that of others.
        """
        self.time_slices = time_slices or TimeSlices()
        """Slices of the event loop for long work."""
        self.router = CallRouter(core, registry, limits.calls, forbidden or {}, completions, filters)
        self.call_metrics = call_metrics or CallMetrics()
        """Metrics of the calls."""
        self._tier = tier
        self._is_public = is_public
        self._core = core
        self._limits = limits
        self._tools = CallTools(core, self.router, self.call_metrics, self.time_slices, tier, is_public=is_public)
        entrance = core.entrance(
            EntranceLimits(
                response=limits.response,
                values=limits.values,
                depth=limits.depth,
                batch=limits.batch,
                parsed=_LARGE_BODY,
                quick=QUICK,
                calls=limits.calls,
                costs=COSTS,
            )
        )
        for method in (*self.router.owned, *registry.methods):
            entrance.exclude(method)
        registry.watchers.append(entrance.exclude)
        self.call_metrics.include_entrance(entrance)
        # Not at import: the supervisor imports this module, and loads no core.
        from foreseal._core import Answered, Entrance

        self._answered = Answered
        self.entrance = entrance if isinstance(entrance, Entrance) else None
        """Entrance of the core, for a transport that answers there; None for a test double."""
        self._respond = entrance.respond
        self._respond_to_frames = entrance.respond_to_frames

    def session(self, link: Subscriber, limiter: RateLimiter | None = None) -> ConnectionSession:
        """Return the session of a new connection of the caller with this rate limiter."""

        def call(method: str, params: bytes) -> CallOutcome | asyncio.Future[CallOutcome]:
            # A page of a catch-up costs one token; its bytes are charged as processor time.
            refusal = None if limiter is None else limiter.charge_call("")
            return refusal or self.router.run(self._core, method, params, None, limiter)

        return ConnectionSession(self.router.completions.hub, call, link, self._limits, limiter, self._core)

    def respond(
        self, data: bytes, start: int = 0, head: bytes | None = None, limiter: RateLimiter | None = None
    ) -> "bytes | Answered | PendingBody | None":
        """Pass the body at `start` of `data`, of a request over HTTP, to the core; see `RequestEntrance.respond`."""
        return self._respond(data, start, head, None if limiter is None else limiter.scheduled)

    def respond_to_frames(
        self, data: bytes, max_size: int, limiter: RateLimiter | None = None
    ) -> "tuple[bytes, int, PendingBody | None] | None":
        """Return the frames that answer the leading WebSocket frames of `data`, and the number of bytes consumed.

        Each frame is a text message of at most `max_size` bytes; None if the first is not. The body of the last one
        that was consumed is returned if it is not answered: pass it to `answer_entered`.
        """
        answered = self._respond_to_frames(data, max_size, None if limiter is None else limiter.scheduled)
        if answered is None:
            return None
        frames, end, slow, pending = answered
        self._record(slow, limiter)
        return frames, end, pending

    def answer(
        self, body: bytes, exchange: RequestExchange | None = None, limiter: RateLimiter | None = None
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        """Answer one request body: at once, unless it is a batch or waits for a worker thread.

        `exchange` belongs to the persistent connection of the body, if there is one. `limiter` is that of the caller; a
        caller with its own limits pays for an invalid request as for a call. Cancelling the returned coroutine cancels
        the calls in progress, except submissions.
        """
        scheduled = None if limiter is None else limiter.scheduled
        entered = self._respond(body, 0, None, scheduled, exchange is not None)
        if entered is None:
            return self._answer_large(body, exchange, limiter)
        return self.answer_entered(entered, exchange, limiter)

    def answer_entered(
        self,
        entered: "bytes | Answered | PendingBody",
        exchange: RequestExchange | None = None,
        limiter: RateLimiter | None = None,
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        """Answer a body that the core has returned; see `answer`."""
        if isinstance(entered, (bytes, self._answered)):
            return self.settled(entered, limiter)
        run = self.run(entered, exchange, limiter)
        # A connection runs one batch at a time.
        if not (entered.is_batch and exchange is not None):
            run.proceed()
            if run.is_answered:
                return self.end(run.body, limiter)
        return self.finish(run, limiter)

    def run(
        self, body: "PendingBody", exchange: RequestExchange | None = None, limiter: RateLimiter | None = None
    ) -> BodyRun:
        """Return the run of a body whose calls are not all answered."""
        return BodyRun(self._tools, body, exchange, limiter)

    def wait_for(self, body: "PendingBody") -> BodyWait:
        """Return the wait for a body of which only worker threads have to end calls; `end` follows."""
        return self.router.completions.wait_for_body(body)

    def end(self, body: "PendingBody", limiter: RateLimiter | None = None) -> HttpReply:
        """Return the reply to a body whose calls are all answered."""
        return self.settled(body.take_reply(), limiter)

    async def _answer_large(
        self, body: bytes, exchange: RequestExchange | None, limiter: RateLimiter | None
    ) -> HttpReply:
        """Answer a body whose parsing takes long, in a slice."""
        await self.time_slices.begin(limiter, is_public=self._is_public)
        try:
            scheduled = None if limiter is None else limiter.scheduled
            entered = self._respond(body, 0, None, scheduled, exchange is not None, True)
            assert entered is not None, "a large body is parsed now"
            reply = self.answer_entered(entered, exchange, limiter)
        finally:
            self.time_slices.end()
        return reply if isinstance(reply, tuple) else await reply

    async def finish(self, run: BodyRun, limiter: RateLimiter | None = None) -> HttpReply:
        """Run a body to its end, and return the reply."""
        await run.finish()
        return self.end(run.body, limiter)

    def settled(self, answered: "bytes | Answered", limiter: RateLimiter | None = None) -> HttpReply:
        """Return the reply that the core has answered."""
        if isinstance(answered, bytes):
            return OK, answered, 0
        self._record(answered.slow, limiter)
        return answered.status, answered.response, answered.seconds

    def _record(self, slow: Iterable[SlowCall], limiter: RateLimiter | None) -> None:
        """Count calls of the caller with this rate limiter that were not quick."""
        key = None if limiter is None else limiter.key
        for method, seconds, size, calls in slow:
            self.call_metrics.record(method, seconds, size, self._tier, key, calls=calls)
