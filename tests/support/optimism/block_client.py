"""A client of the Engine API that builds blocks, as a driver does."""

from typing import Any

from eth_utils.hexadecimal import encode_hex

from optimism.engine_client import EngineClient
from optimism.predeploys import SEQUENCER_FEE_VAULT

BEACON_ROOT = "0x" + "22" * 32
"""Root of the parent's beacon block in all attributes of this module."""


class BlockClient(EngineClient):
    """Builds blocks from attributes that a test chooses."""

    def submit(self, answer: dict[str, Any], root: str = BEACON_ROOT) -> dict[str, Any]:
        """Submit the payload of an `engine_getPayload` answer as a new block; return its payload status."""
        return self.new_payload(answer["executionPayload"], root, answer["executionRequests"])

    def build(self, attributes: dict[str, Any] | None = None) -> dict[str, Any]:
        """Build a block on the newest one and make it the head; return the `engine_getPayload` answer.

        Without attributes, the block is empty.
        """
        parent = self.block("latest")
        return self.seal(self.begin_payload(parent["hash"], attributes or next_attributes(parent)))

    def seal(self, payload_id: str) -> dict[str, Any]:
        """Make a payload the head; return the `engine_getPayload` answer."""
        answer = dict(self("engine_getPayloadV4", payload_id))
        assert self.submit(answer)["status"] == "VALID"
        self.choose_head(answer["executionPayload"]["blockHash"])
        return answer


def next_attributes(parent: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return attributes of a block one second after `parent` on a Jovian chain, without transactions."""
    optimism = {
        "transactions": [],
        "noTxPool": True,
        "gasLimit": parent["gasLimit"],
        "eip1559Params": encode_hex(bytes(8)),
        "minBaseFee": 0,
    }
    return plain_attributes(parent) | optimism | changes


def plain_attributes(parent: dict[str, Any]) -> dict[str, Any]:
    """Return attributes of a block one second after `parent`, as on L1."""
    return {
        "timestamp": hex(int(parent["timestamp"], 16) + 1),
        "prevRandao": "0x" + "11" * 32,
        "suggestedFeeRecipient": encode_hex(SEQUENCER_FEE_VAULT),
        "withdrawals": [],
        "parentBeaconBlockRoot": BEACON_ROOT,
    }
