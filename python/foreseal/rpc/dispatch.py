"""Dispatch of request bodies: from the bytes of a body to the bytes of its answer."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from foreseal.errors import RpcError
from foreseal.rpc import error_codes
from foreseal.rpc.batch import Batch, WaitingCall
from foreseal.rpc.call_metrics import QUICK, CallMetrics
from foreseal.rpc.call_router import CallRouter
from foreseal.rpc.completions import Completions
from foreseal.rpc.core_protocol import Answer, CallOutcome, Core, SlowCall
from foreseal.rpc.filters import TierFilters
from foreseal.rpc.limits import Limits, ResponseBudget
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.registry import Registry
from foreseal.rpc.rejected_call import RejectedCall, as_rejected_call
from foreseal.rpc.response_envelope import NULL, failure, over_limit, success
from foreseal.rpc.session import ConnectionSession, RequestExchange
from foreseal.rpc.submissions import METHOD, SubmittedBody
from foreseal.rpc.subscription import Subscriber
from foreseal.rpc.time_slices import TimeSlices

if TYPE_CHECKING:
    from foreseal._core import ParsedBody, ParsedCall, Submitted

HttpReply = tuple[int, Answer, int]
"""HTTP status, body, and the seconds after which the caller may retry (0: not stated)."""

StartedReply = tuple[bytes | None, str, CallOutcome | asyncio.Future[CallOutcome]]
"""A started call: JSON of its id (None for a notification), method, outcome or the future of it."""

OK, NO_CONTENT = 200, 204

# Seconds of inline calls in one slice of a batch, before other requests are served.
_SLICE = 0.001
# Size in bytes above which a body is parsed in its own slice.
_LARGE_BODY = 32 * 1024
# Size in bytes above which a body is rejected unparsed if the caller has no tokens or processor time.
_SMALL_BODY = 2048
# Processor time for each byte of an answer, seconds: it is copied to Python, into its envelope and to the socket.
_BYTE_TIME = 3e-9


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
        self._largest = limits.response
        entrance = core.entrance(
            response=limits.response,
            depth=limits.depth,
            batch=limits.batch,
            values=limits.values,
            parsed=_LARGE_BODY,
            quick=QUICK,
        )
        for method in (*self.router.owned, *registry.methods):
            entrance.exclude(method)
        registry.watchers.append(entrance.exclude)
        self.call_metrics.include_entrance(entrance)
        # Not at import: the supervisor imports this module, and loads no core.
        from foreseal._core import Answered, Entrance, Submitted

        self._answered, self._submitted = Answered, Submitted
        self.entrance = entrance if isinstance(entrance, Entrance) else None
        """Entrance of the core, for a transport that answers there; None for a test double."""
        self._respond = entrance.respond
        self._respond_to_frames = entrance.respond_to_frames
        self._parse = entrance.parse

    def session(self, link: Subscriber, limiter: RateLimiter | None = None) -> ConnectionSession:
        """Return the session of a new connection of the caller with this rate limiter."""

        def call(method: str, params: bytes) -> CallOutcome | asyncio.Future[CallOutcome]:
            # A page of a catch-up costs one token; its bytes are charged as processor time.
            return _charged("", limiter) or self.router.run(self._core, method, params, None, limiter)

        return ConnectionSession(self.router.completions.hub, call, link, self._limits, limiter, self._core)

    def respond(
        self, data: bytes, start: int = 0, head: bytes | None = None, limiter: RateLimiter | None = None
    ) -> "bytes | Submitted | ParsedBody | None":
        """Pass the body at `start` of `data` to the core, for a caller without limits; see `RequestEntrance.respond`.

        With `head`, the first lines of an HTTP response, the response is a whole one. Pass the body on to
        `register_submission` if it is `Submitted`, and to `answer_on_slow_path` if it is not answered.
        """
        completions = self.router.completions
        ticket = completions.ticket if len(completions) < self._limits.calls else None
        found = self._respond(data, start, head, ticket, None if limiter is None else limiter.scheduled)
        if isinstance(found, self._answered):
            self.record_slow_calls(found.slow)
            return found.response
        return found

    def expect(self, submitted: "Submitted", notify: Callable[[SubmittedBody], None]) -> SubmittedBody:
        """Register a body that was just submitted. `notify` is called when `finish` can return the answer."""
        submission = SubmittedBody(notify, perf_counter(), submitted.calls, is_batch=submitted.is_batch)
        self.router.completions.register_submission(submission)
        return submission

    def respond_to_frames(self, data: bytes, max_size: int) -> tuple[bytes, int] | None:
        """Return the frames that answer the leading WebSocket frames of `data`, and the number of bytes consumed.

        The caller has no rate limiter. Each answered frame is a text message of at most `max_size` bytes that qualifies
        for the fast path; None if the first frame does not qualify.
        """
        found = self._respond_to_frames(data, max_size)
        if found is None:
            return None
        frames, end, slow = found
        self.record_slow_calls(slow)
        return frames, end

    def record_slow_calls(self, calls: Iterable[SlowCall]) -> None:
        """Count calls that were not quick."""
        for call in calls:
            self.call_metrics.record(*call, self._tier)

    def answer(
        self, body: bytes, exchange: RequestExchange | None = None, limiter: RateLimiter | None = None
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        """Answer one request body: at once, unless it is a batch or waits for a worker thread.

        `exchange` belongs to the persistent connection of the body, if there is one. `limiter` is that of the caller; a
        caller with its own limits pays for an invalid request as for a call. Cancelling the returned coroutine cancels
        the calls in progress, except submissions.
        """
        if limiter is not None and limiter.is_limited:
            return self.answer_on_slow_path(body, exchange, limiter)
        found = self.respond(body, 0, None, limiter)
        if isinstance(found, bytes):
            return OK, found, 0
        if isinstance(found, self._submitted):
            done: asyncio.Future[SubmittedBody] = asyncio.get_running_loop().create_future()
            submission = self.expect(found, done.set_result)
            if exchange is not None:
                exchange.detach()
            return self._finish_later(submission, done)
        return self.answer_on_slow_path(body, exchange, limiter, found)

    def answer_on_slow_path(
        self,
        body: bytes,
        exchange: RequestExchange | None = None,
        limiter: RateLimiter | None = None,
        parsed: "ParsedBody | None" = None,
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        """Answer a body on the slow path; see `answer`. `parsed` is the body if the core has parsed it already."""
        if parsed is None and len(body) > _LARGE_BODY:
            return self._answer_large(body, exchange, limiter)
        return self._parse_and_answer(body, exchange, limiter, parsed)

    async def _answer_large(
        self, body: bytes, exchange: RequestExchange | None, limiter: RateLimiter | None
    ) -> HttpReply:
        """Answer a body whose parsing takes long, in a slice."""
        await self.time_slices.begin(limiter, is_public=self._is_public)
        try:
            reply = self._parse_and_answer(body, exchange, limiter)
        finally:
            self.time_slices.end()
        return reply if isinstance(reply, tuple) else await reply

    def _parse_and_answer(
        self,
        body: bytes,
        exchange: RequestExchange | None,
        limiter: RateLimiter | None,
        parsed: "ParsedBody | None" = None,
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        if limiter is None:
            return self._answer_parsed(parsed or self._parse(body), exchange, None)
        if parsed is None and len(body) > _SMALL_BODY:
            refusal = limiter.check_exhausted()
            if refusal is not None:
                return self._refuse(refusal)
        begun = perf_counter()
        try:
            return self._answer_parsed(parsed or self._parse(body), exchange, limiter)
        finally:
            limiter.charge_cpu(perf_counter() - begun)

    def _answer_parsed(
        self, parsed: "ParsedBody", exchange: RequestExchange | None, limiter: RateLimiter | None
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        begun = perf_counter()
        if parsed.error is not None:
            return self._refuse(parsed.error, limiter)
        if parsed.is_batch:
            return self._answer_batch(parsed.calls, exchange, limiter)
        [call] = parsed.calls
        ident, method = call.id, call.method
        if call.error is not None:
            return self._reply(ident, "", _charged("", limiter) or call.error, begun, limiter)
        if limiter is not None:
            refusal = limiter.charge_call(method)
            if refusal is not None:
                # The method was not looked up, so the call is counted without a name.
                return self._reply(ident, "", refusal, begun, limiter)
        outcome = self.router.run(self._core, method, call.params, exchange, limiter)
        if isinstance(outcome, asyncio.Future):
            if exchange is not None:
                exchange.detach()
            return self._answer_later(ident, method, outcome, begun, limiter)
        return self._reply(ident, method, outcome, begun, limiter)

    async def _answer_later(
        self,
        ident: bytes | None,
        method: str,
        future: asyncio.Future[CallOutcome],
        begun: float,
        limiter: RateLimiter | None,
    ) -> HttpReply:
        return self._reply(ident, method, await self._outcome(future), begun, limiter)

    async def _outcome(self, future: asyncio.Future[CallOutcome]) -> CallOutcome:
        """Wait for a call on a worker thread; cancel the call if the waiting task is cancelled."""
        try:
            outcome = await future
        except asyncio.CancelledError:
            self.router.completions.cancel(future)
            raise
        return as_rejected_call(outcome) if isinstance(outcome, RpcError) else outcome

    def finish(self, submission: SubmittedBody) -> HttpReply:
        """Return the answer to a submitted body once its outcomes have arrived."""
        outcomes, begun = submission.outcomes, submission.begun
        if outcomes.__class__ is bytes:
            self.call_metrics.record(METHOD, perf_counter() - begun, len(outcomes), self._tier, calls=submission.calls)
            return OK, outcomes, 0
        if not submission.is_batch:
            [(ident, outcome)] = outcomes
            return self._reply(ident, METHOD, outcome, begun, None)
        allowance = ResponseBudget(self._limits.response)
        answers = [bytes(self._render(ident, METHOD, outcome, begun, None, allowance)) for ident, outcome in outcomes]
        return OK, b"[%b]" % b",".join(answers), 0

    async def _finish_later(self, submission: SubmittedBody, done: asyncio.Future[SubmittedBody]) -> HttpReply:
        try:
            return self.finish(await done)
        finally:
            submission.cancel()

    async def _answer_batch(
        self, requests: "list[ParsedCall]", exchange: RequestExchange | None, limiter: RateLimiter | None
    ) -> HttpReply:
        # A WebSocket has no status codes: there each entry is rejected individually.
        if limiter is not None and exchange is None:
            refusal = limiter.check_exhausted()
            if refusal is not None:
                return self._refuse(refusal)
        batch = Batch(requests, self._core.view(), ResponseBudget(self._limits.response), exchange, limiter)
        try:
            await self._run_batch(batch)
        except asyncio.CancelledError:
            for waiting in batch.waiting:
                self.router.completions.cancel(waiting.outcome)
            raise
        answers = b",".join(filter(None, batch.answers))
        return (OK, b"[%b]" % answers, 0) if answers else (NO_CONTENT, b"", 0)

    async def _run_batch(self, batch: Batch) -> None:
        """Start the calls slice by slice, and wait for those that are not answered at once."""
        while batch.is_unstarted:
            await self.time_slices.begin(batch.limiter, is_public=self._is_public)
            try:
                self._start_slice(batch)
            finally:
                self.time_slices.end()
            while batch.is_full:
                await self._settle(batch)
        while batch.waiting:
            await self._settle(batch)

    def _start_slice(self, batch: Batch) -> None:
        """Start calls of a batch that has room for one: at least one, so that every slice makes progress."""
        begun = perf_counter()
        self._start_next(batch)
        while batch.is_unstarted and not batch.is_full and perf_counter() - begun < _SLICE:
            self._start_next(batch)
        if batch.limiter is not None:
            batch.limiter.charge_cpu(perf_counter() - begun)

    async def _settle(self, batch: Batch) -> None:
        """Wait for the oldest call in progress of a batch."""
        position, ident, method, begun, future = batch.waiting[0]
        outcome = await self._outcome(future)
        batch.waiting.popleft()
        batch.answers[position] = bytes(self._render(ident, method, outcome, begun, batch.limiter, batch.allowance))

    def _start_next(self, batch: Batch) -> None:
        index, begun = batch.next, perf_counter()
        batch.next += 1
        ident, method, outcome = self._start(batch, batch.requests[index])
        if isinstance(outcome, asyncio.Future):
            if batch.exchange is not None:
                batch.exchange.detach()
            batch.waiting.append(WaitingCall(index, ident, method, begun, outcome))
        else:
            batch.answers[index] = bytes(self._render(ident, method, outcome, begun, batch.limiter, batch.allowance))

    def _start(self, batch: Batch, call: "ParsedCall") -> StartedReply:
        limiter, ident, method = batch.limiter, call.id, call.method
        if call.error is not None:
            return ident, "", _charged("", limiter) or call.error
        refusal = _charged(method, limiter)
        if refusal is not None:
            return ident, "", refusal
        if not batch.allowance.left:
            # The method was not called or looked up, so the call is counted without a name.
            return ident, "", self._too_large()
        return ident, method, self.router.run(batch.view, method, call.params, batch.exchange, limiter)

    def _too_large(self) -> RpcError:
        limit = self._limits.response
        return over_limit("response", limit, f"the response is larger than {limit} bytes")

    def _refuse(self, error: RpcError, limiter: RateLimiter | None = None) -> HttpReply:
        return self._reply(NULL, "", _charged("", limiter) or error, perf_counter(), limiter)

    def _reply(
        self, ident: bytes | None, method: str, outcome: CallOutcome, begun: float, limiter: RateLimiter | None
    ) -> HttpReply:
        answer = self._render(ident, method, outcome, begun, limiter)
        if not answer:
            return NO_CONTENT, answer, 0
        return (outcome.status, answer, outcome.seconds) if isinstance(outcome, RejectedCall) else (OK, answer, 0)

    def _render(
        self,
        ident: bytes | None,
        method: str,
        outcome: CallOutcome,
        begun: float,
        limiter: RateLimiter | None,
        allowance: ResponseBudget | None = None,
    ) -> Answer:
        """Count the call and return its answer; no bytes for a notification."""
        key = None if limiter is None else limiter.key
        if not isinstance(outcome, RpcError):
            size = len(outcome)
            if limiter is not None and size > _LARGE_BODY:
                limiter.charge_cpu(size * _BYTE_TIME)
            if allowance.consume(size) if allowance else size <= self._largest:
                self.call_metrics.record(method, perf_counter() - begun, size, self._tier, key)
                return b"" if ident is None else success(ident, outcome)
            outcome = self._too_large()
        code = outcome.args[0]
        # Unknown method names are not recorded: callers could invent any number.
        recorded_method = "" if code == error_codes.METHOD else method
        self.call_metrics.record(recorded_method, perf_counter() - begun, 0, self._tier, key)
        self.call_metrics.failed[recorded_method, code] += 1
        return b"" if ident is None else failure(ident, outcome)


def _charged(method: str, limiter: RateLimiter | None) -> RejectedCall | None:
    return None if limiter is None else limiter.charge_call(method)
