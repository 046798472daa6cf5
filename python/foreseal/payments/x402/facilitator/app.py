"""The facilitator over HTTP, as defined by x402 v2: `/verify`, `/settle`, `/supported`, and also `/status/{payment}`.

Status 200 is a definite answer, including an invalid payment. 400 means an invalid call. 503 means that the outcome
is unknown: the node did not answer, the transaction was not sent, or too many calls are in progress. `/healthz` returns
the health, if the application has one.
"""

import contextlib
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from foreseal.payments.chain import ChainError, NoResponse
from foreseal.payments.periodic_thread import PeriodicThread
from foreseal.payments.request_bodies import BodiesFull, BodyMemory
from foreseal.payments.transactions import SendingError
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.payloads import Malformed, read_body, read_bytes
from foreseal.payments.x402.payment_key import PaymentKey

_log = logging.getLogger(__name__)

LARGEST_BODY = 512 * 1024
"""Maximum bytes of a body; a claim of 200 vouchers is smaller."""
MAX_BODIES = 64 * 1024 * 1024
"""Maximum bytes of the bodies of all calls in progress."""
_EVERY = 1.0
"""Seconds between two checks of settlements that are not final."""

FacilitatorEndpoint = Callable[[Request], Awaitable[Response]]


def facilitator_app(
    facilitator: Facilitator, every: float = _EVERY, health: Callable[[], dict[str, object]] | None = None
) -> Starlette:
    """Return the ASGI application. `health` returns the report of `/healthz` without waiting.

    With ASGI lifespan support in the server, it follows its settlements until they are final, every `every` seconds.
    Without it, call `Facilitator.follow` regularly.
    """

    @contextlib.asynccontextmanager
    async def following(_: Starlette) -> AsyncIterator[None]:
        with PeriodicThread("following", facilitator.follow, every):
            yield

    bodies = BodyMemory(MAX_BODIES)

    async def verify(request: Request) -> Response:
        with bodies.request() as held:
            payment, requirements = read_body(await read_bytes(request, LARGEST_BODY, held))
            return _answer(await run_in_threadpool(facilitator.verify, payment, requirements))

    async def settle(request: Request) -> Response:
        with bodies.request() as held:
            payment, requirements = read_body(await read_bytes(request, LARGEST_BODY, held))
            return _answer(await run_in_threadpool(facilitator.settle, payment, requirements))

    async def supported(_: Request) -> Response:
        return _answer(await run_in_threadpool(facilitator.supported))

    async def status(request: Request) -> Response:
        key = PaymentKey.parse(request.path_params["payment"])
        payment_status = await run_in_threadpool(facilitator.status, key, _deadline(request))
        return JSONResponse({"payment": key.name} | payment_status.as_json(), headers={"cache-control": "no-store"})

    routes = [
        Route("/verify", _guarded(verify), methods=["POST"]),
        Route("/settle", _guarded(settle), methods=["POST"]),
        Route("/supported", _guarded(supported)),
        Route("/status/{payment}", _guarded(status)),
    ]
    if health is not None:
        routes.append(Route("/healthz", _healthz(health)))
    return Starlette(routes=routes, lifespan=following)


def _healthz(health: Callable[[], dict[str, object]]) -> FacilitatorEndpoint:
    # On the event loop: requests that wait for the node may occupy all threads.
    async def healthz(_: Request) -> Response:
        report = health()
        code = 503 if report["status"] == "unhealthy" else 200
        return JSONResponse(report, code, headers={"cache-control": "no-store"})

    return healthz


def _deadline(request: Request) -> int | None:
    deadline = request.query_params.get("deadline")
    if deadline is None:
        return None
    if not deadline.isascii() or not deadline.isdigit() or len(deadline) > 15:
        raise Malformed(f"deadline: {deadline!r} must be a Unix time in seconds")
    return int(deadline)


def _guarded(endpoint: FacilitatorEndpoint) -> FacilitatorEndpoint:
    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ValueError as error:  # `Malformed`, and invalid numbers or addresses
            return JSONResponse({"error": str(error)}, status_code=400)
        except BodiesFull as error:
            return JSONResponse({"error": str(error)}, 503, headers={"retry-after": str(error.retry_after)})
        except (ChainError, SendingError) as error:
            _log.warning("a request cannot be answered", extra={"error": str(error)})
            return JSONResponse({"error": f"status unknown: {error}"}, 503, headers=_retry_after(error))

    return guarded


def _retry_after(error: Exception) -> dict[str, str]:
    if not isinstance(error, NoResponse):
        return {}
    return {"retry-after": str(max(1, math.ceil(error.retry_after)))}


def _answer(model: BaseModel) -> Response:
    return JSONResponse(model.model_dump(by_alias=True, exclude_none=True, mode="json"))
