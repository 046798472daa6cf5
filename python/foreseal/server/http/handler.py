"""Transport-independent handler of HTTP requests: a request in, its response out."""

from collections.abc import Coroutine
from time import monotonic
from typing import Any, NamedTuple, Protocol

from foreseal.bounded_cache import BoundedCache
from foreseal.errors import RpcError
from foreseal.pages import StaticSite
from foreseal.rpc import HttpReply, error_codes
from foreseal.rpc.core_protocol import Answer, Core
from foreseal.rpc.rejected_call import TOO_MANY, UNKNOWN
from foreseal.rpc.response_envelope import NULL, failure, over_limit
from foreseal.rpc.session import RequestExchange
from foreseal.server.auth.callers import Caller, Callers, Peer, SingleCaller, TooManyWrongKeys, WrongKey
from foreseal.server.auth.origins import (
    Headers,
    Origins,
    admin_hosts,
    endpoint_hosts,
    endpoint_origins,
    has_page_origin,
    wrong_origin,
)
from foreseal.server.http.transport_limits import transport_limits
from foreseal.server.metrics import MetricSources, join, render
from foreseal.server.metrics.read import ConnectionCounts, MeasuredNode
from foreseal.server.paths import READ_MODES, STANDARD
from foreseal.server.processes.process_table import ProcessTable
from foreseal.server.settings import Settings
from foreseal.server.settings.access import CACHED_HEADS

JSON = (b"content-type", b"application/json")
TEXT = (b"content-type", b"text/plain; charset=utf-8")
CHALLENGE = (b"www-authenticate", b'Bearer realm="foreseal"')
METRICS = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
RETRY_AFTER = (b"retry-after", b"1")
# The body of a rejected request is not read, so the connection is closed with the response. Without this line the
# client would send its next request into the closing connection.
CLOSE = (b"connection", b"close")

_PATHS = "/, /sealed and /preconfirmed"
WRONG_HOST = "Host not allowed: use a loopback name, or allow it with --allowed-host"

# Largest head that is cached, in bytes.
_MAX_CACHED = 1024
_NO_CONTENT = 204
# Seconds for which rendered metrics are cached for the public.
_PAGE_LIFETIME = 1.0
# Most digits of a content length that is parsed.
_MAX_DIGITS = 18


class HandlerNode(Core, MeasuredNode, Protocol):
    """Interface of the node for the handler, in addition to calls."""

    def health(self) -> tuple[bool, str]:
        """Return True if the node is healthy, and the reason if it is not."""


class CallTracer(Protocol):
    """Interface of the tracer of requests for the handler."""

    def answer(
        self, caller: Caller, headers: Headers, body: bytes, exchange: RequestExchange | None
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        """Answer a body like `CallerTier.answer`."""


HttpAnswer = tuple[int, list[tuple[bytes, bytes]], Answer]
"""Status, headers and body of an HTTP response."""


class HttpResponse(NamedTuple):
    """A whole HTTP response."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def format_view(block: int, step: int, age: int, epoch: int) -> tuple[bytes, bytes]:
    """Return the header line of the freshness of a view."""
    epoch_field = b"; epoch=%d" % epoch if epoch else b""
    return b"x-foreseal-view", b"%d.%d; age=%d%b" % (block, step, age, epoch_field)


class HttpHandler:
    """Routes and answers HTTP requests. Used from the event loop's thread only."""

    def __init__(
        self,
        node: HandlerNode,
        callers: Callers | SingleCaller,
        settings: Settings,
        connections: ConnectionCounts,
        *,
        admin: bool = False,
        processes: ProcessTable | None = None,
        public_handler: "HttpHandler | None" = None,
        site: StaticSite | None = None,
    ) -> None:
        """Create a handler.

        `connections` are those of the process, for its metrics; `processes` has metrics of all processes. `admin` is
        for the admin listener: it accepts loopback and allowed host names only, and no web pages. Its metrics include
        those of `public_handler`, the handler of the public endpoint. `site` are pages that it serves.
        """
        self._longest_wait = settings.limits.wait
        # A declared length of fewer digits needs no check.
        self.max_body = max(tier.limits.body for tier in callers.tiers)
        """Size in bytes of the largest body that any caller may send."""
        self._digits = min(len(str(tier.limits.body)) for tier in callers.tiers)
        self.is_stopping = False
        """True if `/readyz` reports that the node stops."""
        self.is_draining = False
        """True if each response closes its connection, so that its client reconnects elsewhere."""
        self.tracer: CallTracer | None = None
        """Tracer of requests; None without one."""
        self._process = settings.log.process
        self._node = node
        self._callers = callers
        # Avoids a function call for the usual caller.
        self._only_caller = callers.only_caller
        self._connections = connections
        self._processes = processes
        self._public_handler = public_handler
        self._is_public = settings.public and not admin
        self._metrics_cache, self._metrics_expire = b"", 0.0
        self._admin = admin
        self._origins = Origins(frozenset(), loopback=False) if admin else endpoint_origins(settings, site)
        self._hosts = admin_hosts(settings) if admin else endpoint_hosts(settings)
        self._site = site
        # Accepted heads of calls, by the fields that `_check` reads, so that a usual head costs one look-up.
        self._accepted_heads: BoundedCache[tuple[str, str, bytes | None, bytes | None, bytes | None], None]
        self._accepted_heads = BoundedCache(settings.scaled_entries(CACHED_HEADS))
        self.refusals = callers.anonymous.refusals
        """Connections and requests rejected or closed for limits of the transport, by reason."""
        self.transport_limits = transport_limits(callers.anonymous.limits, callers.is_proxy)

    def route(self, verb: str, path: str, headers: Headers) -> HttpResponse | None:
        """Answer a request from its head, for any caller; None for a call."""
        kind, host, origin = headers.get(b"content-type"), headers.get(b"host"), headers.get(b"origin")
        head = (verb, path, kind, host, origin)
        if head not in self._accepted_heads:
            response = self._check(verb, path, headers)
            if response is not None:
                return _unread(response, headers)
            if sum(map(len, filter(None, head))) <= _MAX_CACHED:
                self._accepted_heads.add(head, None)
        return None

    def identify(self, peer: Peer, headers: Headers, path: str) -> Caller | HttpResponse:
        """Return the caller of a call or a handshake at this path, or its rejection.

        `peer` is the address of the connection.
        """
        caller = self._only_caller
        if caller is None or b"authorization" in headers or b"x-api-key" in headers:
            try:
                caller = self._callers.identify(peer, headers)
            except WrongKey as error:
                return _unread(self._unknown(str(error)), headers)
            except TooManyWrongKeys as error:
                self.refusals["wrong_keys"] += 1
                return _unread(_too_many(error), headers)
        if b"origin" in headers and self._origins.restricts(headers):
            caller = self._callers.restrict(caller)
        size = headers.get(b"content-length", b"")
        if len(size) >= self._digits and _is_larger(size, caller.tier.limits.body):
            return self.too_large(caller)
        return caller if path == STANDARD else caller.at(path)

    def answer(
        self, caller: Caller, headers: Headers, body: bytes, exchange: RequestExchange | None = None
    ) -> HttpReply | Coroutine[Any, Any, HttpReply]:
        """Answer the body of a request with these headers: see `Dispatcher.answer`."""
        if self.tracer is None:
            return caller.tier.answer(body, exchange, caller.limiter)
        return self.tracer.answer(caller, headers, body, exchange)

    def client_host(self, peer: Peer, headers: Headers) -> str:
        """Return the address of the client that sent a request, which a trusted proxy may have forwarded."""
        return self._callers.client_host(peer, headers)

    def is_valid(self, caller: Caller) -> bool:
        """Return True if the key that opened a connection is still valid."""
        return self._callers.is_valid(caller)

    def reject_websocket(self, path: str, headers: Headers) -> HttpResponse | None:
        """Return the rejection of a handshake; None to accept it.

        Browsers open WebSockets without a preflight request, and the page may read the messages. Pages may therefore
        connect only to endpoints that they may call.
        """
        if not self._hosts.accepts(headers):
            return self._text(403, WRONG_HOST)
        if has_page_origin(headers) and not self._origins.accepts(headers):
            return self._text(
                403, "web pages may not connect to the admin listener" if self._admin else wrong_origin(headers)
            )
        return None if path in READ_MODES else self._text(404, f"not found: WebSockets are at {_PATHS}")

    def busy(self, text: str, status: int = 503) -> HttpResponse:
        """Return the response to a handshake for which there is no room."""
        response = self._text(status, text)
        response.headers.append(RETRY_AFTER)
        return response

    def _check(self, verb: str, path: str, headers: Headers) -> HttpResponse | None:
        if not self._hosts.accepts(headers):
            return self._text(403, WRONG_HOST)
        if self._admin and has_page_origin(headers):
            # A page may send a body without a content type, and the browser then makes no preflight request.
            return self._text(403, "web pages may not call the admin listener")
        if self._origins.rejects(headers):
            return self._text(403, wrong_origin(headers))
        if path not in READ_MODES:
            if self._site is not None and self._site.contains(path):
                return HttpResponse(*self._site.respond(verb, path, headers))
            return self._page(verb, path)
        if verb != "POST":
            if verb == "OPTIONS" and self._origins.is_open:
                return HttpResponse(204, self._origins.preflight(headers), b"")
            return self._wrong_verb(b"POST, OPTIONS" if self._origins.is_open else b"POST")
        kind = headers.get(b"content-type")
        if kind is not None and kind.partition(b";")[0].strip().lower() != b"application/json":
            return self._text(415, "the content type must be application/json")
        return None

    def metrics(self) -> str:
        """Return the metrics of this process."""
        return render(self.metric_sources(), self._process)

    def metric_sources(self) -> MetricSources:
        """Return the sources of the metrics of this process."""
        endpoint = self._public_handler or self
        tiers = self._callers.tiers if endpoint is self else (*endpoint._callers.tiers, *self._callers.tiers)
        caches = {**endpoint._callers.caches, "heads": endpoint._accepted_heads}
        return MetricSources(self._node, tiers, self._connections, self._processes, caches)

    def view_header(self) -> tuple[bytes, bytes]:
        """Return the freshness of the view.

        Call it before the method, so that it never claims a newer view than the answer's.
        """
        return format_view(*self._node.freshness())

    def response_headers(self, seconds: int, view: tuple[bytes, bytes], headers: Headers) -> list[tuple[bytes, bytes]]:
        """Return the headers of the answer to a call that came with `headers`; `seconds` is the retry time, or 0."""
        lines = [JSON, view]
        if seconds:
            lines.append((b"retry-after", b"%d" % seconds))
        # Only browsers send an origin.
        if b"origin" in headers:
            lines += self._origins.cors(headers)
        return lines

    def add_cors(self, response: HttpResponse, headers: Headers) -> HttpResponse:
        """Add the lines that let a page read a response made from the head of its request."""
        if b"origin" in headers and response.status != _NO_CONTENT:
            response.headers.extend(self._origins.cors(headers))
        return response

    def malformed(self, text: str) -> HttpResponse:
        """Return the response to a malformed request, which is not executed."""
        response = self._text(400, text)
        response.headers.append(CLOSE)
        return response

    def too_large(self, caller: Caller) -> HttpResponse:
        """Return the response to a body beyond the caller's limit; reading stops there."""
        limit = caller.tier.limits.body
        error: RpcError = over_limit("body", limit, f"the body is larger than {limit} bytes")
        return HttpResponse(413, [JSON, CLOSE], failure(NULL, error))

    def too_slow(self) -> HttpResponse:
        """Return the response to a body that did not arrive in time."""
        error: RpcError = over_limit(
            "wait", self._longest_wait, f"the body did not arrive within {self._longest_wait} ms"
        )
        return HttpResponse(408, [JSON, CLOSE], failure(NULL, error))

    def _page(self, verb: str, path: str) -> HttpResponse:
        if path not in ("/healthz", "/readyz", "/metrics"):
            return self._text(404, f"not found: JSON-RPC is at {_PATHS}; see also /healthz, /readyz and /metrics")
        if verb not in ("GET", "HEAD"):
            return self._wrong_verb(b"GET, HEAD")
        if path == "/metrics":
            return HttpResponse(200, [METRICS], self._metrics_page())
        if path == "/readyz" and self.is_stopping:
            return self._text(503, "stopping")
        good, reason = self._node.health() if path == "/healthz" else self._node.ready()
        status, text = (200, "ok") if good else (503, reason)
        return self._text(status, text if path == "/healthz" else f"{text}\n{self._queues()}")

    def _metrics_page(self) -> bytes:
        """Return the metrics. Public endpoints have no rate limit for them, so they render at most once a second."""
        if self._is_public and monotonic() < self._metrics_expire:
            return self._metrics_cache
        reports = [text.decode() for *_, text in self._node.reports()] if self._admin else []
        text = join([self.metrics(), *reports]) if reports else self.metrics()
        self._metrics_cache, self._metrics_expire = text.encode(), monotonic() + _PAGE_LIFETIME
        return self._metrics_cache

    def _queues(self) -> str:
        waits = ", ".join(f"{lane} {seconds * 1000:.0f} ms" for lane, seconds in self._node.waiting())
        return f"oldest waiting call: {waits}"

    def _unknown(self, text: str) -> HttpResponse:
        body = failure(NULL, RpcError(error_codes.FORBIDDEN, text, None))
        return HttpResponse(UNKNOWN, [JSON, CHALLENGE], body)

    def _wrong_verb(self, allowed: bytes) -> HttpResponse:
        response = self._text(405, f"allowed here: {allowed.decode()}")
        response.headers.append((b"allow", allowed))
        return response

    def _text(self, status: int, text: str) -> HttpResponse:
        return HttpResponse(status, [TEXT], text.encode() + b"\n")


def _too_many(error: TooManyWrongKeys) -> HttpResponse:
    body = failure(NULL, RpcError(error_codes.LIMIT, str(error), None))
    return HttpResponse(TOO_MANY, [JSON, (b"retry-after", b"%d" % error.seconds)], body)


def _unread(response: HttpResponse, headers: Headers) -> HttpResponse:
    """Add `connection: close` to a response if the body of its request is not read."""
    if headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers:
        response.headers.append(CLOSE)
    return response


def _is_larger(size: bytes, limit: int) -> bool:
    return not size.isdigit() or len(size) > _MAX_DIGITS or int(size) > limit
