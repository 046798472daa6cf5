"""Execution of requests over a transport: ids, batches, time limits, and retries."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import orjson

from foreseal.client.errors import ConnectionLost, InvalidResponse, TimedOut
from foreseal.client.options import Options
from foreseal.client.requests import Request
from foreseal.client.sans_io import Flow, perform
from foreseal.errors import RpcError

T = TypeVar("T")

# Error codes of a node that did nothing and will serve the call later.
_STARTING, _LIMIT, _NOT_FOUND = -32002, -32005, -32001
# Error message for a view that an unwind removed during the read. A retry uses the next view.
_VIEW_UNAVAILABLE = "view no longer available"
# Limits that clear within moments.
_TRANSIENT = frozenset(("calls", "caller_calls", "rate"))
_SHOWN = 120


class ClientTransport(Protocol):
    """A transport of calls; under asyncio its methods are coroutine functions of the same names.

    They raise `ConnectionLost` and `TimedOut`, and `InvalidResponse` for an invalid response.
    """

    def exchange(self, body: bytes, seconds: float) -> Any:
        """Return the response to a request body, as bytes; `seconds` is the time limit, here and below."""

    @property
    def dial(self) -> Callable[[float], Any] | None:
        """Opens a new `MessageLink` for a feed, within a time limit in seconds; None if a feed polls."""

    def sleep(self, seconds: float) -> Any:
        """Wait."""

    def close(self) -> Any:
        """Close every connection."""


class MessageLink(Protocol):
    """A connection of one feed, with the conventions of `ClientTransport`."""

    def send(self, message: bytes) -> Any:
        """Send one message."""

    def receive(self, seconds: float) -> Any:
        """Return the next message, bytes or text."""

    def close(self) -> Any:
        """Close it with the closing handshake."""

    def abandon(self) -> None:
        """Close it at once, without waiting; a plain function also under asyncio."""


class ClientSession:
    """A transport and the options of the client."""

    def __init__(self, transport: ClientTransport, options: Options) -> None:
        self.transport = transport
        self.options = options
        self._ids = itertools.count(1)

    def execute(self, request: Request[T]) -> Flow[T]:
        """Return the result of one call. Raise `RpcError` and `ClientError`."""
        lost = False
        for attempt in itertools.count(1):
            last = attempt >= self.options.attempts
            server_delay = 0.0
            try:
                return (yield from self.once(request))
            except (ConnectionLost, TimedOut):
                if last or not request.repeatable:
                    raise
                lost = True
            except RpcError as error:
                server_delay = retry_after(error)
                if last or not is_transient(error) or server_delay > self.options.timeout:
                    if not lost:
                        raise
                    return (yield from self._settle(request, error))
            yield from self.pause(attempt, server_delay)
        raise AssertionError("the loop ends by returning or raising")

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> Flow[list[Any]]:
        """Return the results of calls that the node serves from one view, in their order.

        The first `RpcError` is raised, or with `return_errors` each is placed in the list.
        """
        if not all(isinstance(item, Request) for item in requests):
            raise TypeError("requests must be a list of requests made by foreseal.client.calls")
        if not requests:
            return []
        attempts = self.options.attempts if all(item.repeatable for item in requests) else 1
        lost = False
        for attempt in itertools.count(1):
            server_delay = 0.0
            try:
                outcomes = yield from self._attempt_batch(requests)
                # A node that is starting returns this error for each call.
                if attempt >= self.options.attempts or not all(map(is_transient, outcomes)):
                    break
                server_delay = max(map(retry_after, outcomes))
                if server_delay > self.options.timeout:
                    break
            except RpcError as error:
                # The node rejected the whole batch.
                server_delay = retry_after(error)
                if attempt >= self.options.attempts or not 0 < server_delay <= self.options.timeout:
                    raise
            except (ConnectionLost, TimedOut):
                if attempt >= attempts:
                    raise
                lost = True
            yield from self.pause(attempt, server_delay)
        for index, (request, outcome) in enumerate(zip(requests, outcomes, strict=True)):
            if isinstance(outcome, RpcError):
                try:
                    if not lost:
                        raise outcome
                    outcomes[index] = yield from self._settle(request, outcome)
                except RpcError:
                    if not return_errors:
                        raise
        return outcomes

    def pause(self, failures: int, server_delay: float = 0.0) -> Flow[None]:
        """Wait after this many consecutive failures, at least the seconds that the node requested."""
        wait = max(server_delay, self.options.backoff.wait(failures, self.options.random))
        yield from perform(self.transport.sleep, wait)

    def envelope(self, method: str, params: Sequence[Any]) -> tuple[int, dict[str, Any]]:
        """Return a request object with a unique id."""
        ident = next(self._ids)
        return ident, {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}

    def _settle(self, request: Request[T], error: RpcError) -> Flow[T]:
        """Resolve a call that failed after the response to an earlier attempt was lost.

        Raises the error if that attempt did not succeed.
        """
        question = request.after_loss(error) if request.after_loss is not None else None
        recovered = None if question is None else (yield from self.execute(question))
        if recovered is None:
            raise error
        return recovered

    def once(self, request: Request[T]) -> Flow[T]:
        """Like `execute`, with one attempt."""
        ident, envelope = self.envelope(request.method, request.params)
        body = yield from perform(self.transport.exchange, orjson.dumps(envelope), self.options.timeout + request.extra)
        return read_answer(request, decoded(body), ident)

    def _attempt_batch(self, requests: Sequence[Request[Any]]) -> Flow[list[Any]]:
        calls = [self.envelope(request.method, request.params) for request in requests]
        body = orjson.dumps([envelope for _, envelope in calls])
        timeout = self.options.timeout + sum(request.extra for request in requests)
        answers = decoded((yield from perform(self.transport.exchange, body, timeout)))
        if isinstance(answers, dict) and "error" in answers:
            # The node rejected the whole batch.
            raise failure(answers["error"])
        by_id = _by_id(answers, [ident for ident, _ in calls])
        return [_outcome(request, by_id[ident], ident) for request, (ident, _) in zip(requests, calls, strict=True)]


def is_transient(outcome: Any) -> bool:
    """Return True for a retryable error: the node starts, is overloaded, or lost the view that it read."""
    if not isinstance(outcome, RpcError):
        return False
    if outcome.code == _NOT_FOUND:
        return outcome.message == _VIEW_UNAVAILABLE
    return outcome.code == _STARTING or (outcome.code == _LIMIT and _limit(outcome).get("limit") in _TRANSIENT)


def retry_after(error: Any) -> float:
    """Return the seconds after which a rate-limited call may be retried; 0 for any other error."""
    ms = _limit(error).get("retryAfterMs") if isinstance(error, RpcError) and error.code == _LIMIT else None
    return ms / 1000 if isinstance(ms, int) else 0.0


def _limit(error: RpcError) -> dict[str, Any]:
    """Return the limit that an error names."""
    data = None if error.data is None else orjson.loads(error.data)
    return data if isinstance(data, dict) else {}


def decoded(body: bytes | str) -> Any:
    """Parse a JSON message. Raise `InvalidResponse`."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        shown = body[:_SHOWN] if isinstance(body, str) else body[:_SHOWN].decode(errors="replace")
        raise InvalidResponse(f"the response is not JSON: {shown!r}") from None


def read_answer(request: Request[T], answer: Any, ident: int) -> T:
    """Return the result of a response. Raise `RpcError`, `InvalidResponse`, or `ConnectionLost` for another id."""
    if not isinstance(answer, dict):
        raise InvalidResponse(f"{request.method}: the response is not an object")
    if isinstance(error := answer.get("error"), dict):
        # A response to a call that was rejected before its id was read has no id.
        if answer.get("id") not in (ident, None):
            raise ConnectionLost(f"{request.method}: the response is for another call, id {answer.get('id')!r}")
        raise failure(error)
    if answer.get("id") != ident:
        raise ConnectionLost(f"{request.method}: the response is for another call, id {answer.get('id')!r}")
    if "result" not in answer:
        raise InvalidResponse(f"{request.method}: the response has neither result nor error")
    try:
        return request.read(answer["result"])
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidResponse(f"{request.method}: invalid result: {error!r}") from error


def failure(error: Any) -> RpcError:
    """Convert the error object of a response to an exception. Raise `InvalidResponse`."""
    try:
        code, message, data = int(error["code"]), str(error["message"]), error.get("data")
    except (TypeError, ValueError, KeyError, AttributeError):
        raise InvalidResponse(f"invalid error object: {str(error)[:_SHOWN]}") from None
    return RpcError(code, message, None if data is None else orjson.dumps(data))


def _by_id(answers: Any, idents: Iterable[int]) -> dict[Any, Any]:
    """Return the responses of a batch by id; they may arrive in any order."""
    if not isinstance(answers, list):
        raise InvalidResponse("the response to a batch is not a list")
    answers_by_id = {answer.get("id"): answer for answer in answers if isinstance(answer, dict)}
    missing = [ident for ident in idents if ident not in answers_by_id]
    if missing:
        raise InvalidResponse(f"the response to a batch lacks {len(missing)} calls")
    return answers_by_id


def _outcome(request: Request[Any], answer: Any, ident: int) -> Any:
    try:
        return read_answer(request, answer, ident)
    except RpcError as error:
        return error
