"""Client side of the checkout contract, which captures an amount up to a maximum that the payer permitted."""

from dataclasses import dataclass

from eth_abi.abi import encode

from foreseal.payments.chain.node import BlockTag, ChainNode
from foreseal.payments.chain.token import answered
from foreseal.payments.typed_data import Permit

CAPTURE = bytes.fromhex("9e1bccf0")
CAPTURED = bytes.fromhex("fbc02ff5")

SIGNATURES = {
    CAPTURE: "capture(bytes32,address,uint256,uint256,uint256,uint8,bytes32,bytes32)",
    CAPTURED: "captured(bytes32)",
}
"""Function signature behind each selector."""

_KINDS = ["bytes32", "address", "uint256", "uint256", "uint256", "uint8", "bytes32", "bytes32"]


def capture_call(order: bytes, amount: int, permit: Permit, signature: bytes) -> bytes:
    """Return the call data of `capture` for `amount` smallest units of a permit.

    The signature has 65 bytes: r, s, v.
    """
    r, s, v = signature[:32], signature[32:64], signature[64]
    return CAPTURE + encode(_KINDS, [order, permit.owner, amount, permit.value, permit.deadline, v, r, s])


@dataclass(frozen=True, slots=True)
class Checkout:
    """Read access to a checkout contract. Every method may raise the node's errors and `Reverted`."""

    node: ChainNode
    address: str

    def captured(self, order: bytes, block: BlockTag) -> bool:
        """Return True if the checkout has captured the order with these 32 bytes as its id."""
        data = CAPTURED + encode(["bytes32"], [order])
        return bool(answered(self.node, self.address, data, block))
