"""A body in progress: Python's part of its calls, and the waits for the others."""

import asyncio
import logging
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from foreseal.errors import RpcError
from foreseal.rpc import error_codes
from foreseal.rpc.call_metrics import CallMetrics
from foreseal.rpc.call_router import CallRouter
from foreseal.rpc.completions import BodyWait, Completions
from foreseal.rpc.core_protocol import CallOutcome, Core
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.rejected_call import RejectedCall
from foreseal.rpc.session import RequestExchange
from foreseal.rpc.time_slices import TimeSlices

if TYPE_CHECKING:
    from foreseal._core import PendingBody

log = logging.getLogger(__name__)

ANSWERED, SLICE, WAITING, CALL = "answered", "slice", "waiting", "call"
"""States of a body, see `PendingBody.proceed`."""


def _internal_error(method: str, error: BaseException) -> RpcError:
    log.error("call failed", extra={"method": method}, exc_info=error)
    return RpcError(error_codes.INTERNAL, "internal error", None)


class CallTools:
    """Objects that the calls of one dispatcher share."""

    __slots__ = ("core", "is_public", "metrics", "router", "tier", "time_slices")

    def __init__(
        self,
        core: Core,
        router: CallRouter,
        metrics: CallMetrics,
        time_slices: TimeSlices,
        tier: str,
        *,
        is_public: bool,
    ) -> None:
        self.core, self.router, self.metrics = core, router, metrics
        self.time_slices, self.tier, self.is_public = time_slices, tier, is_public


class BodyRun:
    """One body in progress. Used from the event loop's thread only."""

    __slots__ = ("_calls", "_completions", "_exchange", "_limiter", "_state", "_tools", "_wait", "body")

    def __init__(
        self, tools: CallTools, body: "PendingBody", exchange: RequestExchange | None, limiter: RateLimiter | None
    ) -> None:
        """Create the run of `body`, of a connection if it has an `exchange`, of the caller with this rate limiter."""
        self.body = body
        self._tools = tools
        self._completions: Completions = tools.router.completions
        self._exchange = exchange
        self._limiter = limiter
        # Calls of Python that are not answered.
        self._calls: list[asyncio.Future[CallOutcome]] = []
        self._wait: BodyWait | None = None
        self._state = SLICE

    @property
    def is_answered(self) -> bool:
        """True if all calls are answered."""
        return self._state == ANSWERED

    def proceed(self) -> None:
        """Start calls within the current slice."""
        self._state = self._proceed()
        if self._state == WAITING:
            self._wait = self._completions.wait_for_body(self.body)
            if self._exchange is not None:
                self._exchange.detach()

    async def finish(self) -> None:
        """Run the calls to their end. Cancelling it cancels the calls in progress, except submissions."""
        tools, body = self._tools, self.body
        try:
            while True:
                if self._wait is not None:
                    await self._wait.wait()
                    self._wait = None
                if body.is_answered:
                    return
                await tools.time_slices.begin(self._limiter, is_public=tools.is_public)
                try:
                    body.begin_slice()
                    self.proceed()
                finally:
                    tools.time_slices.end()
        except asyncio.CancelledError:
            body.cancel()
            if self._calls and self._wait is not None:
                self._completions.wake(self.body.ticket)
            calls, self._calls = self._calls, []
            for call in calls:
                self._completions.cancel(call)
            raise

    def _proceed(self) -> str:
        while True:
            state, index, wait = self.body.proceed()
            if state == CALL:
                self._call(index)
            elif state in {ANSWERED, SLICE, WAITING}:
                return state
            else:
                assert self._limiter is not None, "only callers with budgets are refused"
                begun = perf_counter()
                # The method is not looked up, so the call is counted without a name.
                self._add(index, "", begun, self._limiter.refuse(state, wait))
                self._limiter.charge_cpu(perf_counter() - begun)

    def _call(self, index: int) -> None:
        """Run a call that Python owns, or refuses."""
        begun, tools, body = perf_counter(), self._tools, self.body
        method, params = body.request(index)
        reader = tools.core.view_of(body) if body.is_batch else tools.core
        outcome = tools.router.run(reader, method, params, self._exchange, self._limiter)
        if isinstance(outcome, asyncio.Future):
            self._calls.append(outcome)
            if self._exchange is not None:
                self._exchange.detach()
            outcome.add_done_callback(partial(self._called, index, method, begun))
        else:
            self._add(index, method, begun, outcome)
        if self._limiter is not None:
            self._limiter.charge_cpu(perf_counter() - begun)

    def _called(self, index: int, method: str, begun: float, call: asyncio.Future[CallOutcome]) -> None:
        """Add the outcome of a call that Python owns."""
        if call not in self._calls:
            return
        self._calls.remove(call)
        if call.cancelled():
            outcome: CallOutcome = _internal_error(method, asyncio.CancelledError())
        else:
            error = call.exception()
            outcome = call.result() if error is None else _internal_error(method, error)
        self._add(index, method, begun, outcome)

    def _add(self, index: int, method: str, begun: float, outcome: CallOutcome) -> None:
        """Count a call and add its outcome."""
        tools, size = self._tools, 0
        if isinstance(outcome, RpcError):
            code, message, data = outcome.args
            status, seconds = (outcome.status, outcome.seconds) if isinstance(outcome, RejectedCall) else (0, 0)
            added, is_due = self.body.reject(index, code, message, data, status, seconds)
        else:
            size = len(outcome)
            added, is_due = self.body.answer(index, outcome)
        key = None if self._limiter is None else self._limiter.key
        # Unknown method names are not recorded: callers could invent any number.
        recorded = "" if added == error_codes.METHOD else method
        tools.metrics.record(recorded, perf_counter() - begun, 0 if added else size, tools.tier, key)
        if added is not None:
            tools.metrics.failed[recorded, added] += 1
        if is_due:
            self._completions.wake(self.body.ticket)
