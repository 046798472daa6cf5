"""A viewer of the explorer's home page without a browser: it replays the calls that a real page made."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
from benches.explorer.content import ShownPage
from benches.explorer.page_timing import view

from browser import running_chromium

_SETTLED_MS = 1_000
_FEED = "foreseal_feed"
_PAGES = "foreseal_getFlashblocks"


@dataclass(frozen=True)
class RecordedSession:
    """Calls and subscriptions of one view of the home page."""

    files: list[str]
    """Paths of the files."""
    requests: list[Any]
    """Bodies of the calls over HTTP, in order."""
    subscriptions: list[list[Any]]
    """Parameters of each subscription; every one has a WebSocket of its own."""


def record_session(url: str) -> RecordedSession:
    """Open the home page in chromium and return what it sent."""
    files: list[str] = []
    requests: list[Any] = []
    subscriptions: list[list[Any]] = []

    def sent(payload: str | bytes) -> None:
        message = orjson.loads(payload)
        if message["method"] == "eth_subscribe":
            subscriptions.append(message["params"])

    with running_chromium() as chromium, chromium.context() as context:
        context.on(
            "request",
            lambda request: (
                requests.append(orjson.loads(request.post_data))
                if request.method == "POST" and request.post_data
                else files.append(request.url.removeprefix(url))
            ),
        )
        context.on("page", lambda page: page.on("websocket", lambda socket: socket.on("framesent", sent)))
        page, _ = view(context, url, ShownPage("home", "", ".strip .step"))
        page.wait_for_timeout(_SETTLED_MS)
    if not requests or len(subscriptions) < 2:
        raise RuntimeError("the page sent no calls or no subscriptions")
    return RecordedSession([path for path in files if path.startswith("/")], requests, subscriptions)


class Viewer:
    """One open home page."""

    def __init__(self, http: aiohttp.ClientSession, url: str, session: RecordedSession) -> None:
        self._http = http
        self._url = url
        self._session = session
        self.messages = 0
        """Messages that the subscriptions delivered."""

    async def watch(self, opened: asyncio.Event) -> None:
        """Load the page, set `opened`, and read its subscriptions until cancelled."""
        for path in self._session.files:
            async with self._http.get(self._url + path) as response:
                await response.read()
        cursor = None
        for body in self._session.requests:
            answers = await self._post(body)
            cursor = _cursor_of(body, answers) or cursor
        async with contextlib.AsyncExitStack() as stack:
            sockets = []
            for params in self._session.subscriptions:
                socket = await stack.enter_async_context(self._http.ws_connect(self._url, max_msg_size=0))
                # The recorded cursor is of the recorded session.
                wanted = [_FEED, cursor] if params[0] == _FEED and cursor else params
                await socket.send_bytes(
                    orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": wanted})
                )
                sockets.append(socket)
            opened.set()
            await asyncio.gather(*(self._read(socket) for socket in sockets))

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for _ in socket:
            self.messages += 1

    async def _post(self, body: Any) -> Any:
        async with self._http.post(self._url, data=orjson.dumps(body), headers=_JSON) as response:
            return orjson.loads(await response.read())


_JSON = {"content-type": "application/json"}


def _cursor_of(body: Any, answers: Any) -> Any:
    """Return the cursor in the answer to `foreseal_getFlashblocks`, or None."""
    calls = body if isinstance(body, list) else [body]
    batch = answers if isinstance(answers, list) else [answers]
    ids = {call["id"] for call in calls if call["method"] == _PAGES}
    return next((one["result"]["cursor"] for one in batch if one["id"] in ids and "result" in one), None)
