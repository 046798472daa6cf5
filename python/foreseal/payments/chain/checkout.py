"""The checkout contract as its callers see it: captures of an amount up to a maximum that the payer permitted."""

from dataclasses import dataclass

from eth_abi.abi import encode

from foreseal.payments.chain.node import Block, Node
from foreseal.payments.chain.token import answered
from foreseal.payments.typed_data import Permit

CAPTURE = bytes.fromhex("9e1bccf0")
CAPTURED = bytes.fromhex("fbc02ff5")

SIGNATURES = {
    CAPTURE: "capture(bytes32,address,uint256,uint256,uint256,uint8,bytes32,bytes32)",
    CAPTURED: "captured(bytes32)",
}
"""What each selector is the hash of."""

_KINDS = ["bytes32", "address", "uint256", "uint256", "uint256", "uint8", "bytes32", "bytes32"]


def capture_call(order: bytes, amount: int, permit: Permit, signature: bytes) -> bytes:
    """Call data of capture: `amount` smallest units of what the permit allows. The signature has 65 bytes: r, s, v."""
    r, s, v = signature[:32], signature[32:64], signature[64]
    return CAPTURE + encode(_KINDS, [order, permit.owner, amount, permit.value, permit.deadline, v, r, s])


@dataclass(frozen=True, slots=True)
class Checkout:
    """What a checkout answers as of a block. Every method may raise what the node raises, and `Reverted`."""

    node: Node
    address: str

    def captured(self, order: bytes, block: Block) -> bool:
        """Whether an order was captured, by the 32 bytes that name it there."""
        data = CAPTURED + encode(["bytes32"], [order])
        return bool(answered(self.node, self.address, data, block))
