"""Paths of a process with several merchants: the health and the metrics of all."""

from collections.abc import Callable, Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from foreseal.payments.api.app import unknown_path
from foreseal.payments.api.health_responses import Health
from foreseal.payments.api.routes.service import METRICS_TYPE

_NO_STORE = {"cache-control": "no-store"}
# Best first.
_STATUSES = ("ok", "degraded", "unhealthy")


def summarize(healths: Mapping[str, Health]) -> dict[str, object]:
    """Return the health of a process: the worst status, and status and reasons of each merchant."""
    return {
        "status": max((each["status"] for each in healths.values()), key=_STATUSES.index),
        "merchants": {
            name: {"status": each["status"], "reasons": each["reasons"]} for name, each in sorted(healths.items())
        },
    }


def build_process_app(healths: Callable[[], Mapping[str, Health]], metrics: Callable[[], str]) -> Starlette:
    """Return the application. Neither `healths`, by merchant, nor `metrics` may wait."""

    async def healthz(_: Request) -> Response:
        by_merchant = healths()
        # With 503, a load balancer would remove a process in which other merchants work.
        is_useless = all(each["status"] == "unhealthy" for each in by_merchant.values())
        return JSONResponse(summarize(by_merchant), 503 if is_useless else 200, _NO_STORE)

    async def process_metrics(_: Request) -> Response:
        return PlainTextResponse(metrics(), headers=_NO_STORE, media_type=METRICS_TYPE)

    return Starlette(
        routes=[
            Route("/healthz", healthz, methods=["GET"]),
            Route("/metrics", process_metrics, methods=["GET"]),
        ],
        exception_handlers={HTTPException: unknown_path},
    )
