"""The Engine API of a node, as a driver calls it."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path

from live.rpc import JSON_TYPE, HttpAnswer, Rpc

Clock = Callable[[], float]
"""Returns the time in Unix seconds."""


class EngineClient(Rpc):
    """Calls the Engine API of one node over one connection; a call returns the result or raises `RpcFailure`."""

    def __init__(self, url: str, secret: bytes, clock: Clock = time.time, timeout: float = 60.0) -> None:
        """`secret` signs the tokens; `timeout` is the time limit of one call, in seconds."""
        super().__init__(url, timeout)
        self._secret = secret
        self._clock = clock

    def post(self, body: bytes, headers: dict[str, str] = JSON_TYPE) -> HttpAnswer:
        """POST a body with a token that is issued now. Raise `PermissionError` if the node rejects the token."""
        answer = super().post(body, headers | {"Authorization": f"Bearer {issue_token(self._secret, self._clock())}"})
        if answer.status == 401:
            raise PermissionError(answer.body.decode())
        return answer


def issue_token(secret: bytes, now: float) -> str:
    """Return a JSON Web Token (HS256) that is issued at `now`, in Unix seconds."""
    signed = b".".join(
        _base64(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, {"iat": int(now)})
    )
    return (signed + b"." + _base64(hmac.new(secret, signed, hashlib.sha256).digest())).decode()


def read_secret(file: Path) -> bytes:
    """Return the secret in a file of hex digits."""
    return bytes.fromhex(file.read_text().strip().removeprefix("0x"))


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
