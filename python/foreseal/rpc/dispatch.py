"""From the bytes of a request body to the bytes of its answer."""

import asyncio
from collections import Counter, deque
from collections.abc import Coroutine
from time import monotonic
from typing import Any

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import codes
from foreseal.rpc.calls import Calls, Refused
from foreseal.rpc.completions import Completions
from foreseal.rpc.core import Core, Outcome, Reader
from foreseal.rpc.envelope import NULL, InvalidRequest, failure, is_deeper, over_limit, read_call, success
from foreseal.rpc.limits import Allowance, Limits
from foreseal.rpc.registry import Registry
from foreseal.rpc.session import Exchange, Link, Session

Reply = tuple[int, bytes]
"""HTTP status and body."""

Started = tuple[bytes | None, str, Outcome | asyncio.Future[Outcome]]
"""A call under way: JSON of its id (None for a notification), method, outcome or the future of it."""

Waiting = tuple[int, bytes | None, str, asyncio.Future[Outcome]]
"""A call of a batch on a core thread: its place, JSON of its id, method, future of its outcome."""

OK, NO_CONTENT = 200, 204

# A batch hands at most this many calls to the core threads at once, so that it cannot fill their queue alone.
_BATCH_WINDOW = 32
# Seconds a batch may answer inline calls before other requests get their turn.
_BATCH_TURN = 0.002


class Dispatcher:
    """Answers request bodies from one node. Used from the event loop's thread only."""

    def __init__(
        self,
        core: Core,
        limits: Limits,
        registry: Registry,
        forbidden: frozenset[str] = frozenset(),
        completions: Completions | None = None,
    ) -> None:
        """`forbidden` names the methods that are refused with HTTP 403 and -32004.

        `completions` are those of another dispatcher of the same node: the node has one way back for all outcomes.
        """
        self.calls = Calls(core, registry, limits.calls, forbidden, completions)
        self.answered: Counter[str] = Counter()
        """Answered calls by method."""
        self.failed: Counter[tuple[str, int]] = Counter()
        """Failed calls by method and error code; the method is empty where none was found."""
        self._core = core
        self._limits = limits
        self._largest = limits.response
        self._shallow = 2 * limits.depth

    def session(self, link: Link) -> Session:
        """The subscriptions of a new connection."""
        return Session(self.calls.completions.hub, self._ask, link, self._limits.subscriptions)

    def answer(self, body: bytes, exchange: Exchange | None = None) -> Reply | Coroutine[Any, Any, Reply]:
        """Answer one request body: at once, unless it is a batch or has to wait for a core thread.

        `exchange` is that of the connection which the body came over, if it is one that stays open.
        """
        try:
            request = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return self._refuse(RpcError(codes.PARSE, f"parse error: {error}", None))
        # A level takes two bytes: what is short cannot be deep.
        if len(body) > self._shallow and self._is_too_deep(request, body):
            most = self._limits.depth
            return self._refuse(over_limit("depth", most, f"JSON nested deeper than {most} levels"))
        if request.__class__ is list:
            return self._answer_batch(request, body, exchange)
        try:
            ident, method, params = read_call(request, body)
        except InvalidRequest as invalid:
            return self._reply(invalid.ident, "", invalid.error)
        outcome = self.calls.run(self._core, method, params, exchange)
        # The one path that nearly every call takes, without a further step; all others below.
        if outcome.__class__ is bytes and ident is not None and len(outcome) <= self._largest:
            self.answered[method] += 1
            return OK, success(ident, outcome)
        if isinstance(outcome, asyncio.Future):
            if exchange is not None:
                exchange.leave()
            return self._answer_later(ident, method, outcome)
        return self._reply(ident, method, outcome)

    async def _answer_later(self, ident: bytes | None, method: str, future: asyncio.Future[Outcome]) -> Reply:
        return self._reply(ident, method, await future)

    def _ask(self, method: str, params: bytes) -> Outcome | asyncio.Future[Outcome]:
        return self.calls.run(self._core, method, params)

    async def _answer_batch(self, requests: list[Any], body: bytes, exchange: Exchange | None) -> Reply:
        most = self._limits.batch
        if not requests:
            return self._refuse(RpcError(codes.REQUEST, "the batch is empty", None))
        if len(requests) > most:
            return self._refuse(over_limit("batch", most, f"a batch may have at most {most} requests"))
        view = self._core.view()
        allowance = Allowance(self._limits.response)
        answers = [b""] * len(requests)
        waiting: deque[Waiting] = deque()
        turn = monotonic() + _BATCH_TURN
        for index, request in enumerate(requests):
            ident, method, outcome = self._start(view, request, body, allowance, exchange)
            if isinstance(outcome, asyncio.Future):
                if exchange is not None:
                    exchange.leave()
                waiting.append((index, ident, method, outcome))
                if len(waiting) == _BATCH_WINDOW:
                    await self._settle(waiting, answers, allowance)
            else:
                answers[index] = self._render(ident, method, outcome, allowance)
            if monotonic() > turn:
                await asyncio.sleep(0)
                turn = monotonic() + _BATCH_TURN
        while waiting:
            await self._settle(waiting, answers, allowance)
        said = b",".join(filter(None, answers))
        return (OK, b"[%b]" % said) if said else (NO_CONTENT, b"")

    async def _settle(self, waiting: deque[Waiting], answers: list[bytes], allowance: Allowance) -> None:
        """Wait for the oldest call of a batch that is under way."""
        index, ident, method, future = waiting.popleft()
        answers[index] = self._render(ident, method, await future, allowance)

    def _start(
        self, reader: Reader, request: Any, body: bytes, allowance: Allowance, exchange: Exchange | None
    ) -> Started:
        try:
            ident, method, params = read_call(request, body)
        except InvalidRequest as invalid:
            return invalid.ident, "", invalid.error
        if not allowance.left:
            # Not called, so nobody knows whether there is such a method: it is counted without its name.
            return ident, "", self._too_large()
        return ident, method, self.calls.run(reader, method, params, exchange)

    def _is_too_deep(self, request: Any, body: bytes) -> bool:
        depth = self._limits.depth
        # Measured exactly only where brackets abound.
        return body.count(b"[") + body.count(b"{") > depth and is_deeper(request, depth)

    def _too_large(self) -> RpcError:
        most = self._limits.response
        return over_limit("response", most, f"the answer is larger than {most} bytes")

    def _refuse(self, error: RpcError) -> Reply:
        return OK, self._render(NULL, "", error)

    def _reply(self, ident: bytes | None, method: str, outcome: Outcome) -> Reply:
        answer = self._render(ident, method, outcome)
        if not answer:
            return NO_CONTENT, answer
        return (outcome.status if isinstance(outcome, Refused) else OK), answer

    def _render(self, ident: bytes | None, method: str, outcome: Outcome, allowance: Allowance | None = None) -> bytes:
        """Count the call and give its answer; no bytes for a notification."""
        if isinstance(outcome, bytes):
            size = len(outcome)
            if allowance.take(size) if allowance else size <= self._largest:
                self.answered[method] += 1
                return b"" if ident is None else success(ident, outcome)
            outcome = self._too_large()
        code = outcome.args[0]
        self.failed[("" if code == codes.METHOD else method), code] += 1
        return b"" if ident is None else failure(ident, outcome)
