"""HTTP/1.1 on one connection: requests in, responses out in order.

```text
 bytes ---> head and size of the remembered call ----------> call ---> answered at once ---> written
   |                                                          ^  |
   '------> input ---> head ---> its response                 |  '---> a task waits for the answer;
                         |                                    |        further input stays in the buffer
                         '-----> body ------------------------'
```

A call with an immediate answer is answered within the callback of its last byte, and written at the end of the
iteration of the event loop: no task, no future. Most clients send the same head with every call, so a head is only
parsed if it differs from that of the call before. While nothing is in progress, `RepeatedRequests` answers such calls
in the core, and this class does not see them. Requests are read one at a time: bytes of the next one are not parsed
before the response is written.
"""

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any

from foreseal._core import MAX_BATCHED_SIZE, Answered, BatchedTransport, PendingBody
from foreseal.rpc.dispatch import Dispatcher, HttpReply
from foreseal.server.auth.callers import Caller
from foreseal.server.auth.origins import Headers
from foreseal.server.http.handler import CLOSE, TEXT, HttpAnswer, HttpResponse, format_view
from foreseal.server.native.cached_call import MAX_HEAD, NO_CALL, CachedCall
from foreseal.server.native.call_request import CallRequest, format_head
from foreseal.server.native.connection_owner import ConnectionOwner
from foreseal.server.native.connection_table import ExceededLimit
from foreseal.server.native.http_state import HttpState
from foreseal.server.native.request_head import BadRequest, RequestHead
from foreseal.server.native.websocket import NativeWebSocket

log = logging.getLogger(__name__)

# Bytes of further requests that are read while one is answered.
_MAX_AHEAD = 64 * 1024
# Seconds that a client has to read an early response before its connection is cut.
_LINGER = 2.0
# Bytes of its request that are read and dropped in that time.
_MAX_LINGER = 1024 * 1024
# Seconds for which one connection may use the event loop at once; checked after each request.
_MAX_ITERATION = 0.001
# Seconds without reading after a rejection: doubled with each consecutive one.
_FIRST_DELAY, _MAX_DELAY, _DOUBLINGS = 0.01, 1.0, 7
# Reads and chunks of one request that cost no protocol work; units of a page, and of rendering the metrics.
_FREE_READS, _FREE_CHUNKS, _PAGE_WORK, _METRICS_WORK = 8, 16, 8, 200
# Seconds after which the minimum rate of a body is enforced.
_RATE_AFTER = 5.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_OK, _TOO_MANY = 200, 429


class HttpConnection(HttpState):
    """One connection. Used from the event loop's thread only."""

    def __init__(self, owner: ConnectionOwner) -> None:
        super().__init__(owner, self._resume)

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Initialize the connection."""
        owner = self._owner
        self._transport = BatchedTransport(transport, owner.write_batch)
        peer = transport.get_extra_info("peername")
        self._peer = (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else None
        self.account = self.sender = owner.table.account(self._peer, owner.now)
        self._is_proxy = self._peer is not None and owner.table.limits.is_proxy(self._peer[0])
        self._work = owner.table.connection_bucket(owner.now)
        owner.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Clean up. A call in progress is cancelled, except submissions in the core."""
        self._ending = True
        self._repeated.forget()
        self._cancel_call()
        self._pause.cancel()
        self._request = None
        self._owner.closed(self)

    def eof_received(self) -> bool:
        """Handle a client that sends nothing more; complete requests are still answered."""
        self._half_closed = True
        self._repeated.forget()
        # If nothing is in progress, the event loop closes the connection together with unwritten data.
        self._transport.flush()
        waiting = self._pause.is_on and bool(self._intake.left)
        is_busy = self._answering is not None or self._blocked or waiting
        return bool(is_busy) and bool(self._transport.can_write_eof())

    def pause_writing(self) -> None:
        """Stop answering and reading: the client does not read."""
        self._blocked = True
        self._repeated.forget()
        self.since = self._owner.now
        self._settle()

    def resume_writing(self) -> None:
        """Continue: the client has read."""
        self._blocked = False
        self._advance()

    # Called by `RepeatedRequests`.

    def _receive(self, data: bytes) -> None:
        """Process received bytes."""
        call = self._remembered
        if len(data) == call.size and data.startswith(call.head) and not self._intake.left and self._is_idle():
            dispatcher, caller = call.dispatcher, call.caller
            if dispatcher is not None and caller is not None and not self._handler.is_draining:
                self._answer_repeated(data, call, dispatcher, caller)
            elif caller is not None and self._is_served_now(caller):
                self._call(caller, call.headers, data[len(call.head) :])
            else:
                self._feed(data)
        else:
            self._feed(data)
        self._repeat()

    def _entered(self, entered: bytes | Answered | PendingBody) -> None:
        """Answer a repeated request that the core has not answered by itself."""
        call = self._remembered
        if call.dispatcher is not None:
            self._answer_entered(entered, call, call.dispatcher)
        self._repeat()

    def _repeat(self) -> None:
        """Let further requests with the same head be answered in the core, if nothing is in progress."""
        call = self._remembered
        entrance = None if call.dispatcher is None else call.dispatcher.entrance
        if entrance is not None and not self._intake.left and self._is_idle():
            self._repeated.remember(call.head, call.size, entrance, self._transport, call.scheduled)

    def _answer_repeated(self, data: bytes, call: CachedCall, dispatcher: Dispatcher, caller: Caller) -> None:
        """Answer a request with the head of the last one."""
        entered = dispatcher.respond(data, len(call.head), self._owner.ok, call.limiter)
        if entered is not None:
            self._answer_entered(entered, call, dispatcher)
        elif self._is_served_now(caller):
            body, view = data[len(call.head) :], self._handler.view_header()
            self._answer(dispatcher.answer(body, None, call.limiter), len(body), view, call.headers)
        else:
            self._feed(data)

    def _answer_entered(
        self, entered: bytes | Answered | PendingBody, call: CachedCall, dispatcher: Dispatcher
    ) -> None:
        """Answer a request with the head of the last one, whose body has entered the core."""
        limiter = call.limiter
        if isinstance(entered, PendingBody):
            view = format_view(*entered.view)
            if entered.waits_for_core:
                self._answering = wait = dispatcher.wait_for(entered)
                wait.notify(partial(self._ended, dispatcher, entered, view, call))
            elif self._is_late():
                # The rest waits for a slice of the event loop.
                run = dispatcher.run(entered, None, limiter)
                self._answer(dispatcher.finish(run, limiter), entered.size, view, call.headers)
            else:
                reply = dispatcher.answer_entered(entered, None, limiter)
                self._answer(reply, entered.size, view, call.headers)
            return
        status, answer, seconds = dispatcher.settled(entered, limiter)
        if status == _OK and isinstance(answer, bytes):
            self._write_whole(answer, call)
        else:
            assert isinstance(entered, Answered), "bytes are a whole response"
            self._answer((status, answer, seconds), 0, format_view(*entered.view), call.headers)

    def _write_whole(self, response: bytes, call: CachedCall) -> None:
        """Write a whole response to a repeated request."""
        if len(response) > MAX_BATCHED_SIZE and not self._has_room(len(response)):
            self._write_reply((_OK, response, 0), self._handler.view_header(), call.headers, keep_alive=True)
            return
        self.since = self._owner.now
        self._transport.write_soon(response)

    # Checked and stopped by the listener.

    def enforce_timeouts(self, now: float, idle: float) -> None:
        """Close it if the client exceeds a time limit; `idle` is the limit in seconds between requests."""
        limits, request = self._owner.table.limits, self._request
        if self._ending:
            if now - self.since > min(_LINGER, limits.body_time / 2):
                self.abort()
        elif self._blocked:
            if now - self.since > idle:
                self.abort()
        elif self._answering is not None or self._pause.is_on:
            return
        elif request is not None:
            spent = now - request.begun
            slow = spent > _RATE_AFTER and request.received < limits.body_rate * spent
            if slow or spent > limits.body_time:
                self._respond(self._handler.too_slow(), request.head)
        elif self._intake.left:
            if now - self.since > limits.head_time:
                self._fail(BadRequest(408, f"the request head did not arrive within {limits.head_time:g} s"))
        elif now - self.since > idle:
            self._transport.close()

    def finish(self) -> None:
        """Answer requests in progress and those that have begun to arrive, then close it."""
        self._finishing = True
        self._remembered = NO_CALL
        self._repeated.forget()
        self._close_if_done()

    def abort(self) -> None:
        """Close it now."""
        self._repeated.forget()
        self._cancel_call()
        self._transport.abort()

    def _cancel_call(self) -> None:
        """Cancel the call in progress, except submissions in the core."""
        if isinstance(self._answering, asyncio.Task):
            # After its first step: a task cancelled before it started would leave its call running.
            self._owner.loop.call_soon(self._answering.cancel)
        elif self._answering is not None:
            self._answering.cancel()

    # Reading.

    def _feed(self, data: bytes) -> None:
        self._remembered = NO_CALL
        if self._ending:
            self._dropped += len(data)
            if self._dropped > _MAX_LINGER:
                self._transport.abort()
            return
        if not self._intake.left:
            self.since = self._owner.now
        self._intake.add(data)
        if self._can_advance() and self._is_late():
            self._pause.wait(self._owner.backlog, self.sender)
            self._settle()
        else:
            self._advance(is_single_read=self._request is None and self._intake.left == len(data))

    def _advance(self, *, is_single_read: bool = False) -> None:
        """Read and answer requests in the input, within the time of one iteration of the event loop.

        `is_single_read`: the input is the result of one read, and no request had begun before.
        """
        intake, steps, end = self._intake, 0, 0.0
        try:
            while intake.left and self._can_advance():
                if not self._step(is_single_read=is_single_read):
                    self._count_read()
                    break
                is_single_read = False
                steps += 1
                if steps == 1:
                    end = self._owner.loop.time() + _MAX_ITERATION
                elif self._owner.loop.time() > end:
                    self._pause.begin(0.0)
        except BadRequest as bad:
            self._fail(bad)
        self._settle()

    def _step(self, *, is_single_read: bool) -> bool:
        """Process some input; return True if more may be processed."""
        intake, request = self._intake, self._request
        if request is not None:
            return self._read_body(request)
        parsed = intake.head()
        if parsed is None:
            return False
        self._spend(intake.empty_lines)
        head, size = parsed
        if self._is_proxy:
            self._assign(head.headers)
        if head.is_upgrade:
            self._upgrade(head)
            return False
        self._headed(head)
        request = self._request
        if request is None:
            return True
        received = intake.complete_body(request.head.length)
        if received is None:
            if head.headers.get(b"expect", b"").lower() == b"100-continue":
                self._transport.write(_CONTINUE)
            self.since = self._owner.now
            return bool(intake.left)
        self._request = None
        body = received
        if is_single_read and not intake.left and size <= MAX_HEAD and head.keep_alive and not head.is_http_1_0:
            caller = request.caller
            alike = caller.is_permanent and b"origin" not in head.headers and self._handler.tracer is None
            self._remembered = CachedCall(
                intake.last_head, size + len(body), head.headers, caller, caller.tier.dispatcher if alike else None
            )
        self._serve(request, body)
        return True

    def _assign(self, headers: Headers) -> None:
        """Account the request with these headers to the address that a proxy has forwarded."""
        owner = self._owner
        host = self._handler.client_host(self._peer, headers)
        owner.table.assign(self, owner.table.account((host, 0), owner.now), owner.now)

    def _headed(self, head: RequestHead) -> None:
        """Answer a request from its head, or start reading its body."""
        headers = head.headers
        response = self._handler.route(head.method, head.path, headers)
        if response is None:
            if headers.get(b"expect", b"100-continue").lower() != b"100-continue":
                raise BadRequest(417, "Expect must be 100-continue")
            caller = self._handler.identify(self._peer, headers, head.path)
            if isinstance(caller, Caller):
                # A caller with a key may receive larger responses than an anonymous one.
                self.max_bytes = caller.tier.limits.connection_bytes
                self._request = CallRequest(head, caller, self._owner.now)
                return
            response = caller
        else:
            self._spend(_METRICS_WORK if head.path == "/metrics" else _PAGE_WORK)
        self._respond(response, head)

    def _read_body(self, request: CallRequest) -> bool:
        """Read more of a body; return True if more input may be processed."""
        intake, decoder = self._intake, request.decoder
        before = intake.left
        if decoder is not None:
            chunks = decoder.chunks
            intake.decode(decoder)
            # The first chunks of a body cost no extra work.
            self._spend(max(decoder.chunks - max(chunks, _FREE_CHUNKS), 0))
            size, is_done = decoder.size + request.discarded, decoder.is_done
        else:
            length = request.head.length or 0
            intake.move(request.body, length - request.received)
            size, is_done = request.received, request.received == length
        if size > request.caller.tier.largest:
            self._respond(self._handler.too_large(request.caller), request.head)
        elif request.refusal is not None:
            request.discard()
            if is_done:
                self._respond(request.refusal, request.head)
        elif is_done:
            self._request = None
            self._serve(request, bytes(request.body))
        return intake.left < before

    def _count_read(self) -> None:
        """Count a read that completed nothing: a client may send a request in a few pieces."""
        request = self._request
        reads = self._intake.count_read() if request is None else request.count_read()
        if reads > _FREE_READS:
            self._spend(1)

    def _spend(self, units: int) -> None:
        """Spend protocol work; pause reading until the bucket is no longer overdrawn."""
        if units:
            now = self._owner.loop.time()
            wait = self.sender.spend(units, now)
            if not self._is_proxy:
                # Clients of a proxy do not pay for each other.
                wait = max(wait, self._work.spend(units, now))
            if wait:
                self._pause.begin(min(wait, _MAX_DELAY))

    def _resume(self) -> None:
        """Continue reading after a pause."""
        self._advance(is_single_read=self._request is None)
        self._close_if_done()

    def _settle(self) -> None:
        """Update whether the connection is read, and its bytes in flight."""
        request, transport = self._request, self._transport
        if transport.is_closing():
            return
        waiting = self._intake.left
        count = self._body_size if request is None else len(request.body)
        if self._blocked:
            count += transport.get_write_buffer_size()
        if count != self.request_bytes or waiting + count != self.in_flight:
            excess = self._owner.table.count_bytes(self, waiting, count)
            if excess is not None:
                self._overflow(excess)
                return
        held = self._blocked or self._pause.is_on or self._half_closed or waiting > _MAX_AHEAD
        reading = self._ending or not held
        if reading is not self._reading:
            self._reading = reading
            if reading:
                transport.resume_reading()
            else:
                transport.pause_reading()

    def _overflow(self, excess: ExceededLimit) -> None:
        """Reject a request with too many bytes in flight; close the connection unless other clients share it."""
        request = self._request
        if self._answering is not None or self._blocked or self._ending:
            self._handler.refusals["bytes_in_flight"] += 1
            self.abort()
        elif request is not None and self._is_proxy and excess is ExceededLimit.ADDRESS:
            request.refuse(self._busy())
            self._settle()
        else:
            response = self._busy()
            response.headers.append(CLOSE)
            self._respond(response, None if request is None else request.head)

    def _busy(self) -> HttpResponse:
        self._handler.refusals["bytes_in_flight"] += 1
        return self._handler.busy("too many bytes in flight: try again later", _TOO_MANY)

    def _has_room(self, size: int) -> bool:
        """Return True if a response of this size may be queued for the client."""
        return size <= MAX_BATCHED_SIZE or self._owner.table.has_room_for(self, size)

    def _upgrade(self, head: RequestHead) -> None:
        """Hand the connection over to a WebSocket."""
        rest = self._intake.read_rest()
        self._owner.closed(self)
        websocket = NativeWebSocket(self._owner, self._transport, head, rest, self.account, self.sender, self._work)
        self._ending = True
        self._transport.set_protocol(websocket)
        websocket.begin(self._peer)

    # Answering.

    def _serve(self, request: CallRequest, body: bytes) -> None:
        head, keep_alive = request.head, request.head.keep_alive and not self._finishing
        self._call(request.caller, head.headers, body, keep_alive=keep_alive, old=head.is_http_1_0)

    def _respond(self, response: HttpResponse, head: RequestHead | None) -> None:
        """Answer a request from its head; if its body is not read, close the connection."""
        self._request = None
        if head is not None:
            response = self._handler.add_cors(response, head.headers)
        is_bare = head is not None and head.method == "HEAD"
        unread = CLOSE in response.headers or head is None
        keep_alive = head is not None and head.keep_alive and not unread
        old = head is not None and head.is_http_1_0
        self._write(response, keep_alive=keep_alive, old=old, bare=is_bare, unread=unread)
        if response.status == _TOO_MANY and not self._ending:
            self._delay(1)

    def _call(
        self,
        caller: Caller,
        headers: Headers,
        body: bytes,
        *,
        keep_alive: bool = True,
        old: bool = False,
    ) -> None:
        view = self._handler.view_header()
        reply = self._handler.answer(caller, headers, body)
        self._answer(reply, len(body), view, headers, keep_alive=keep_alive, old=old)

    def _answer(
        self,
        reply: HttpReply | Coroutine[Any, Any, HttpReply],
        size: int,
        view: tuple[bytes, bytes],
        headers: Headers,
        *,
        keep_alive: bool = True,
        old: bool = False,
    ) -> None:
        """Write the reply to a call whose body has `size` bytes, now or when it is complete."""
        if reply.__class__ is not tuple:
            waiting = self._later(reply, view, headers, keep_alive=keep_alive, old=old)  # type: ignore[arg-type]
            self._answering = self._owner.loop.create_task(waiting)
            if size > MAX_BATCHED_SIZE:
                self._body_size = size
                self._settle()
            return
        status, answer, seconds = reply
        is_usual = status == _OK and keep_alive and not (old or seconds or self._handler.is_draining)
        if is_usual and b"origin" not in headers and self._has_room(len(answer)):
            self._refusals = 0
            head = b"%b%b: %b\r\ncontent-length: %d\r\n\r\n" % (self._owner.ok, *view, len(answer))
            self.since = self._owner.now
            self._transport.write_response(head, answer, soon=True)
            return
        self._write_reply(reply, view, headers, keep_alive=keep_alive, old=old)

    def _write_reply(
        self, reply: HttpReply, view: tuple[bytes, bytes], headers: Headers, *, keep_alive: bool, old: bool = False
    ) -> None:
        status, answer, seconds = reply
        if self._has_room(len(answer)):
            response: HttpAnswer = status, self._handler.response_headers(seconds, view, headers), answer
        else:
            response, seconds = self._handler.add_cors(self._busy(), headers), 1
        self._write(response, keep_alive=keep_alive, old=old)
        if seconds:
            self._delay(seconds)
        else:
            self._refusals = 0

    def _delay(self, seconds: float) -> None:
        """Stop reading for a while after a rejection: rejections must not use up the event loop."""
        wait = _FIRST_DELAY * (1 << min(self._refusals, _DOUBLINGS))
        # Other clients of a proxy share its connection.
        self._refusals += not self._is_proxy
        self._pause.begin(min(wait, seconds, _MAX_DELAY))
        self._settle()

    def _ended(self, dispatcher: Dispatcher, body: PendingBody, view: tuple[bytes, bytes], call: CachedCall) -> None:
        """Write the answer to a body whose calls the worker threads have answered."""
        self._answering = None
        try:
            self._answer(dispatcher.end(body, call.limiter), 0, view, call.headers)
            self._go_on()
        except Exception:  # handled like a failure of any other call
            log.exception("call failed")
            self._transport.abort()

    async def _later(
        self,
        reply: Coroutine[Any, Any, HttpReply],
        view: tuple[bytes, bytes],
        headers: Headers,
        *,
        keep_alive: bool,
        old: bool,
    ) -> None:
        try:
            answered = await reply
        except Exception:  # the outcome is unknown: no answer is better than a wrong one
            log.exception("call failed")
            self._transport.abort()
            return
        finally:
            self._answering, self._body_size = None, 0
        self._write_reply(answered, view, headers, keep_alive=keep_alive, old=old)
        self._go_on()

    def _write(
        self, answer: HttpAnswer, *, keep_alive: bool, old: bool = False, bare: bool = False, unread: bool = False
    ) -> None:
        """Write a response. `bare` omits its body; `unread` means that the request was not read completely."""
        if self._transport.is_closing():
            return
        keep_alive = keep_alive and not (self._handler.is_draining or self._finishing)
        head = format_head(answer, self._owner.date, keep_alive=keep_alive, old=old)
        body = b"" if bare else answer[2]
        self.since = self._owner.now
        self._transport.write_response(head, body)
        if not keep_alive:
            self._end(linger=unread and not self._half_closed)

    def _go_on(self) -> None:
        """Continue reading after an answer."""
        if self._ending:
            return
        self._advance()
        self._close_if_done()

    def _close_if_done(self) -> None:
        """Close a half-closed connection once everything is answered."""
        unfinished = self._request is not None or self._intake.left
        if (self._half_closed or (self._finishing and not unfinished)) and self._can_advance():
            self._transport.close()

    def _fail(self, bad: BadRequest) -> None:
        """Answer an invalid request, and close the connection."""
        self._request = None
        if not self._ending:
            self._write(
                HttpResponse(bad.status, [TEXT, CLOSE], bad.text.encode() + b"\n"), keep_alive=False, unread=True
            )

    def _end(self, *, linger: bool) -> None:
        """Answer nothing more. If the connection were cut, a client that still sends would lose the response."""
        self._ending = True
        self._repeated.forget()
        self._request = None
        self._intake.clear()
        self._owner.table.count_bytes(self, 0)
        self.since = self._owner.now
        if not linger:
            self._transport.close()
            return
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._settle()
