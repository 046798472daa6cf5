"""Dispatch of request bodies: from the bytes of a body to the bytes of its answer."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from time import perf_counter
from typing import Any

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import codes
from foreseal.rpc.batch import Batch, WaitingCall
from foreseal.rpc.calls import Calls
from foreseal.rpc.completions import Completions
from foreseal.rpc.core import Core, Outcome
from foreseal.rpc.counts import QUICK, Counts
from foreseal.rpc.envelope import (
    NULL,
    InvalidRequest,
    count_values,
    failure,
    is_deeper,
    over_limit,
    read_call,
    success,
)
from foreseal.rpc.filters import TierFilters
from foreseal.rpc.limits import Allowance, Limits
from foreseal.rpc.meter import Meter
from foreseal.rpc.refused import Refused, as_refused
from foreseal.rpc.registry import Registry
from foreseal.rpc.session import Exchange, Link, Session
from foreseal.rpc.slices import Slices
from foreseal.rpc.submissions import JSON as SUBMISSION
from foreseal.rpc.submissions import METHOD, Submitted

Reply = tuple[int, bytes, int]
"""HTTP status, body, and the seconds after which the caller may retry (0: not stated)."""

Started = tuple[bytes | None, str, Outcome | asyncio.Future[Outcome]]
"""A started call: JSON of its id (None for a notification), method, outcome or the future of it."""

OK, NO_CONTENT = 200, 204

# Seconds of inline calls in one slice of a batch, before other requests are served.
_SLICE = 0.001
# Size in bytes above which a body is parsed in its own slice.
_LARGE_BODY = 32 * 1024
# Size in bytes above which a body is rejected unparsed if the caller has no tokens or processor time.
_SMALL_BODY = 2048
# Processor time of the event loop for each byte of an answer, seconds: it is copied and written there.
_BYTE_TIME = 1e-9


class Dispatcher:
    """Answers request bodies from one node. Used from the event loop's thread only."""

    def __init__(
        self,
        core: Core,
        limits: Limits,
        registry: Registry,
        forbidden: Mapping[str, str] | None = None,
        completions: Completions | None = None,
        counts: Counts | None = None,
        tier: str = "",
        slices: Slices | None = None,
        filters: TierFilters | None = None,
        *,
        is_public: bool = False,
    ) -> None:
        """Create a dispatcher. `forbidden` maps methods rejected with HTTP 403 and -32004 to error messages.

        Dispatchers of one node share `completions`, because the node has one queue of outcomes; they may also share
        `counts` and `slices`. `tier` is the name of the callers' tier, for the log, and `filters` are their filters.
        Long work of public callers runs after that of others.
        """
        self.slices = slices or Slices()
        """Slices of the event loop for long work."""
        self.calls = Calls(core, registry, limits.calls, forbidden or {}, completions, filters)
        self.counts = counts or Counts()
        """Metrics of the calls."""
        self._tier = tier
        self._is_public = is_public
        self._core = core
        self._limits = limits
        self._largest = limits.response
        self._shallow = 2 * limits.depth
        self._within = limits.response, limits.depth, limits.batch
        inline = core.inline(*self._within, QUICK)
        self._leave_out = inline.leave_out
        self._takes_submissions = True
        for method in (*self.calls.owned, *registry.methods):
            self._go_long(method)
        registry.watchers.append(self._go_long)
        self.counts.count_in(inline)
        self._inline = inline.answer
        self._converse = inline.converse

    def _go_long(self, method: str) -> None:
        """Exclude a method from the fast path from now on."""
        self._leave_out(method)
        if method == METHOD:
            self._takes_submissions = False

    def session(self, link: Link, meter: Meter | None = None) -> Session:
        """Return the session of a new connection of the caller with this meter."""

        def ask(method: str, params: bytes) -> Outcome | asyncio.Future[Outcome]:
            return _charged(method, meter) or self.calls.run(self._core, method, params, None, meter)

        return Session(self.calls.completions.hub, ask, link, self._limits, meter)

    def respond(self, data: bytes, start: int = 0, head: bytes | None = None) -> bytes | None:
        """Answer the body at `start` of `data` on the fast path; None if it does not qualify.

        The caller has no meter. With `head`, the first lines of an HTTP response, the result is a whole response.
        """
        found = self._inline(data, start, head)
        if found is None:
            return None
        answer, slow = found
        for call in slow:
            self.counts.add(*call, self._tier)
        return answer

    def converse(self, data: bytes, most: int) -> tuple[bytes, int] | None:
        """Return the frames that answer the leading WebSocket frames of `data`, and the number of bytes consumed.

        The caller has no meter. Each answered frame is a text message of at most `most` bytes that qualifies for the
        fast path; None if the first frame does not qualify.
        """
        found = self._converse(data, most)
        if found is None:
            return None
        frames, end, slow = found
        for call in slow:
            self.counts.add(*call, self._tier)
        return frames, end

    def answer(
        self, body: bytes, exchange: Exchange | None = None, meter: Meter | None = None
    ) -> Reply | Coroutine[Any, Any, Reply]:
        """Answer one request body: at once, unless it is a batch or waits for a worker thread.

        `exchange` belongs to the persistent connection of the body, if there is one. `meter` is that of the caller; a
        caller with its own limits pays for an invalid request as for a call. Cancelling the returned coroutine cancels
        the calls in progress, except submissions.
        """
        if meter is None or not meter.is_limited:
            if SUBMISSION in body:
                told: asyncio.Future[Submitted] = asyncio.get_running_loop().create_future()
                submitted = self.hand_over(body, 0, told.set_result, meter=meter)
                if submitted is not None:
                    if exchange is not None:
                        exchange.leave()
                    return self._finish_later(submitted, told)
            short = self.respond(body)
            if short is not None:
                return OK, short, 0
        return self.answer_at_length(body, exchange, meter)

    def answer_at_length(
        self, body: bytes, exchange: Exchange | None = None, meter: Meter | None = None
    ) -> Reply | Coroutine[Any, Any, Reply]:
        """Answer a body on the slow path; see `answer`."""
        if len(body) > _LARGE_BODY:
            return self._answer_large(body, exchange, meter)
        return self._answer_now(body, exchange, meter)

    async def _answer_large(self, body: bytes, exchange: Exchange | None, meter: Meter | None) -> Reply:
        """Answer a body whose parsing takes long, in a slice."""
        await self.slices.begin(meter, is_public=self._is_public)
        try:
            reply = self._answer_now(body, exchange, meter)
        finally:
            self.slices.end()
        return reply if isinstance(reply, tuple) else await reply

    def _answer_now(
        self, body: bytes, exchange: Exchange | None, meter: Meter | None
    ) -> Reply | Coroutine[Any, Any, Reply]:
        if meter is None:
            return self._parse_and_answer(body, exchange, None)
        if len(body) > _SMALL_BODY:
            refusal = meter.nothing_left()
            if refusal is not None:
                return self._refuse(refusal)
        begun = perf_counter()
        try:
            return self._parse_and_answer(body, exchange, meter)
        finally:
            meter.use(perf_counter() - begun)

    def _parse_and_answer(
        self, body: bytes, exchange: Exchange | None, meter: Meter | None
    ) -> Reply | Coroutine[Any, Any, Reply]:
        begun = perf_counter()
        most = self._limits.values
        # Counted before parsing, whose time depends on the number of values more than on their size.
        if len(body) > most and count_values(body) > most:
            return self._refuse(over_limit("values", most, f"the body has more than {most} JSON values"), meter)
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return self._refuse(RpcError(codes.PARSE, f"parse error: {error}", None), meter)
        # A level takes two bytes: a short body cannot be deep.
        if len(body) > self._shallow and self._is_too_deep(request, body):
            most = self._limits.depth
            return self._refuse(over_limit("depth", most, f"JSON nested deeper than {most} levels"), meter)
        if request.__class__ is list:
            return self._answer_batch(request, body, exchange, meter)
        try:
            ident, method, params = read_call(request, body)
        except InvalidRequest as invalid:
            return self._reply(invalid.ident, "", _charged("", meter) or invalid.error, begun, meter)
        if meter is not None:
            refusal = meter.charge(method)
            if refusal is not None:
                # The method was not looked up, so the call is counted without a name.
                return self._reply(ident, "", refusal, begun, meter)
        outcome = self.calls.run(self._core, method, params, exchange, meter)
        if isinstance(outcome, asyncio.Future):
            if exchange is not None:
                exchange.leave()
            return self._answer_later(ident, method, outcome, begun, meter)
        return self._reply(ident, method, outcome, begun, meter)

    async def _answer_later(
        self, ident: bytes | None, method: str, future: asyncio.Future[Outcome], begun: float, meter: Meter | None
    ) -> Reply:
        return self._reply(ident, method, await self._outcome(future), begun, meter)

    async def _outcome(self, future: asyncio.Future[Outcome]) -> Outcome:
        """Wait for a call on a worker thread; cancel the call if the waiting task is cancelled."""
        try:
            outcome = await future
        except asyncio.CancelledError:
            self.calls.completions.cancel(future)
            raise
        return as_refused(outcome) if isinstance(outcome, RpcError) else outcome

    def hand_over(
        self,
        data: bytes,
        start: int,
        tell: Callable[[Submitted], None],
        head: bytes | None = None,
        meter: Meter | None = None,
    ) -> Submitted | None:
        """Submit the body at `start` of `data`, for a caller without limits; None if it must take another path.

        `tell` is called when `finish` can return the answer. With `head` the answer is a whole response as in
        `respond`, unless it contains an error.
        """
        completions = self.calls.completions
        if not self._takes_submissions or len(completions) >= self._limits.calls:
            return None
        begun = perf_counter()
        scheduled = None if meter is None else meter.scheduled
        taken = self._core.hand_over(data, start, self._within, completions.ticket, head, scheduled)
        if taken is None:
            return None
        calls, is_batch = taken
        submitted = Submitted(data[start:], tell, begun, calls, is_batch=is_batch)
        completions.expect(submitted)
        return submitted

    def finish(self, submitted: Submitted) -> Reply:
        """Return the answer to a submitted body once its outcomes have arrived."""
        outcomes, begun = submitted.outcomes, submitted.begun
        if outcomes.__class__ is bytes:
            self.counts.add(METHOD, perf_counter() - begun, len(outcomes), self._tier, calls=submitted.calls)
            return OK, outcomes, 0
        if isinstance(outcomes, RpcError):
            request = orjson.loads(submitted.body)
            requests = request if submitted.is_batch else [request]
            outcomes = [(orjson.dumps(one["id"]), outcomes) for one in requests]
        if not submitted.is_batch:
            [(ident, outcome)] = outcomes
            return self._reply(ident, METHOD, outcome, begun, None)
        allowance = Allowance(self._limits.response)
        answers = [self._render(ident, METHOD, outcome, begun, None, allowance) for ident, outcome in outcomes]
        return OK, b"[%b]" % b",".join(answers), 0

    async def _finish_later(self, submitted: Submitted, told: asyncio.Future[Submitted]) -> Reply:
        try:
            return self.finish(await told)
        finally:
            submitted.cancel()

    async def _answer_batch(
        self, requests: list[Any], body: bytes, exchange: Exchange | None, meter: Meter | None
    ) -> Reply:
        most = self._limits.batch
        if not requests:
            return self._refuse(RpcError(codes.REQUEST, "the batch is empty", None), meter)
        if len(requests) > most:
            return self._refuse(over_limit("batch", most, f"a batch may have at most {most} requests"), meter)
        # A WebSocket has no status codes: there each entry is rejected individually.
        if meter is not None and exchange is None:
            refusal = meter.nothing_left()
            if refusal is not None:
                return self._refuse(refusal)
        batch = Batch(requests, body, self._core.view(), Allowance(self._limits.response), exchange, meter)
        try:
            await self._run_batch(batch)
        except asyncio.CancelledError:
            for waiting in batch.waiting:
                self.calls.completions.cancel(waiting.outcome)
            raise
        said = b",".join(filter(None, batch.answers))
        return (OK, b"[%b]" % said, 0) if said else (NO_CONTENT, b"", 0)

    async def _run_batch(self, batch: Batch) -> None:
        """Start the calls slice by slice, and wait for those that are not answered at once."""
        while batch.is_unstarted:
            await self.slices.begin(batch.meter, is_public=self._is_public)
            try:
                self._start_slice(batch)
            finally:
                self.slices.end()
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
        if batch.meter is not None:
            batch.meter.use(perf_counter() - begun)

    async def _settle(self, batch: Batch) -> None:
        """Wait for the oldest call in progress of a batch."""
        position, ident, method, begun, future = batch.waiting[0]
        outcome = await self._outcome(future)
        batch.waiting.popleft()
        batch.answers[position] = self._render(ident, method, outcome, begun, batch.meter, batch.allowance)

    def _start_next(self, batch: Batch) -> None:
        index, begun = batch.next, perf_counter()
        batch.next += 1
        ident, method, outcome = self._start(batch, batch.requests[index])
        if isinstance(outcome, asyncio.Future):
            if batch.exchange is not None:
                batch.exchange.leave()
            batch.waiting.append(WaitingCall(index, ident, method, begun, outcome))
        else:
            batch.answers[index] = self._render(ident, method, outcome, begun, batch.meter, batch.allowance)

    def _start(self, batch: Batch, request: Any) -> Started:
        meter = batch.meter
        try:
            ident, method, params = read_call(request, batch.body)
        except InvalidRequest as invalid:
            return invalid.ident, "", _charged("", meter) or invalid.error
        refusal = _charged(method, meter)
        if refusal is not None:
            return ident, "", refusal
        if not batch.allowance.left:
            # The method was not called or looked up, so the call is counted without a name.
            return ident, "", self._too_large()
        return ident, method, self.calls.run(batch.view, method, params, batch.exchange, meter)

    def _is_too_deep(self, request: Any, body: bytes) -> bool:
        depth = self._limits.depth
        # The exact depth is only measured if there are more brackets than levels allowed.
        return body.count(b"[") + body.count(b"{") > depth and is_deeper(request, depth)

    def _too_large(self) -> RpcError:
        most = self._limits.response
        return over_limit("response", most, f"the answer is larger than {most} bytes")

    def _refuse(self, error: RpcError, meter: Meter | None = None) -> Reply:
        return self._reply(NULL, "", _charged("", meter) or error, perf_counter(), meter)

    def _reply(self, ident: bytes | None, method: str, outcome: Outcome, begun: float, meter: Meter | None) -> Reply:
        answer = self._render(ident, method, outcome, begun, meter)
        if not answer:
            return NO_CONTENT, answer, 0
        return (outcome.status, answer, outcome.seconds) if isinstance(outcome, Refused) else (OK, answer, 0)

    def _render(
        self,
        ident: bytes | None,
        method: str,
        outcome: Outcome,
        begun: float,
        meter: Meter | None,
        allowance: Allowance | None = None,
    ) -> bytes:
        """Count the call and return its answer; no bytes for a notification."""
        key = None if meter is None else meter.key
        if isinstance(outcome, bytes):
            size = len(outcome)
            if meter is not None and size > _LARGE_BODY:
                meter.use(size * _BYTE_TIME)
            if allowance.take(size) if allowance else size <= self._largest:
                self.counts.add(method, perf_counter() - begun, size, self._tier, key)
                return b"" if ident is None else success(ident, outcome)
            outcome = self._too_large()
        code = outcome.args[0]
        # Unknown method names are not recorded: callers could invent any number.
        known = "" if code == codes.METHOD else method
        self.counts.add(known, perf_counter() - begun, 0, self._tier, key)
        self.counts.failed[known, code] += 1
        return b"" if ident is None else failure(ident, outcome)


def _charged(method: str, meter: Meter | None) -> Refused | None:
    return None if meter is None else meter.charge(method)
