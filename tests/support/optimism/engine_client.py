"""The Engine API of a node, as a driver calls it."""

import base64
import contextlib
import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from live.rpc import JSON_TYPE, HttpAnswer, Rpc, RpcFailure

ZERO_HASH = "0x" + "00" * 32
BLOCK_NOT_FOUND = -32000


class EngineClient(Rpc):
    """Calls the Engine API of one node over one connection; a call returns the result or raises `RpcFailure`."""

    def __init__(self, url: str, secret: bytes, timeout: float = 60.0) -> None:
        """`secret` signs the tokens; `timeout` is the time limit of one call, in seconds."""
        super().__init__(url, timeout)
        self.secret = secret

    def post(self, body: bytes, headers: dict[str, str] = JSON_TYPE) -> HttpAnswer:
        """POST a body with a token that is issued now. Raise `PermissionError` if the node rejects the token."""
        answer = super().post(body, headers | {"Authorization": f"Bearer {self.token()}"})
        if answer.status == 401:
            raise PermissionError(answer.body.decode())
        return answer

    def send(self, body: bytes, token: str | None, verb: str = "POST") -> HttpAnswer:
        """Send a request with any token, or with none, on a separate connection: a rejection closes it."""
        authorization = {} if token is None else {"Authorization": f"Bearer {token}"}
        with contextlib.closing(Rpc(self.url)) as connection:
            return connection.request(verb, "/", body, JSON_TYPE | authorization)

    def token(self, **claims: Any) -> str:
        """Return a token of the node's secret with these claims."""
        return issue_token(self.secret, time.time(), **claims)

    def find_block(self, tag: str) -> dict[str, Any] | None:
        """Return a block with the hashes of its transactions; None for `safe` or `finalized` before it exists."""
        try:
            return dict(self("eth_getBlockByNumber", tag, False))
        except RpcFailure as error:
            if error.code != BLOCK_NOT_FOUND or error.message != f"{tag} block not found":
                raise
            return None

    def block(self, tag: str) -> dict[str, Any]:
        """Return a block that exists, with the hashes of its transactions."""
        block = self.find_block(tag)
        assert block is not None, f"there is no {tag} block"
        return block

    def update_fork_choice(
        self,
        head: str,
        safe: str = ZERO_HASH,
        finalized: str = ZERO_HASH,
        attributes: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Call `engine_forkchoiceUpdatedV3` with hashes of blocks; with attributes, it begins a block on the head.

        A zero hash names no block.
        """
        state = {"headBlockHash": head, "safeBlockHash": safe, "finalizedBlockHash": finalized}
        return dict(self("engine_forkchoiceUpdatedV3", state, attributes))

    def choose_head(
        self,
        head: str,
        safe: str = ZERO_HASH,
        finalized: str = ZERO_HASH,
        attributes: dict[str, Any] | None = None,
    ) -> str | None:
        """Update the fork choice, which must be valid; return the id of the payload, None without attributes."""
        result = self.update_fork_choice(head, safe, finalized, attributes)
        assert result["payloadStatus"]["status"] == "VALID", result
        assert (result["payloadId"] is None) == (attributes is None), result
        payload_id: str | None = result["payloadId"]
        return payload_id

    def begin_payload(self, parent: str, attributes: dict[str, Any]) -> str:
        """Begin a block on `parent` and return the id of its payload."""
        payload_id = self.choose_head(parent, attributes=attributes)
        assert payload_id is not None
        return payload_id

    def new_payload(self, payload: dict[str, Any], beacon_root: str, requests: Sequence[str] = ()) -> dict[str, Any]:
        """Call `engine_newPayloadV4` with a block; return its payload status."""
        return dict(self("engine_newPayloadV4", payload, [], beacon_root, requests))

    def import_payload(self, payload: dict[str, Any], beacon_root: str) -> None:
        """Send a block. Raise AssertionError if it is not valid."""
        status = self.new_payload(payload, beacon_root)
        assert status == {"status": "VALID", "latestValidHash": payload["blockHash"], "validationError": None}


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
