"""A node under measurement: single calls, loads and subscriptions."""

import http.client
import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import orjson

from foreseal._core import Load, Subscribers
from foreseal.bench.errors import BenchError, ErrorResponse
from foreseal.bench.process_usage import ProcessGroup, listening_on
from foreseal.bench.run_metrics import RunMetrics

PATIENCE = 60.0
"""Time limit of one call, in seconds."""


def body(method: str, *params: Any) -> bytes:
    """Return the body of a call."""
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def batch_body(calls: Sequence[tuple[str, Sequence[Any]]]) -> bytes:
    """Return the body of a batch."""
    return orjson.dumps(
        [{"jsonrpc": "2.0", "id": at, "method": method, "params": params} for at, (method, params) in enumerate(calls)]
    )


class BenchNode:
    """A JSON-RPC node at an http:// URL; WebSockets use the same port and path."""

    def __init__(self, name: str, url: str, *, observe: bool = True) -> None:
        """Raise ValueError if the URL cannot be used. Without `observe`, its processes are not searched for."""
        parts = urlsplit(url)
        if parts.scheme != "http":
            raise ValueError(f"{url!r} must be an http:// URL: measure a node on this machine, without TLS")
        if not parts.hostname:
            raise ValueError(f"{url} has no host")
        self.name, self.url = name, url
        self.host, self.port = parts.hostname, parts.port or 80
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._connection: http.client.HTTPConnection | None = None
        self._address = ""
        self._observe = observe
        self._processes: ProcessGroup | None = None

    @property
    def address(self) -> str:
        """Return IP address and port. Raise BenchError if the name does not resolve."""
        if not self._address:
            try:
                infos = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
            except OSError as error:
                raise BenchError(f"{self.name}: {self.host}: {error}") from None
            host = str(infos[0][4][0])
            self._address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        return self._address

    @property
    def processes(self) -> ProcessGroup | None:
        """Its processes, if it runs on this machine and they can be observed."""
        if self._observe and self._processes is None:
            host = self.address.rpartition(":")[0].strip("[]")
            self._processes = listening_on(self.port) if ipaddress.ip_address(host).is_loopback else None
        return self._processes

    @property
    def resident_mb(self) -> float | None:
        """Megabytes of its processes, if they can be observed."""
        return round(self.processes.resident() / 1e6, 1) if self.processes else None

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise ErrorResponse on an error object, BenchError without a response."""
        return self._result(method, self._post(body(method, *params)))

    def call_batch(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Return the results of a batch, in its order."""
        answers = self._post(batch_body(calls))
        if not isinstance(answers, list) or len(answers) != len(calls):
            method = calls[0][0]
            if isinstance(answers, dict):
                self._result(method, answers)
            raise BenchError(f"{self.name}: a batch of {len(calls)} {method} was answered by {answers!r:.300}")
        by_id = {answer.get("id"): answer for answer in answers}
        return [self._result(method, by_id.get(at, {})) for at, (method, _) in enumerate(calls)]

    def load(
        self,
        bodies: Sequence[bytes],
        connections: int,
        seconds: float,
        *,
        rate: float | None = None,
        once: bool = False,
        websocket: bool = False,
        error_code: int | None = None,
        patience: float = 10.0,
        progress: Callable[[int], object] = lambda done: None,
    ) -> RunMetrics:
        """Run a load. Raise BenchError if a response is wrong, or missing after `patience` seconds.

        With an `error_code`, a response is right if it is the error with this code.
        """
        plan = {"connections": connections, "seconds": seconds, "patience": patience, "rate": rate, "once": once}
        plan["error_code"] = error_code
        host = f"{self.host}:{self.port}"
        before = self.processes.cpu() if self.processes else None
        try:
            generator = Load(self.address, host, self.path, websocket)
            measurements = orjson.loads(generator.run(orjson.dumps(plan), list(bodies), progress))
        except OSError as error:
            raise BenchError(f"{self.name}: {error}") from None
        used = self.processes.cpu() - before if self.processes and before is not None else None
        metrics = RunMetrics.from_result(measurements, used)
        if wrong := metrics.first_wrong:
            request = bodies[wrong["body"]][:300].decode(errors="replace")
            status = f"HTTP {wrong['status']}, " if wrong["status"] else ""
            raise BenchError(
                f"{self.name}: {metrics.errors:,} wrong answers; the first, {status}{wrong['why']}: "
                f"{wrong['answer'][:500]!r} to {request}"
            )
        if metrics.unanswered and rate is None:
            raise BenchError(f"{self.name}: {metrics.unanswered:,} requests had no answer after {patience:g} s")
        return metrics

    def without_websockets(self) -> str:
        """Return the reason why no WebSocket opens at the URL; empty if one opens."""
        plan = {"connections": 1, "seconds": PATIENCE, "patience": PATIENCE, "rate": None, "once": True}
        try:
            opened = Load(self.address, f"{self.host}:{self.port}", self.path, True)
            opened.run(orjson.dumps(plan), [body("eth_blockNumber")], lambda done: None)
        except OSError as error:
            return f"{self.name}: {error}"
        return ""

    def subscribers(self, count: int, *params: Any) -> Subscribers:
        """Open this many subscribed connections. Raise BenchError on failure."""
        subscription = body("eth_subscribe", *params)
        host = f"{self.host}:{self.port}"
        try:
            return Subscribers(self.address, host, self.path, subscription, count, PATIENCE)
        except OSError as error:
            raise BenchError(f"{self.name}: {error}") from None

    def close(self) -> None:
        """Close the connection of single calls; the node's processes are searched for again."""
        self._processes = None
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, data: bytes) -> Any:
        headers = {"Content-Type": "application/json"}
        for again in (False, True):
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
                again = True
            try:
                self._connection.request("POST", self.path, data, headers)
                with self._connection.getresponse() as answer:
                    text, status = answer.read(), answer.status
                break
            except (OSError, http.client.HTTPException) as error:
                # A server may close an idle keep-alive connection; on a new connection it must respond.
                self._disconnect()
                if again:
                    raise BenchError(f"{self.name}: {self.url}: {error or type(error).__name__}") from None
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            raise BenchError(f"{self.name}: HTTP {status} without JSON: {text[:300]!r}") from None

    def _result(self, method: str, answer: Any) -> Any:
        if isinstance(answer, dict):
            if error := answer.get("error"):
                raise ErrorResponse(self.name, method, int(error.get("code", 0)), str(error.get("message", error)))
            if "result" in answer:
                return answer["result"]
        raise BenchError(f"{self.name}: {method} was answered by {answer!r:.300}")
