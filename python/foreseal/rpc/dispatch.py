"""From the bytes of a request body to the bytes of its answer."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from time import perf_counter
from typing import Any

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import codes, discovery
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
"""HTTP status, body, and the seconds after which to try again (0: nothing is said of it)."""

Started = tuple[bytes | None, str, Outcome | asyncio.Future[Outcome]]
"""A call under way: JSON of its id (None for a notification), method, outcome or the future of it."""

OK, NO_CONTENT = 200, 204

# Seconds that a batch answers inline calls before other requests get their turn.
_SLICE = 0.001
# A body of more bytes is parsed in a slice of its own.
_LARGE_BODY = 32 * 1024
# A larger body of a caller without tokens or processor time is refused unparsed.
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
        """`forbidden` has the methods that are refused with HTTP 403 and -32004, each with what is said then.

        `completions` are those of another dispatcher of the same node: the node has one way back for all outcomes.
        `counts` and `slices` may be those of another one, too. `tier` is the kind of its callers, for the log, and
        `filters` are theirs; long work of public ones comes after that of others.
        """
        self.slices = slices or Slices()
        """The slices of the event loop that long work gets."""
        self.calls = Calls(core, registry, limits.calls, forbidden or {}, completions, filters)
        self.counts = counts or Counts()
        """What became of the calls."""
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
        for method in (*(forbidden or ()), *registry.methods, *discovery.METHODS):
            self._go_long(method)
        registry.watchers.append(self._go_long)
        self.counts.count_in(inline)
        self._inline = inline.answer
        self._converse = inline.converse

    def _go_long(self, method: str) -> None:
        """Let calls of a method go the long way from now on."""
        self._leave_out(method)
        if method == METHOD:
            self._takes_submissions = False

    def session(self, link: Link, meter: Meter | None = None) -> Session:
        """The subscriptions of a new connection of the caller with this meter."""

        def ask(method: str, params: bytes) -> Outcome | asyncio.Future[Outcome]:
            return _charged(method, meter) or self.calls.run(self._core, method, params, None, meter)

        return Session(self.calls.completions.hub, ask, link, self._limits, meter)

    def respond(self, data: bytes, start: int = 0, head: bytes | None = None) -> bytes | None:
        """The answer to the body at `start` of `data` where there is a short way to it, for a caller without a meter.

        With `head`, the first lines of an HTTP response, it is a whole response.
        """
        found = self._inline(data, start, head)
        if found is None:
            return None
        answer, slow = found
        for call in slow:
            self.counts.add(*call, self._tier)
        return answer

    def converse(self, data: bytes, most: int) -> tuple[bytes, int] | None:
        """The frames that answer the WebSocket frames at the beginning of `data`, and how many of its bytes those take.

        They are texts of `most` bytes at most, of a caller without a meter, to which there is a short way; None where
        it begins with something else.
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
        """Answer one request body: at once, unless it is a batch or has to wait for a core thread.

        `exchange` is that of the connection which the body came over, if it is one that stays open. `meter` is that of
        the caller; for one with limits of its own, what is no call costs as much as one. Cancelling what is returned
        ends the calls under way, but for submissions.
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
        """Answer a body that the fast path does not answer; see `answer`."""
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
        # Counted before they are made: parsing takes longer by their number than by their size.
        if len(body) > most and count_values(body) > most:
            return self._refuse(over_limit("values", most, f"the body has more than {most} JSON values"), meter)
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return self._refuse(RpcError(codes.PARSE, f"parse error: {error}", None), meter)
        # A level takes two bytes: what is short cannot be deep.
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
                # Nobody looked whether there is such a method: it is counted without its name.
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
        """Wait for a call on a thread of the core; end it where the one who waits is cancelled."""
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
        """Hand over the body at `start` of `data`, for a caller without limits; None where it has to go another way.

        `tell` is called when `finish` has the answer: with `head` as for `respond`, unless there is an error in it.
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
        """The answer to a body that was handed over, once it was told of."""
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
        # A connection has no statuses: there each entry is told by itself.
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
        """Start its calls slice by slice, and wait for those that are not answered at once."""
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
        """Start calls of a batch that has room for one: at least one, so that a slice always gets on."""
        begun = perf_counter()
        self._start_next(batch)
        while batch.is_unstarted and not batch.is_full and perf_counter() - begun < _SLICE:
            self._start_next(batch)
        if batch.meter is not None:
            batch.meter.use(perf_counter() - begun)

    async def _settle(self, batch: Batch) -> None:
        """Wait for the oldest call of a batch that is under way."""
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
            # Not called, so nobody knows whether there is such a method: it is counted without its name.
            return ident, "", self._too_large()
        return ident, method, self.calls.run(batch.view, method, params, batch.exchange, meter)

    def _is_too_deep(self, request: Any, body: bytes) -> bool:
        depth = self._limits.depth
        # Measured exactly only where brackets abound.
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
        """Count the call and give its answer; no bytes for a notification."""
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
        # Names that callers make up are not kept.
        known = "" if code == codes.METHOD else method
        self.counts.add(known, perf_counter() - begun, 0, self._tier, key)
        self.counts.failed[known, code] += 1
        return b"" if ident is None else failure(ident, outcome)


def _charged(method: str, meter: Meter | None) -> Refused | None:
    return None if meter is None else meter.charge(method)
