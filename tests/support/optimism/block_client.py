"""A client of the Engine API that builds blocks, as a driver does."""

import contextlib
import time
from typing import Any

from live.rpc import HttpAnswer, Rpc
from optimism.engine_client import EngineClient, issue_token

ZERO = "0x" + "00" * 32
BEACON_ROOT = "0x" + "22" * 32
"""Root of the parent's beacon block in the attributes of every test."""


class BlockClient(EngineClient):
    """Builds blocks through the Engine API."""

    def send(self, body: bytes, token: str | None, verb: str = "POST") -> HttpAnswer:
        """Send a request with any token, or with none, on a connection of its own: a rejection closes it."""
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        with contextlib.closing(Rpc(self.url)) as connection:
            return connection.request(verb, "/", body, headers)

    def token(self, **claims: Any) -> str:
        """Return a token of the node's secret with these claims."""
        return issue_token(self.secret, time.time(), **claims)

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
