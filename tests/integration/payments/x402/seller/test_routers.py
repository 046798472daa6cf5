"""Prices against routers that this project did not write: no spelling of a priced path is served without a payment."""

import asyncio
import contextvars
import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from blacksheep import Application, text
from blacksheep import Router as BlackSheepRouter
from fastapi import Depends, FastAPI, WebSocket
from hypothesis import given
from hypothesis import strategies as st
from litestar import Litestar, get
from litestar import Router as LitestarRouter
from litestar.params import FromPath
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from x402.schemas import SupportedKind, SupportedResponse

from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.x402.seller.middleware import PaidRoutes
from foreseal.payments.x402.seller.paid_api import PaidApi
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.priced_handlers import GrantedPass, granted_charge, in_pass
from foreseal.payments.x402.seller.seller import Seller
from payments.x402.world import DOMAIN, NETWORK, SHOP

PATHS = ["/report", "/reports/tea", "/files/a/b", "/slash/", "/sub/report"]
TABLE = {
    "GET /report": "$0.01",
    "GET /reports/{name}": "$0.01",
    "GET /files/{name:path}": "$0.01",
    "GET /slash/": "$0.01",
    "GET /sub/report": "$0.01",
}
PAID, FREE = b"paid content", b"free content"


class Facilitator:
    """A facilitator that receives no payment."""

    def get_supported(self) -> SupportedResponse:
        kind = SupportedKind(x402_version=2, scheme="exact", network=NETWORK)
        return SupportedResponse(kinds=[kind], extensions=[], signers={})


class Answered(NamedTuple):
    status: int
    body: bytes
    location: str | None


@pytest.fixture(scope="module")
def sellers() -> Iterator[Callable[..., PaidApi]]:
    database = Database("sqlite://")

    def made(prices: Any = ()) -> PaidApi:
        settings = SellerSettings(dict(prices), SHOP.address, DOMAIN, page=None)
        return PaidApi(Seller(Ledger(database, lambda: 0), None, Facilitator(), settings))  # type: ignore[arg-type]

    yield made
    database.close()


def starlette_app(api: PaidApi | None = None) -> Any:
    def paid(request: Any) -> Response:
        return PlainTextResponse(PAID)

    handler = paid if api is None else api.paid("$0.01")(paid)
    routes: list[BaseRoute] = [Route(path, handler) for path in ("/report", "/reports/{name}", "/slash/")]
    routes += [Route("/files/{name:path}", handler), Mount("/sub", Starlette(routes=[Route("/report", handler)]))]
    return Starlette(routes=[*routes, Route("/free", lambda request: PlainTextResponse(FREE))])


def fastapi_app(api: PaidApi | None = None) -> Any:
    depends = [] if api is None else [Depends(api.payment("$0.01"))]
    app, mounted = FastAPI(openapi_url=None, dependencies=[]), FastAPI(openapi_url=None)

    async def paid() -> Response:
        return PlainTextResponse(PAID)

    for path in ("/report", "/reports/{name}", "/files/{name:path}", "/slash/"):
        app.get(path, dependencies=depends)(paid)
    mounted.get("/report", dependencies=depends)(paid)
    app.mount("/sub", mounted)
    app.get("/free")(lambda: PlainTextResponse(FREE))
    return app


def litestar_app(api: PaidApi | None = None) -> Any:
    guards = [] if api is None else [api.guard("$0.01")]

    @get(["/report", "/slash/"], guards=guards, media_type="text/plain")
    async def paid() -> bytes:
        return PAID

    @get(["/reports/{name:str}", "/files/{name:path}"], guards=guards, media_type="text/plain")
    async def named(name: FromPath[str]) -> bytes:
        return PAID

    @get("/report", media_type="text/plain", sync_to_thread=False)
    def mounted() -> bytes:
        return PAID

    @get("/free", media_type="text/plain")
    async def free() -> bytes:
        return FREE

    sub = LitestarRouter("/sub", route_handlers=[mounted], guards=guards)
    return Litestar([paid, named, sub, free], openapi_config=None)


def blacksheep_app(api: PaidApi | None = None) -> Any:
    router = BlackSheepRouter()

    async def paid() -> Any:
        return text(PAID.decode())

    handler = paid if api is None else api.paid("$0.01")(paid)
    for path in ("/report", "/reports/{name}", "/files/{path:name}", "/slash/", "/sub/report"):
        router.add_get(path, handler)
    router.add_get("/free", lambda: text(FREE.decode()))
    return Application(router=router)


APPS: dict[str, Callable[..., Any]] = {
    "starlette": starlette_app,
    "fastapi": fastapi_app,
    "litestar": litestar_app,
    "blacksheep": blacksheep_app,
}

SPELLINGS: dict[str, Callable[[str], str]] = {
    "trailing slash": lambda path: path + "/",
    "no trailing slash": lambda path: path.rstrip("/"),
    "leading slash": lambda path: "/" + path,
    "no leading slash": lambda path: path.removeprefix("/"),
    "double slashes": lambda path: path.replace("/", "//"),
    "encoded slash": lambda path: path[:1] + path[1:].replace("/", "%2F"),
    "encoded trailing slash": lambda path: path + "%2f",
    "encoded leading slash": lambda path: "/%2F" + path[1:],
    "twice encoded slash": lambda path: path + "%252F",
    "dot": lambda path: "/." + path,
    "dot at the end": lambda path: path + "/.",
    "dots": lambda path: "/free/.." + path,
    "dots at the end": lambda path: path + "/x/..",
    "encoded dots": lambda path: "/free/%2e%2E" + path,
    "twice encoded dots": lambda path: "/free/%252e%252e" + path,
    "encoded letter": lambda path: path.replace("r", "%72").replace("f", "%66"),
    "twice encoded letter": lambda path: path.replace("r", "%2572").replace("f", "%2566"),
    "upper case": str.upper,
    "title": str.title,
    "long s": lambda path: path.replace("s", "%C5%BF"),
    "full width": lambda path: path.replace("r", "%EF%BD%92"),
    "combining": lambda path: path + "%CC%81",
    "parameter": lambda path: path + ";a=b",
    "empty parameter": lambda path: path.rstrip("/") + ";/",
    "query": lambda path: path + "?a=/free",
    "encoded query": lambda path: path + "%3Fa",
    "encoded fragment": lambda path: path + "%23a",
    "NUL": lambda path: path + "%00",
    "new line": lambda path: path + "%0A",
    "new line within": lambda path: path[:-2] + "%0A" + path[-2:],
    "tab": lambda path: path[:2] + "%09" + path[2:],
    "space": lambda path: path + "%20",
    "backslash": lambda path: path.replace("/", "\\"),
    "invalid UTF-8": lambda path: path + "%FF",
    "absolute": lambda path: "http://shop.test" + path,
    "authority": lambda path: "//shop.test" + path,
    "empty segment": lambda path: path[: path.rindex("/", 0, -1) + 1] if path.count("/") > 1 else path,
}
ROOTS: dict[str, Callable[[str], str]] = {
    "": lambda path: path,
    "/api": lambda path: "/api" + path,
    "/api without it": lambda path: path,
    "/api without a slash": lambda path: "/api" + path.removeprefix("/"),
    "/api after another segment": lambda path: "/other/api" + path,
}


async def call(app: Any, path: str, method: str = "GET", root: str = "", has_raw_path: bool = True) -> Answered:
    """Send a request without a payment whose path is exactly this one; -1 is the status of an exception."""
    raw, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw),
        "query_string": query.encode(),
        "root_path": root,
        "headers": [(b"host", b"shop.test")],
        "server": ("shop.test", 80),
        "client": ("192.0.2.1", 1),
        "state": {},
    }
    if has_raw_path:
        scope["raw_path"] = raw.encode("latin-1")
    sent: list[Any] = []
    received = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Any:
        if not received:
            await asyncio.Event().wait()  # the client stays connected
        return received.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    try:
        await app(scope, receive, send)
    except Exception:  # a router may fail for an invalid path
        return Answered(-1, b"", None)
    headers = dict(sent[0]["headers"])
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answered(sent[0]["status"], body, headers.get(b"location", b"").decode() or None)


class Apps(NamedTuple):
    """Applications of one framework."""

    unpriced: Any
    table: PaidRoutes
    """With prices in a table in front of the router."""
    handlers: PaidRoutes
    """With prices at the handlers."""


@pytest.fixture(scope="module")
def apps(sellers: Callable[..., PaidApi]) -> dict[str, Apps]:
    by_framework = {}
    for name, made in APPS.items():
        api = sellers()
        unpriced, behind_table, priced = made(), made(), made(api)
        for app in (unpriced, behind_table, priced):
            if isinstance(app, Application):
                asyncio.run(app.start())
        by_framework[name] = Apps(unpriced, sellers(TABLE).wrap(behind_table), api.wrap(priced))
    return by_framework


@pytest.fixture(autouse=True)
def _without_logs() -> Iterator[None]:
    logging.disable(logging.CRITICAL)  # a framework may log the exceptions of the first pass
    yield
    logging.disable(logging.NOTSET)


def spelled(names: tuple[str, ...], path: str) -> str:
    """Return a path after several changes of its spelling."""
    return functools.reduce(lambda changed, name: SPELLINGS[name](changed), names, path)


async def served_unpaid(app: Any, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the root paths and paths whose content is served in these spellings."""
    requests = []
    for root, prefix in ROOTS.items():
        for path in PATHS:
            for has_raw_path in (True, False):
                asked = prefix(spelled(names, path))
                answered = await call(app, asked, root=root.partition(" ")[0], has_raw_path=has_raw_path)
                if PAID in answered.body:
                    requests.append((root, asked))
    return requests


EXPECTED = {
    "starlette": {"new line", "encoded letter", "encoded slash"},
    "fastapi": {"new line", "encoded letter", "encoded slash"},
    "litestar": {"trailing slash", "double slashes", "encoded trailing slash", "no leading slash"},
    "blacksheep": {"trailing slash", "upper case", "title"},
}
"""Some of the spellings that each router serves."""


@pytest.mark.parametrize("framework", APPS)
def test_router_serves_several_spellings_of_a_path(apps: dict[str, Apps], framework: str) -> None:
    async def served() -> set[str]:
        return {name for name in SPELLINGS if await served_unpaid(apps[framework].unpriced, (name,))}

    assert asyncio.run(served()) >= EXPECTED[framework]


@pytest.mark.parametrize("framework", APPS)
def test_table_serves_no_spelling_unpaid(apps: dict[str, Apps], framework: str) -> None:
    async def served() -> list[tuple[str, str]]:
        return [request for name in SPELLINGS for request in await served_unpaid(apps[framework].table, (name,))]

    assert asyncio.run(served()) == []


@given(names=st.lists(st.sampled_from(sorted(SPELLINGS)), min_size=2, max_size=3))
def test_table_serves_no_combination_of_spellings_unpaid(apps: dict[str, Apps], names: list[str]) -> None:
    async def served() -> dict[str, list[tuple[str, str]]]:
        return {name: await served_unpaid(each.table, tuple(names)) for name, each in apps.items()}

    assert asyncio.run(served()) == {name: [] for name in APPS}


@pytest.mark.parametrize("framework", APPS)
def test_price_at_the_handler_follows_the_router(apps: dict[str, Apps], framework: str) -> None:
    async def compare() -> None:
        for name in SPELLINGS:
            for path in PATHS:
                asked = spelled((name,), path)
                without = await call(apps[framework].unpriced, asked)
                response = await call(apps[framework].handlers, asked)
                assert response.status == 402 if PAID in without.body else response == without, asked

    asyncio.run(compare())


@pytest.mark.parametrize("framework", APPS)
def test_free_path_stays_free(apps: dict[str, Apps], framework: str) -> None:
    for app in apps[framework]:
        assert asyncio.run(call(app, "/free"))[:2] == (200, FREE)


async def connect(app: Any, path: str) -> list[Any]:
    """Return the messages that answer a WebSocket's request to connect."""
    sent: list[Any] = []
    scope = {"type": "websocket", "path": path, "root_path": "", "headers": [], "query_string": b"", "subprotocols": []}

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def websocket_app() -> FastAPI:
    """Return an application that accepts WebSockets at each priced path, and at /free."""
    app = FastAPI()

    async def accept(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_bytes(PAID)

    for path in ("/report", "/reports/{name}", "/free"):
        app.websocket(path)(accept)
    return app


@pytest.mark.parametrize("path", ["/report", "//report/", "/reports/tea", "/free/../report"])
def test_websocket_to_a_priced_path_is_closed(sellers: Callable[..., PaidApi], path: str) -> None:
    app = sellers(TABLE).wrap(websocket_app())
    assert [message["type"] for message in asyncio.run(connect(app, path))] == ["websocket.close"]
    assert asyncio.run(connect(app, "/free"))[-1] == {"type": "websocket.send", "bytes": PAID}


def test_websocket_handler_cannot_have_a_price(sellers: Callable[..., PaidApi]) -> None:
    api, app, served = sellers(), FastAPI(), []

    async def annotated(websocket: WebSocket) -> None: ...

    async def annotated_in_text(websocket: "fastapi.WebSocket") -> None: ...  # type: ignore[name-defined] # noqa: F821

    for handler in (annotated, annotated_in_text):
        with pytest.raises(TypeError, match=r"^paid: .*annotated.* handles a WebSocket, which cannot be paid$"):
            api.paid("$0.01")(handler)

    @app.websocket("/dependency", dependencies=[Depends(api.payment("$0.01"))])
    async def dependency(websocket: WebSocket) -> None:
        served.append(websocket)

    @api.paid("$0.01")
    async def unannotated(websocket) -> None:  # type: ignore[no-untyped-def]
        served.append(websocket)

    app.router.routes.append(WebSocketRoute("/unannotated", unannotated))
    for path in ("/dependency", "/unannotated"):
        with pytest.raises(RuntimeError, match=r"^a WebSocket cannot be paid"):
            asyncio.run(connect(api.wrap(app), path))
    assert served == []


def test_grant_ends_with_the_response(sellers: Callable[..., PaidApi]) -> None:
    offers = sellers().seller.offers
    prices = offers.declare("$0.01")
    charge: Any = object()
    with in_pass(offers, GrantedPass(prices, charge)):
        assert granted_charge(offers, prices) is charge
        later = contextvars.copy_context()
    with pytest.raises(RuntimeError, match=r"^the grant of the request has ended$"):
        later.run(granted_charge, offers, prices)
