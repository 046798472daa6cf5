"""An open-loop generator: calls at fixed times over many connections, regardless of response times."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from benches.load.client import http_request

Answered = Callable[[bytes], None]
"""Callback that receives the body of a response."""

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_LOOK = 0.004


class Lane(asyncio.Protocol):
    """One keep-alive connection with one call in flight; further calls queue in order."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._waiting: deque[tuple[bytes, Answered]] = deque()
        self._answered: Answered | None = None
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    async def open(self) -> "Lane":
        """Connect."""
        await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self._port)
        return self

    def close(self) -> None:
        """Disconnect."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def call(self, body: bytes, answered: Answered) -> None:
        """Send a body once the responses to earlier calls have arrived."""
        if self._answered is None:
            self._send(body, answered)
        else:
            self._waiting.append((body, answered))

    async def request(self, method: str, *params: object) -> Any:
        """Return the result of a call. Raise RuntimeError on an error."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.call(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), future.set_result)
        answer = orjson.loads(await future)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _send(self, body: bytes, answered: Answered) -> None:
        assert self._transport is not None, "it is open"
        self._answered = answered
        self._transport.write(http_request(self._port, body))

    def data_received(self, data: bytes) -> None:
        self._buffer = data = self._buffer + data if self._buffer else data
        start, end = _body(data)
        if len(data) < end or not end:
            return
        answered = self._answered
        if answered is None or len(data) > end or not data.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"not the one answer to one call: {data[:300]!r}")
        self._buffer, self._answered = b"", None
        if self._waiting:
            self._send(*self._waiting.popleft())
        answered(data[start:].removesuffix(_LAST_CHUNK))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answered is not None:
            raise RuntimeError("the server closed a connection that waits for an answer") from exc


def _body(data: bytes) -> tuple[int, int]:
    """Return the offsets of a response's body and end, by its length or as one chunk; zero if unknown."""
    head = data.find(_HEAD_END)
    if head < 0:
        return 0, 0
    start = head + len(_HEAD_END)
    at = data.find(_LENGTH, 0, head)
    if at >= 0:
        return start, start + int(data[at + len(_LENGTH) : data.find(b"\r", at)])
    line = data.find(b"\r\n", start)
    if line < 0:
        return 0, 0
    return line + 2, line + 2 + int(data[start:line], 16) + len(_LAST_CHUNK)


async def pace(rate: float, send: Sequence[Callable[[], None]]) -> tuple[list[float], list[float]]:
    """Call the functions one after the other, `rate` per second. Return due times and delays in seconds."""
    start = time.perf_counter() + 0.1
    due = [start + number / rate for number in range(len(send))]
    late = []
    for moment, one in zip(due, send, strict=True):
        early = moment - time.perf_counter()
        if early > 0:
            await asyncio.sleep(early)
        late.append(time.perf_counter() - moment)
        one()
    return due, late


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50, p99, p999 and the maximum, in milliseconds."""
    ordered = sorted(seconds)

    def at(part: float) -> float:
        return round(ordered[min(int(len(ordered) * part), len(ordered) - 1)] * 1000, 2)

    return {"p50_ms": at(0.5), "p99_ms": at(0.99), "p999_ms": at(0.999), "max_ms": at(1)}


def fail_with(task: asyncio.Task[object] | None) -> None:
    """Fail the task when a connection fails: it would otherwise wait forever."""
    assert task is not None, "it is called from a task"

    def fail(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        loop.default_exception_handler(context)
        task.cancel(str(context.get("exception")))

    asyncio.get_running_loop().set_exception_handler(fail)


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll a condition every few milliseconds until it holds or the time is up; return if it holds."""
    deadline = time.perf_counter() + seconds
    while not condition() and time.perf_counter() < deadline:  # noqa: ASYNC110 (the condition is no event)
        await asyncio.sleep(_LOOK)
    return condition()
