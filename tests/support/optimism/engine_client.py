"""The Engine API of a node, as a driver calls it."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from live.rpc import JSON_TYPE, HttpAnswer, Rpc

Clock = Callable[[], float]
"""Returns the time in Unix seconds."""


class EngineClient(Rpc):
    """Calls the Engine API of one node over one connection; a call returns the result or raises `RpcFailure`."""

    def __init__(self, url: str, secret: bytes, clock: Clock = time.time, timeout: float = 60.0) -> None:
        """`secret` signs the tokens; `timeout` is the time limit of one call, in seconds."""
        super().__init__(url, timeout)
        self.secret = secret
        self._clock = clock

    def post(self, body: bytes, headers: dict[str, str] = JSON_TYPE) -> HttpAnswer:
        """POST a body with a token that is issued now. Raise `PermissionError` if the node rejects the token."""
        answer = super().post(body, headers | {"Authorization": f"Bearer {issue_token(self.secret, self._clock())}"})
        if answer.status == 401:
            raise PermissionError(answer.body.decode())
        return answer


def issue_token(secret: bytes, now: float, *, algorithm: str = "HS256", **claims: Any) -> str:
    """Return a JSON Web Token, issued at `now` (Unix seconds) unless `claims` has `iat`; None there leaves it out."""
    present = {name: value for name, value in ({"iat": int(now)} | claims).items() if value is not None}
    signed = b".".join(_base64(json.dumps(part).encode()) for part in ({"alg": algorithm, "typ": "JWT"}, present))
    digest = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}.get(algorithm)
    signature = b"" if digest is None else hmac.new(secret, signed, digest).digest()
    return (signed + b"." + _base64(signature)).decode()


def read_secret(file: Path) -> bytes:
    """Return the secret in a file of hex digits."""
    return bytes.fromhex(file.read_text().strip().removeprefix("0x"))


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
