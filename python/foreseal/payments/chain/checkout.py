"""Client side of the checkout contract, which captures an amount up to a maximum that the payer permitted."""

from dataclasses import dataclass

from foreseal.payments.abi import encode_values
from foreseal.payments.chain.node import BlockTag, ChainNode, NodeRequest
from foreseal.payments.chain.token_reads import number_request
from foreseal.payments.typed_data import Permit

CAPTURE = bytes.fromhex("9e1bccf0")
CAPTURED = bytes.fromhex("fbc02ff5")

SIGNATURES = {
    CAPTURE: "capture(bytes32,address,uint256,uint256,uint256,uint8,bytes32,bytes32)",
    CAPTURED: "captured(bytes32)",
}
"""Function signature behind each selector."""


def capture_call(order: bytes, amount: int, permit: Permit, signature: bytes) -> bytes:
    """Return the call data of `capture` for `amount` smallest units of a permit.

    The signature has 65 bytes: r, s, v.
    """
    r, s, v = signature[:32], signature[32:64], signature[64]
    return CAPTURE + encode_values(order, permit.owner, amount, permit.value, permit.deadline, v, r, s)


@dataclass(frozen=True, slots=True)
class Checkout:
    """Read access to a checkout contract. Every method may raise the node's errors and `Reverted`."""

    node: ChainNode
    address: str

    def captured(self, order: bytes, block: BlockTag) -> bool:
        """Return True if the checkout has captured the order with these 32 bytes as its id."""
        return self.node.execute(captured_request(self.address, order, block))


def captured_request(checkout: str, order: bytes, block: BlockTag) -> NodeRequest[bool]:
    """Request if a checkout has captured the order with these 32 bytes as its id."""
    return number_request(checkout, CAPTURED + encode_values(order), block).map(bool)
