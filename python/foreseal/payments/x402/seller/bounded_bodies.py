"""Bodies of paid requests and of their responses, which are held in memory in full."""

from starlette.requests import Request
from starlette.types import Message

from foreseal.payments.request_bodies import HeldBody
from foreseal.payments.x402.payloads import read_bytes
from foreseal.payments.x402.seller.grants import GrantedResponse

LARGEST = 16 * 1024 * 1024
"""Maximum bytes of a paid request's body, and of its response."""


class BoundedBody:
    """The body of a request, which is read when it is first needed."""

    def __init__(self, request: Request, held: HeldBody) -> None:
        self.request = request
        self._held = held
        self._body: bytes | None = None

    async def read(self) -> bytes:
        """Return the body. Raises `Malformed`, `BodiesFull` and `ClientDisconnect`."""
        if self._body is None:
            self._body = await read_bytes(self.request, LARGEST, self._held)
        return self._body


class CollectedResponse:
    """Collector of the messages of a response."""

    def __init__(self) -> None:
        self._status: int | None = None
        self._headers: tuple[tuple[str, str], ...] = ()
        self._body = bytearray()
        self._done = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            pairs = message.get("headers", ())
            self._headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs)
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")
            if len(self._body) > LARGEST:
                raise ValueError(f"the response to a paid request is larger than {LARGEST} bytes")
            self._done = not message.get("more_body", False)
        else:
            raise ValueError(f"the response to a paid request cannot be {message['type']}")

    def response(self) -> GrantedResponse | None:
        """Return the response; None if it is incomplete."""
        if self._status is None or not self._done:
            return None
        return GrantedResponse(self._status, self._headers, bytes(self._body))
