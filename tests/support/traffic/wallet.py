"""Transactions signed fast enough to saturate a node from one Python process."""

from typing import NamedTuple

import rlp
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from live.sending import CHAIN_ID, MAX_FEE, TIP

# secp256k1: its order, and the x coordinate of its generator, whose y coordinate is even.
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_GENERATOR_X = 0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798


class Signed(NamedTuple):
    """A signed transaction and its hash, both as 0x hex."""

    hash: str
    raw: str


class Wallet:
    """An account with a public, well-known key.

    It signs with the fixed nonce 1, which reveals any key but costs one multiplication; eth-account takes milliseconds.
    """

    def __init__(self, account: LocalAccount) -> None:
        self.address: str = account.address
        self._key = int.from_bytes(bytes(account.key), "big")

    def sign(self, nonce: int, to: bytes, data: bytes = b"", value: int = 0, gas: int = 100_000) -> Signed:
        """Sign an EIP-1559 transaction; without `to` it is a creation."""
        fields = [CHAIN_ID, nonce, TIP, MAX_FEE, gas, to, value, data, []]
        digest = int.from_bytes(keccak(b"\x02" + rlp.encode(fields)), "big")
        s = (digest + _GENERATOR_X * self._key) % _ORDER
        parity = 0
        if s > _ORDER // 2:
            s, parity = _ORDER - s, 1
        raw = b"\x02" + rlp.encode([*fields, parity, _GENERATOR_X, s])
        return Signed("0x" + keccak(raw).hex(), "0x" + raw.hex())
