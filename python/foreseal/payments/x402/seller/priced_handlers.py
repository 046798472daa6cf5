"""Handlers that declare their own price, instead of a price in the table of routes.

```text
PaidRoutes -> application -> route -> handler with a price, no grant: the price is stored, its 402 is dropped
    |
    '-> payment verified, granted -> application -> route -> handler with a price, granted: runs
```

The first pass finds the price at the handler itself, so no second pattern has to match its path. The handler runs only
in the second pass, under the same grants as a route of the table.

The pass is a context variable, so it reaches a handler of any framework, also in another task or thread.
"""

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Send

from foreseal.payments.request_bodies import BodiesFull, HeldBody
from foreseal.payments.x402.payloads import Malformed
from foreseal.payments.x402.seller.bounded_bodies import LARGEST
from foreseal.payments.x402.seller.payment_requirements import Offers
from foreseal.payments.x402.seller.prices import Charge, Price

_PASSES: ContextVar[Mapping[Offers, "FirstPass | GrantedPass | None"]] = ContextVar(
    "foreseal.x402.passes", default=MappingProxyType({})
)
"""The current pass through the middleware of each seller."""


class FirstPass:
    """A pass without a grant. It stores the body of a paid request for the second pass until a response begins."""

    def __init__(self, receive: Receive, send: Send, held: HeldBody | None) -> None:
        """Set up the pass. The stored bytes count in `held`; None for a request whose body is not needed again."""
        self.prices: tuple[Price, ...] | None = None
        """Price of the handler that the request has reached; None for a free handler."""
        self._receive = receive
        self._send = send
        self._held = held
        self._stored: list[Message] = []
        self._failure: Exception | None = None
        self._size = 0
        self._has_response = False

    def demand(self, prices: tuple[Price, ...]) -> None:
        """Record the price of the handler. Raises RuntimeError after a response began."""
        if self._has_response:
            raise RuntimeError("a handler with a price was reached after a response began")
        self.prices = prices

    async def receive(self) -> Message:
        """Return the server's next message."""
        message = await self._receive()
        if self._held is not None:
            size = len(message.get("body", b""))
            try:
                self._held.add(size)
            except BodiesFull as error:
                self._fail(error)
                return message
            self._size += size
            self._stored.append(message)
            if self._size > LARGEST:
                self._fail(Malformed(f"body: must have at most {LARGEST} bytes"))
        return message

    async def send(self, message: Message) -> None:
        """Send a message of a free handler; drop one that follows the price of a handler."""
        if self.prices is None:
            self._has_response = True
            self._drop()
            await self._send(message)

    async def replay(self) -> Message:
        """Return the next message of the second pass. Raises `Malformed` for a large body, and `BodiesFull`."""
        if self._failure is not None:
            raise self._failure
        if not self._stored:
            return await self._receive()
        message = self._stored.pop(0)
        if self._held is not None:  # the reader counts it from here on
            self._held.remove(len(message.get("body", b"")))
        return message

    def _fail(self, failure: Exception) -> None:
        """Store nothing more, so that the second pass has no body. The first pass goes on: its handler may be free."""
        self._failure = failure
        self._drop()

    def _drop(self) -> None:
        self._stored.clear()
        if self._held is not None:
            self._held.clear()
            self._held = None


class GrantedPass:
    """A pass of a request whose payment was granted. It ends with the response, also for tasks that outlive it."""

    def __init__(self, prices: tuple[Price, ...], charge: Charge) -> None:
        """Set up the pass of a payment for one of these prices."""
        self.prices = prices
        self.charge = charge
        self.is_open = True


@contextlib.contextmanager
def in_pass(offers: Offers, current: FirstPass | GrantedPass | None) -> Iterator[None]:
    """Run a seller's application in a pass; None for a connection that cannot be paid."""
    token = _PASSES.set({**_PASSES.get(), offers: current})
    try:
        yield
    finally:
        _PASSES.reset(token)
        if isinstance(current, GrantedPass):
            current.is_open = False


def granted_charge(offers: Offers, prices: tuple[Price, ...]) -> Charge:
    """Return the charge of the current request, if it was granted.

    Raises HTTPException without a grant, and RuntimeError if the request did not pass through `PaidRoutes` of the same
    seller, paid another price, or is a WebSocket.
    """
    if offers not in (passes := _PASSES.get()):
        raise RuntimeError("a paid handler requires the middleware of its seller: call PaidApi.install(app)")
    current = passes[offers]
    if current is None:
        raise RuntimeError("a WebSocket cannot be paid: declare the price at a handler of requests")
    if isinstance(current, FirstPass):
        current.demand(prices)
        raise HTTPException(402, "the handler requires a payment")
    if not current.is_open:
        raise RuntimeError("the grant of the request has ended")
    if current.prices != prices:
        raise RuntimeError("the request has two prices: declare one, at the handler or in the table of routes")
    return current.charge
