"""Paid routes of an ASGI application: one handler run per payment, and its response only after settlement.

```text
no payment                         402, PAYMENT-REQUIRED; the pay page for browsers
malformed payment                  400
invalid payment                    402, with the reason
first use of the payment           verified -> body -> granted -> handler -> response stored -> settled -> response
a copy of it                       the stored response, or 409 with a status URL while there is none
handler ended without a response   409 with a status URL, until it is proven that the payment was not settled;
                                   the handler again, once the chain shows that it was
```
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Coroutine, Sequence
from urllib.parse import quote

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from x402.http.constants import PAYMENT_RESPONSE_HEADER, PAYMENT_SIGNATURE_HEADER
from x402.http.utils import encode_payment_response_header
from x402.http.x402_http_server_base import with_private_cache_control
from x402.mechanisms.evm.batch_settlement.errors import ERR_CHANNEL_BUSY
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse
from x402.schemas.errors import FacilitatorCapabilityError
from x402.schemas.hooks import SkipHandlerDirective

from foreseal.payments.ledger import GrantState, LedgerError
from foreseal.payments.request_bodies import BodiesFull, BodyMemory
from foreseal.payments.transfers.grant_authorizations import AuthorizationTaken
from foreseal.payments.x402.crash_points import PaidPoint
from foreseal.payments.x402.models import GrantRecord
from foreseal.payments.x402.payloads import Malformed, read_header
from foreseal.payments.x402.payment_key import Payment, PaymentKey, granted
from foreseal.payments.x402.payment_status import PaymentFate
from foreseal.payments.x402.seller.bounded_bodies import BoundedBody, CollectedResponse
from foreseal.payments.x402.seller.grants import (
    BalanceCommitted,
    GrantedResponse,
    GrantLease,
    GrantRequest,
    stored_answer,
    stored_payment,
)
from foreseal.payments.x402.seller.pay_page_responses import PayPageResponses
from foreseal.payments.x402.seller.payment_requirements import JSON, NO_STORE
from foreseal.payments.x402.seller.priced_handlers import FirstPass, GrantedPass, in_pass
from foreseal.payments.x402.seller.prices import Charge, Price, chargeable
from foreseal.payments.x402.seller.redirects import is_respelling
from foreseal.payments.x402.seller.route_paths import UnclearPath, path_below_root
from foreseal.payments.x402.seller.seller import PaymentRejected, Seller, Silent, Unavailable, Undecided

_log = logging.getLogger(__name__)

MAX_BODIES = 256 * 1024 * 1024
"""Maximum bytes of the bodies of all paid requests in progress."""
_EVERY = 1.0
_POLICY_VIOLATION = 1008


class PaidRoutes:
    """ASGI middleware: `app.add_middleware(PaidRoutes, seller=seller)`.

    Routes without a price pass through, unless their handler declares one (`PaidApi`). A handler finds a `Charge` in
    `request.state.payment`. While the application runs, settlements are followed until they are final.
    """

    def __init__(self, app: ASGIApp, seller: Seller, every: float = _EVERY) -> None:
        """Set up the middleware.

        `every` is the number of seconds between two checks of settlements that are not final.
        """
        self.app = app
        self.seller = seller
        self.bodies = BodyMemory(MAX_BODIES)
        """Memory of the bodies of paid requests. Only those with a verified payment are read."""
        self._every = every
        shop = seller.offers.shop
        self.pages = None if shop.page is None else PayPageResponses(shop.page, shop)
        self._working: set[asyncio.Task[GrantedResponse]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, path = Request(scope, receive), path_below_root(scope)
        prefix = self.seller.offers.shop.status_path + "/"
        if request.method in ("GET", "HEAD") and path.startswith(prefix):
            await _send(send, await self._status(path.removeprefix(prefix)), request.method)
            return
        file = None if self.pages is None else self.pages.find(request, path)
        if file is not None:
            await _send(send, file, request.method)
            return
        try:
            prices = self.seller.offers.table.find(scope)
        except UnclearPath as error:
            await _send(send, _json(400, {"error": str(error)}), request.method)
            return
        if prices:
            await self._sell(request, prices, send)
        else:
            await self._find_price(scope, receive, send)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a WebSocket whose path has no price; a WebSocket cannot be paid, so close any other one."""
        try:
            is_free = not self.seller.offers.table.find(scope)
        except UnclearPath:
            is_free = False
        if is_free:
            with in_pass(self.seller.offers, None):
                await self.app(scope, receive, send)
        else:
            await receive()  # the request to connect
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": "the path requires a payment"})

    async def _find_price(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run a handler without a price; sell the response of a handler that declares one."""
        offers = self.seller.offers
        if not offers.declared:
            await self.app(scope, receive, send)
            return
        state = {**scope.get("state", {})}
        with self.bodies.request() as held:
            # The demand for an unpaid request needs no body.
            is_unpaid = PAYMENT_SIGNATURE_HEADER not in Request(scope).headers
            first = FirstPass(receive, send, None if is_unpaid else held)
            try:
                with in_pass(offers, first):
                    await self.app({**scope}, first.receive, first.send)
            except Exception:  # the price interrupts the handler, and a framework may raise anything for that
                if first.prices is None:
                    raise
            if first.prices is not None:
                # The second pass does not see what a framework stored in the state during the first one.
                await self._sell(Request({**scope, "state": state}, first.replay), first.prices, send)

    async def _sell(self, request: Request, prices: Sequence[Price], send: Send) -> None:
        # A client that disconnects must not interrupt the work that it paid for.
        task = asyncio.create_task(self._answer(request, prices))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        await _send(send, await asyncio.shield(task), request.method)

    async def _answer(self, request: Request, prices: Sequence[Price]) -> GrantedResponse:
        with self.bodies.request() as held:
            return await self._guarded(_Paid(self, BoundedBody(request, held), prices).answer(), request)

    async def _guarded(self, work: Coroutine[object, object, GrantedResponse], request: Request) -> GrantedResponse:
        try:
            return await work
        except Malformed as error:
            return _json(400, {"error": str(error)})
        except ClientDisconnect:
            return _json(400, {"error": "body: incomplete, the connection was closed"})
        except BodiesFull as error:
            return _json(503, {"error": str(error)}).having(retry_after=str(error.retry_after))
        except (Unavailable, LedgerError, *Silent) as error:
            _log.warning("cannot accept payments: %s", error, extra={"path": request.url.path})
            message = "the payment cannot be processed now: retry with the same payment"
            return _json(503, {"error": message}).having(retry_after="1")

    async def _status(self, id: str) -> GrantedResponse:
        try:
            name = PaymentKey.parse(id).name
        except ValueError:
            name = ""  # matches no payment
        row = await run_in_threadpool(self.seller.grants.find, name)
        if row is None:
            return _json(404, {"error": f"unknown payment {id[:200]!r}"})
        try:
            status = await self.seller.settled_status(row)
        except Silent as error:
            _log.warning("the node did not respond: %s", error)
            return _json(503, {"error": "the chain cannot be queried now"}).having(retry_after="1")
        return _json(200, {"payment": row.id, "grant": row.state.value} | status.as_json())

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        following: asyncio.Task[None] | None = None

        async def receive_and_follow() -> Message:
            nonlocal following
            message = await receive()
            if message["type"] == "lifespan.startup":
                following = asyncio.create_task(self._follow())
            return message

        try:
            await self.app(scope, receive_and_follow, send)
        finally:
            if following is not None:
                following.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await following

    async def _follow(self) -> None:
        while True:
            try:
                await self.seller.offers.start()
                await self.seller.follow()
            except Silent as error:
                _log.warning("cannot track settlements: %s", error)
            except Exception:  # one failure must not stop the following of settlements
                _log.exception("failed to track settlements")
            await asyncio.sleep(self._every)


class _Paid:
    """One request to a route with a price."""

    def __init__(self, routes: PaidRoutes, body: BoundedBody, prices: Sequence[Price]) -> None:
        self._app = routes.app
        self._seller = routes.seller
        self._pages = routes.pages
        self._request = request = body.request
        self._body = body
        self._prices = prices
        url, origin = request.url, routes.seller.offers.shop.origin
        query = request.scope["query_string"].decode("latin-1")
        self._path = quote(request.scope["path"], safe="/:@!$&'()*+,;=-._~") + (f"?{query}" if query else "")
        self._url = f"{origin or f'{url.scheme}://{url.netloc}'}{self._path}"

    async def answer(self) -> GrantedResponse:
        """Return the response. Raises `Malformed`, `BodiesFull`, `Unavailable` and the errors in `Silent`."""
        signatures = self._request.headers.getlist(PAYMENT_SIGNATURE_HEADER)
        if len(signatures) > 1:
            raise Malformed(f"{PAYMENT_SIGNATURE_HEADER}: occurs {len(signatures)} times")
        payload = read_header(signatures[0]) if signatures else None
        payment = None if payload is None else granted(payload)
        try:
            await self._seller.offers.start()
        except (ValueError, RuntimeError, FacilitatorCapabilityError) as error:
            raise Unavailable(str(error)) from error
        if payload is None or payment is None:
            demand = await self._demand("payment_required")
            return demand if self._pages is None else self._pages.demand(self._request, demand)
        row = await self._find(payment.key.name)
        if row is not None and not (row.state is GrantState.RELEASED and row.deadline is None):
            return await self._copy(row, payload)
        required, refusal = await self._seller.offers.demand(self._prices, self._url, "payment_does_not_match")
        requirements = self._seller.offers.server.find_matching_requirements(required.accepts, payload)
        if requirements is None:
            return refusal
        echoed = self._seller.offers.server.validate_extensions(required, payload)
        if not echoed.valid:
            return await self._demand(echoed.invalid_reason or "extension_echo_mismatch")
        if payload.resource is not None and payload.resource.url != self._url:
            return await self._demand("payment_is_for_another_resource")
        return await self._first(payment, payload, requirements)

    async def _first(
        self, payment: Payment, payload: PaymentPayload, requirements: PaymentRequirements
    ) -> GrantedResponse:
        """Process a payment without a grant. Anybody can send a body, so it is read for a verified payment only."""
        id = payment.key.name
        try:
            directive = await self._seller.verify(payload, requirements)
        except PaymentRejected as error:
            # A copy may have been settled since the check of the grants, and caused this rejection.
            row = await self._find(id)
            if row is not None and row.state is not GrantState.RELEASED:
                return await self._copy(row, payload)
            if error.reason == ERR_CHANNEL_BUSY:
                return self._undecided(id, "the channel is in use by another request")
            return await self._demand(error.reason, payload)
        try:
            request = await self._digest()
        except (Malformed, BodiesFull, ClientDisconnect):
            await self._seller.cancel(payload, requirements, None)  # the channel that was reserved
            raise
        available = await run_in_threadpool(self._seller.available, payment)
        claim = GrantRequest(payment, payload, requirements, request, available)
        self._seller.ledger.passed(PaidPoint.PAYMENT_VERIFIED)
        try:
            lease = await run_in_threadpool(self._seller.grants.grant, claim)
        except AuthorizationTaken as error:
            return await self._demand(error.reason, payload)
        except BalanceCommitted:
            return await self._demand("balance_pays_other_requests", payload)
        if lease is None:
            row = await self._find(id)
            assert row is not None, "a grant is never removed"
            return await self._copy(row, payload)
        with self._seller.working(lease, payload, requirements):
            return await self._sold(claim, lease, directive)

    async def _sold(
        self, claim: GrantRequest, lease: GrantLease, directive: SkipHandlerDirective | None
    ) -> GrantedResponse:
        """Run the handler, and settle the payment for its response."""
        self._seller.ledger.passed(PaidPoint.GRANT_STORED)
        charge = chargeable(claim.payment, claim.requirements)
        if directive is not None:
            answered: GrantedResponse | None = _json(200, directive.body or {})
        else:
            answered = await self._handled(await self._body.read(), charge)
        self._seller.ledger.passed(PaidPoint.HANDLER_ENDED)
        if answered is None or answered.status >= 400 or is_respelling(self._request, answered):
            return await self._uncharged(claim, lease, answered)
        await run_in_threadpool(self._seller.grants.answer, lease, answered, charge.amount)
        self._seller.ledger.passed(PaidPoint.ANSWER_STORED)
        return await self._settled(claim, lease, charge.amount, answered)

    async def _settled(
        self, claim: GrantRequest, lease: GrantLease, charged: int, answered: GrantedResponse
    ) -> GrantedResponse:
        grants = self._seller.grants
        try:
            settlement = await self._seller.settle(claim.payload, claim.requirements, charged)
        except Undecided as error:
            await run_in_threadpool(grants.end, lease, str(error))
            return self._undecided(lease.id, "the settlement has not responded")
        except PaymentRejected as error:
            await run_in_threadpool(grants.end, lease)
            return await self._refused(error)
        self._seller.ledger.passed(PaidPoint.PAYMENT_SETTLED)
        row = await run_in_threadpool(grants.settle, lease, settlement)
        self._seller.ledger.passed(PaidPoint.GRANT_SETTLED)
        return _paid(answered, row)

    async def _uncharged(
        self, claim: GrantRequest, lease: GrantLease, answered: GrantedResponse | None
    ) -> GrantedResponse:
        """Charge nothing after an error. Without a response, the payer gets the payment's status URL."""
        status = None if answered is None else answered.status
        await self._seller.cancel(claim.payload, claim.requirements, status)
        if answered is None:
            row = await run_in_threadpool(self._seller.grants.end, lease)
            is_paid = False
            with contextlib.suppress(*Silent):  # a voucher is released at once; other payments lack the proof so far
                is_paid = (await self._seller.settled_status(row)).fate is PaymentFate.SETTLED
            result = "the payment is settled: repeat the request" if is_paid else "nothing is charged"
            return self._undecided(lease.id, f"the handler ended without a response; {result}")
        await run_in_threadpool(self._seller.grants.decline, lease, answered)
        return _private(answered)

    async def _copy(self, row: GrantRecord, payload: PaymentPayload) -> GrantedResponse:
        """Respond to a payment that was used before. Its signature is not verified again, so it must be the same."""
        if stored_payment(row)[0].payload != payload.payload:
            return await self._demand("payment_differs_from_its_first_use")
        # Before the payment's end no chain query is needed, even for many copies.
        if not self._seller.is_good(row):
            try:
                status = await self._seller.settled_status(row)
            except Silent:
                return self._undecided(row.id, "the chain cannot be queried now")
            if status.never:
                return await self._demand("payment_expired")
        if row.request != await self._digest():
            if row.state is GrantState.SETTLED:
                return await self._demand("payment_is_for_another_resource")
            return self._undecided(row.id, "the payment is in use for another request")
        if row.state is GrantState.DECLINED:
            return _private(stored_answer(row))
        if row.state is GrantState.SETTLED:
            return _paid(stored_answer(row), row)
        try:
            resumes = await self._is_resumable(row)
        except Silent:
            return self._undecided(row.id, "the chain cannot be queried now")
        lease = await run_in_threadpool(self._seller.grants.lease, row) if resumes else None
        if lease is None:
            return self._undecided(row.id, "the request is in progress, or ended without a response")
        if row.state is GrantState.HELD:
            return await self._run_again(row, lease)
        try:
            row = await self._seller.finish(row, lease)
        except Undecided:
            return self._undecided(row.id, "the settlement has not responded")
        except PaymentRejected as error:
            return await self._refused(error)
        return _paid(stored_answer(row), row)

    async def _is_resumable(self, row: GrantRecord) -> bool:
        """Return True if a repeated request may continue a grant without a run. Raises the errors in `Silent`."""
        if row.state is GrantState.ANSWERED:
            return True
        if row.state is not GrantState.HELD or row.lease > self._seller.ledger.clock():
            return False
        return await run_in_threadpool(self._seller.is_paid, row)

    async def _run_again(self, row: GrantRecord, lease: GrantLease) -> GrantedResponse:
        """Run the handler for a payment that is settled, and that no earlier run responded to."""
        payload, requirements = stored_payment(row)
        claim = GrantRequest(granted(payload), payload, requirements, row.request)
        with self._seller.working(lease, payload, requirements):
            return await self._sold(claim, lease, None)

    async def _handled(self, body: bytes, charge: Charge) -> GrantedResponse | None:
        """Return the application's response; None if it ended without one."""
        scope = {**self._request.scope}
        scope["state"] = {**scope.get("state", {}), "payment": charge}
        is_body_read = False

        async def receive() -> Message:
            nonlocal is_body_read
            if not is_body_read:
                is_body_read = True
                return {"type": "http.request", "body": body, "more_body": False}
            return await self._request.receive()

        answer = CollectedResponse()
        try:
            with in_pass(self._seller.offers, GrantedPass(tuple(self._prices), charge)):
                await self._app(scope, receive, answer)
        except Exception:  # any error of the handler; the payer gets a response that reports it
            _log.exception("the handler of a paid request failed", extra={"path": self._path})
            return None
        return answer.response()

    async def _refused(self, error: PaymentRejected) -> GrantedResponse:
        answer = await self._demand(error.reason)
        if error.settlement is None:
            return answer
        return answer.having(**{PAYMENT_RESPONSE_HEADER.lower(): encode_payment_response_header(error.settlement)})

    async def _demand(self, error: str, payment: PaymentPayload | None = None) -> GrantedResponse:
        return (await self._seller.offers.demand(self._prices, self._url, error, payment))[1]

    def _undecided(self, id: str, why: str) -> GrantedResponse:
        url = f"{self._url.removesuffix(self._path)}{self._seller.offers.shop.status_path}/{id}"
        return _json(409, {"error": why, "payment": id, "status": url}).having(location=url, retry_after="1")

    async def _digest(self) -> bytes:
        """Return the hash of the request: method, path, query and body. Raises the errors of the body."""
        parts = [self._request.method, self._path, hashlib.sha256(await self._body.read()).hexdigest()]
        return hashlib.sha256(orjson.dumps(parts)).digest()

    async def _find(self, id: str) -> GrantRecord | None:
        return await run_in_threadpool(self._seller.grants.find, id)


def _private(answer: GrantedResponse) -> GrantedResponse:
    cache_control = next((value for name, value in answer.headers if name.lower() == "cache-control"), None)
    return answer.having(cache_control=with_private_cache_control(cache_control))


def _paid(answer: GrantedResponse, row: GrantRecord) -> GrantedResponse:
    assert row.settlement is not None, "a settled grant has its settlement"
    header = encode_payment_response_header(SettleResponse.model_validate_json(row.settlement))
    return _private(answer).having(**{PAYMENT_RESPONSE_HEADER.lower(): header})


def _json(status: int, content: dict[str, object]) -> GrantedResponse:
    return GrantedResponse(status, (JSON, NO_STORE), orjson.dumps(content))


async def _send(send: Send, answer: GrantedResponse, method: str) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
    if not any(name.lower() == b"content-length" for name, _ in headers):
        headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})
