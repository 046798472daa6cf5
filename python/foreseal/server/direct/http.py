"""HTTP/1.1 on one connection: requests in, responses out in their order.

```text
 bytes ---> head like the last one ------------------------> call ---> answered at once ---> written
   |                                                          ^  |
   '------> parser ---> head decides ---> response            |  '---> a task waits for the answer;
                  |                                           |        what follows waits in a queue
                  '---> body -----------------> whole --------'
```

What the node answers at once is answered within the callback that its last byte came in, and written at the end of the
loop's turn: no task, no future. Most clients send the same head with every call, so a head is parsed when it is another
one than that before.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from functools import partial
from typing import Any

from foreseal.rpc.dispatch import Dispatcher, Reply
from foreseal.rpc.submissions import JSON as SUBMISSION
from foreseal.rpc.submissions import Submitted
from foreseal.server.access import Headers
from foreseal.server.callers import Caller, Peer
from foreseal.server.direct.keeper import Keeper
from foreseal.server.direct.parsing import Bad, Parsing, end_of_head
from foreseal.server.direct.request import MOST_HEAD, Request, head_of
from foreseal.server.direct.transport import LONG, Transport
from foreseal.server.direct.websocket import DirectWebSocket
from foreseal.server.handler import CLOSE, TEXT, Answer, Response

log = logging.getLogger(__name__)

# Requests that wait for the one before them, from which on no more is read.
_AHEAD = 8
# Seconds that a client has to see a response which it did not expect, before its connection is cut.
_LINGER = 2.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_OK = 200


class Http(asyncio.Protocol):
    """One connection. Used from the event loop's thread only."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._handler = keeper.handler
        self._parsing = Parsing(self)
        self._transport: Any = None
        self._peer: Peer = None
        # Those that wait for the one that is answered.
        self._waiting: deque[Request] = deque()
        self._answering: asyncio.Task[None] | Submitted | None = None
        self._blocked = False
        """Whether the client does not take what is written."""
        self._ending = False
        """Whether nothing more is answered: what comes is read and forgotten."""
        self._half_closed = False
        self._reading = True
        # Since when it is idle, or ends, or is blocked.
        self.since = keeper.now
        # The head of the last call, how many bytes it had with its body, and what was in it.
        self._head = b""
        self._whole = -1
        self._headers: Headers = {}
        # Answers such calls the short way, where their caller is like all others.
        self._dispatcher: Dispatcher | None = None

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = Transport(transport, self._keeper.turn)
        peer = transport.get_extra_info("peername")
        self._peer = (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else None
        self._keeper.opened(self)

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone."""
        self._ending = True
        self._waiting.clear()
        self._keeper.closed(self)

    def eof_received(self) -> bool:
        """The client sends nothing more; what it asked for is answered still."""
        self._half_closed = True
        # Where nothing is under way the event loop ends the connection, and what waits for the end of the turn with it.
        self._transport.flush()
        under_way = self._answering is not None or self._waiting or self._blocked
        return bool(under_way) and bool(self._transport.can_write_eof())

    def pause_writing(self) -> None:
        """The client takes nothing: nothing more is answered, and nothing more is read."""
        self._blocked = True
        self.since = self._keeper.now
        self._hold()

    def resume_writing(self) -> None:
        """The client took it."""
        self._blocked = False
        self._go_on()

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if len(data) == self._whole and data.startswith(self._head) and self._is_between():
            dispatcher = self._dispatcher
            tried = dispatcher is not None and not self._handler.leaving
            if dispatcher is not None and tried:
                start = len(self._head)
                if SUBMISSION in data:
                    told = partial(self._told, dispatcher, self._handler.view_header())
                    self._answering = dispatcher.hand_over(data, start, told, self._keeper.ok)
                    if self._answering is not None:
                        return
                response = dispatcher.respond(data, start, self._keeper.ok)
                if response is not None:
                    self.since = self._keeper.now
                    self._transport.write_soon(response)
                    return
            caller = self._handler.identify(self._peer, self._headers)
            if caller.__class__ is Caller:
                self._call(caller, self._headers, data[len(self._head) :], tried=tried)
                return
        self._feed(data)

    # What the parser calls.

    def head(self, request: Request) -> None:
        """The head of a request is there: answer it, or say whose call it is."""
        if self._ending:
            return
        headers = request.headers
        response = self._handler.route(request.verb, request.path, headers)
        if response is None:
            caller = self._handler.identify(self._peer, headers)
            if isinstance(caller, Caller):
                request.caller = caller
                request.waits = headers.get(b"expect", b"").lower() == b"100-continue"
                if request.waits and self._is_free():
                    self._transport.write(_CONTINUE)
                    request.waits = False
                return
            response = caller
        request.response = response
        if CLOSE in response.headers:
            self._refuse(request)

    def part(self, request: Request) -> None:
        """There is more of the body of a call."""
        if not self._ending and request.size > request.caller.tier.largest:
            request.response = self._handler.too_large(request.caller)
            self._refuse(request)

    def whole(self, request: Request) -> None:
        """All of a request is there."""
        if self._ending:
            return
        if self._is_free():
            self._serve(request)
        else:
            self._waiting.append(request)
            if len(self._waiting) >= _AHEAD:
                self._hold()

    # Looked at and stopped from outside.

    def look(self, now: float, idle: float, wait: float) -> None:
        """End it where a client takes too long: `idle` seconds for a head, `wait` for a body."""
        request = self._parsing.request
        if self._ending:
            if now - self.since > min(_LINGER, wait / 2):
                self._transport.abort()
        elif self._blocked:
            if now - self.since > idle:
                self._transport.abort()
        elif request is not None and request.verb:
            if now - request.begun > wait and self._is_free():
                request.response = self._handler.too_slow()
                self._refuse(request)
        elif self._answering is None and now - max(self.since, request.begun if request else 0.0) > idle:
            self._transport.close()

    def finish(self) -> None:
        """Answer what is under way, then end it."""
        if self._is_between():
            self._transport.close()
        else:
            self._half_closed = True
            self._hold()

    def abort(self) -> None:
        """End it now."""
        if self._answering is not None:
            self._answering.cancel()
        self._transport.abort()

    # Reading.

    def _is_between(self) -> bool:
        """Whether nothing is under way, nor begun."""
        return self._parsing.request is None and self._is_free()

    def _is_free(self) -> bool:
        """Whether an answer could be written now."""
        return self._answering is None and not self._blocked and not self._waiting and not self._ending

    def _feed(self, data: bytes) -> None:
        if self._ending:
            return
        began = self._parsing.request is None
        try:
            rest = self._parsing.feed(data, self._keeper.now)
        except Bad as bad:
            self._fail(bad)
            return
        if rest is not None:
            self._upgrade(rest)
        elif self._parsing.is_single(began):
            self._remember(data)

    def _remember(self, data: bytes) -> None:
        """Keep the head of a call that came in one piece: another one just like it need not be parsed."""
        end = end_of_head(data)
        length = self._headers.get(b"content-length", b"")
        if end > MOST_HEAD or not length.isdigit() or len(data) - end != int(length):
            return
        self._head, self._whole = data[:end], len(data)

    def _refuse(self, request: Request) -> None:
        """Answer a request whose body is not read: once those before it are answered."""
        if not request.is_whole:
            request.is_whole = True
            self._parsing.drop()
            if self._is_free():
                self._serve(request)
            else:
                self._waiting.append(request)
            self._hold()

    def _upgrade(self, rest: bytes) -> None:
        request = self._parsing.request
        if request is None or self._ending:
            return
        if not self._is_free():
            self._fail(Bad(400, "a WebSocket begins when all that was asked before is answered"))
            return
        self._keeper.closed(self)
        websocket = DirectWebSocket(self._keeper, self._transport, request, rest)
        self._transport.set_protocol(websocket)
        websocket.begin(self._peer)

    def _hold(self) -> None:
        if self._reading and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    # Answering.

    def _serve(self, request: Request) -> None:
        if request.response is None:
            # Of a connection that ends with its answer, or says how it goes on, each head is looked at.
            usual = request.keep_alive and not request.old
            self._headers, self._whole = (request.headers, self._whole) if usual else ({}, -1)
            caller = request.caller
            alike = caller.key is None and caller.meter is None and b"origin" not in request.headers
            self._dispatcher = caller.tier.dispatcher if alike else None
            self._call(caller, request.headers, request.body, keep_alive=request.keep_alive, old=request.old)
            return
        # A head that decides is not remembered.
        self._headers, self._whole = {}, -1
        unread = CLOSE in request.response.headers
        keep_alive = request.keep_alive and not unread
        bare = request.verb == "HEAD"
        self._write(request.response, keep_alive=keep_alive, old=request.old, bare=bare, unread=unread)

    def _call(
        self,
        caller: Caller,
        headers: Headers,
        body: bytes,
        *,
        keep_alive: bool = True,
        old: bool = False,
        tried: bool = False,
    ) -> None:
        """Answer a call; `tried` is one to which there is no short way."""
        view = self._handler.view_header()
        tier = caller.tier
        reply = (tier.dispatcher.answer_at_length if tried else tier.answer)(body, None, caller.meter)
        if reply.__class__ is not tuple:
            waiting = self._later(reply, view, headers, keep_alive=keep_alive, old=old)  # type: ignore[arg-type]
            self._answering = self._keeper.loop.create_task(waiting)
            return
        status, answer, seconds = reply
        if status == _OK and keep_alive and not (old or seconds or self._handler.leaving or b"origin" in headers):
            self._write_usual(view, answer)
            return
        self._write(
            (status, self._handler.response_headers(seconds, view, headers), answer), keep_alive=keep_alive, old=old
        )

    def _told(self, dispatcher: Dispatcher, view: tuple[bytes, bytes], submitted: Submitted) -> None:
        """Answer submissions that were handed over."""
        self._answering = None
        try:
            status, answer, seconds = dispatcher.finish(submitted)
        except Exception:  # as of any other call
            log.exception("a call failed")
            self._transport.abort()
            return
        whole = submitted.outcomes.__class__ is bytes
        if whole and not (self._handler.leaving or self._transport.is_closing()):
            self.since = self._keeper.now
            self._transport.write_soon(answer)
        else:
            lines = self._handler.response_headers(seconds, view, self._headers)
            body = answer.partition(b"\r\n\r\n")[2] if whole else answer
            self._write((status, lines, body), keep_alive=True)
        self._go_on()

    def _write_usual(self, view: tuple[bytes, bytes], answer: bytes) -> None:
        head = b"%b%b: %b\r\ncontent-length: %d\r\n\r\n" % (self._keeper.ok, *view, len(answer))
        self.since = self._keeper.now
        if len(answer) <= LONG:
            self._transport.write_soon(head + answer)
        else:
            self._transport.writelines((head, answer))

    async def _later(
        self,
        reply: Coroutine[Any, Any, Reply],
        view: tuple[bytes, bytes],
        headers: Headers,
        *,
        keep_alive: bool,
        old: bool,
    ) -> None:
        try:
            status, answer, seconds = await reply
        except Exception:  # nobody knows what was done: no answer is better than a wrong one
            log.exception("a call failed")
            self._transport.abort()
            return
        finally:
            self._answering = None
        lines = self._handler.response_headers(seconds, view, headers)
        self._write((status, lines, answer), keep_alive=keep_alive, old=old)
        self._go_on()

    def _write(
        self, answer: Answer, *, keep_alive: bool, old: bool = False, bare: bool = False, unread: bool = False
    ) -> None:
        """Write a response; `bare` is one without its body, `unread` one to a request of which not all was read."""
        if self._transport.is_closing():
            return
        keep_alive = keep_alive and not self._handler.leaving
        head = head_of(answer, self._keeper.date, keep_alive=keep_alive, old=old)
        body = b"" if bare else answer[2]
        self.since = self._keeper.now
        if len(body) <= LONG:
            self._transport.write(head + body)
        else:
            self._transport.writelines((head, body))
        if not keep_alive:
            self._end(linger=unread and not self._half_closed)

    def _go_on(self) -> None:
        """Answer what waited, as far as it goes; then read on."""
        while self._waiting and self._answering is None and not self._blocked and not self._ending:
            self._serve(self._waiting.popleft())
        if not self._is_free():
            return
        request = self._parsing.request
        if request is None and self._half_closed:
            self._transport.close()
            return
        if request is not None and request.waits:
            self._transport.write(_CONTINUE)
            request.waits = False
        if not self._reading:
            self._reading = True
            self._transport.resume_reading()

    def _fail(self, bad: Bad) -> None:
        """Answer what cannot be understood, and end."""
        self._parsing.drop()
        if self._ending:
            return
        self._waiting.clear()
        if self._answering is None:
            response = Response(bad.status, [TEXT, CLOSE], bad.text.encode() + b"\n")
            self._write(response, keep_alive=False, unread=True)
        else:
            self._half_closed = True

    def _end(self, *, linger: bool) -> None:
        """Nothing more is answered. A client that may still be sending would not see the response if it were cut."""
        self._ending = True
        self._waiting.clear()
        self.since = self._keeper.now
        if not linger:
            self._transport.close()
            return
        if self._transport.can_write_eof():
            self._transport.write_eof()
        if not self._reading:
            self._reading = True
            self._transport.resume_reading()
