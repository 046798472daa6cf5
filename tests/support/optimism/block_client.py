"""A client of the Engine API: tokens, calls, and the blocks that a driver builds."""

import base64
import contextlib
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

from live.rpc import HttpAnswer, Rpc, RpcFailure

ZERO = "0x" + "00" * 32
BEACON_ROOT = "0x" + "22" * 32
"""Root of the parent's beacon block in the attributes of every test."""


def read_secret(path: Path) -> bytes:
    """Return the secret in a file of hex digits."""
    return bytes.fromhex(path.read_text().strip().removeprefix("0x"))


def issue_token(secret: bytes, *, algorithm: str = "HS256", **claims: Any) -> str:
    """Return a JSON Web Token, issued now unless `claims` has `iat`; None there leaves it out."""
    claims = {"iat": int(time.time())} | claims
    head = {"alg": algorithm, "typ": "JWT"}
    present = {name: value for name, value in claims.items() if value is not None}
    signed = b".".join(_base64(json.dumps(part).encode()) for part in (head, present))
    digest = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}.get(algorithm)
    signature = b"" if digest is None else hmac.new(secret, signed, digest).digest()
    return (signed + b"." + _base64(signature)).decode()


class EngineClient:
    """Calls the listener of the Engine API, each call with a fresh token."""

    def __init__(self, url: str, secret: bytes) -> None:
        self.url = url
        self.secret = secret
        self._ids = 0

    def __call__(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise `RpcFailure`."""
        self._ids += 1
        body = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        answer = self.post(json.dumps(body).encode(), issue_token(self.secret))
        assert answer.status == 200, answer
        envelope = answer.json()
        assert (envelope["jsonrpc"], envelope["id"]) == ("2.0", self._ids)
        if "error" in envelope:
            raise RpcFailure(envelope["error"])
        return envelope["result"]

    def post(self, body: bytes, token: str | None, verb: str = "POST") -> HttpAnswer:
        """Send a request with any token, or with none, on a connection of its own: a rejection closes it."""
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        with contextlib.closing(Rpc(self.url)) as connection:
            return connection.request(verb, "/", body, headers)

    def block(self, tag: str) -> dict[str, Any]:
        """Return a block, with the hashes of its transactions."""
        return dict(self("eth_getBlockByNumber", tag, False))

    def choose(
        self, head: str, safe: str = ZERO, finalized: str = ZERO, attributes: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Choose the head, and with attributes begin a block on it; zero hashes name no block."""
        state = {"headBlockHash": head, "safeBlockHash": safe, "finalizedBlockHash": finalized}
        return dict(self("engine_forkchoiceUpdatedV3", state, attributes))

    def submit(self, answer: dict[str, Any], root: str = BEACON_ROOT) -> dict[str, Any]:
        """Submit the payload of an `engine_getPayload` answer as a new block."""
        return dict(self("engine_newPayloadV4", answer["executionPayload"], [], root, answer["executionRequests"]))

    def build(self, attributes: dict[str, Any] | None = None, *, version: int = 4) -> dict[str, Any]:
        """Build a block on the newest one and make it the head; return the `engine_getPayload` answer."""
        parent = self.block("latest")
        answer = self.begin_and_get(parent["hash"], attributes or next_attributes(parent), version)
        assert self.submit(answer)["status"] == "VALID"
        chosen = self.choose(answer["executionPayload"]["blockHash"])
        assert chosen["payloadStatus"]["status"] == "VALID"
        return answer

    def begin_and_get(self, parent: str, attributes: dict[str, Any], version: int = 4) -> dict[str, Any]:
        """Begin a block on `parent` and return its `engine_getPayload` answer."""
        ident = self.choose(parent, attributes=attributes)["payloadId"]
        assert ident is not None
        return dict(self(f"engine_getPayloadV{version}", ident))


def next_attributes(parent: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return attributes of a block one second after `parent` on a Jovian chain, without transactions."""
    plain = plain_attributes(parent)
    optimism = {
        "transactions": [],
        "noTxPool": True,
        "gasLimit": parent["gasLimit"],
        "eip1559Params": "0x" + "00" * 8,
        "minBaseFee": 0,
    }
    return plain | optimism | changes


def plain_attributes(parent: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return attributes of a block one second after `parent`, as on L1."""
    attributes = {
        "timestamp": hex(int(parent["timestamp"], 16) + 1),
        "prevRandao": "0x" + "11" * 32,
        "suggestedFeeRecipient": "0x4200000000000000000000000000000000000011",
        "withdrawals": [],
        "parentBeaconBlockRoot": BEACON_ROOT,
    }
    return attributes | changes


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
