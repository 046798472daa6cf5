"""Accounts of the development chain and their transactions, signed in advance so that signing is not the limit."""

from dataclasses import dataclass

import orjson

from foreseal._core import derive_accounts, sign_transactions
from foreseal.codec import keccak, rlp_encode

MNEMONIC = "test test test test test test test test test test test junk"
CHAIN_ID = 31337
GWEI = 10**9
MAX_FEE, TIP = 20 * GWEI, GWEI
NOBODY = b"\xee" * 20

TRANSFER = keccak(b"Transfer(address,address,uint256)")
"""First topic of the logs of `logger`."""
# CALLER, ADDRESS and the event as topics, one word of zeros as data: the log of a token transfer.
_ONE_LOG = b"\x30\x33\x7f" + TRANSFER + b"\x60\x20\x5f\xa3"
# Copies the code that follows to memory and returns it.
_CREATE = b"\x61%b\x80\x60\x0a\x5f\x39\x5f\xf3"
_GAS, _GAS_A_LOG = 21_000, 2_000


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed transaction."""

    raw: str
    """Raw transaction as 0x hex."""
    hash: str

    def call(self, method: str) -> bytes:
        """Return the body of a call that submits the transaction."""
        return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": [self.raw]})


class Wallet:
    """One account; its transactions have the nonces 0, 1, 2 and so on."""

    def __init__(self, address: str, key: str) -> None:
        self.address = address
        self._key = bytes.fromhex(key.removeprefix("0x"))
        self._nonce = 0

    def sign(self, to: bytes = NOBODY, gas: int = _GAS, value: int = 0, data: bytes = b"") -> Signed:
        """Sign an EIP-1559 transaction with the next nonce."""
        order = (to or None, value, gas, data)
        ((raw, digest),) = sign_transactions(self._key, CHAIN_ID, (MAX_FEE, TIP), self._nonce, [order])
        self._nonce += 1
        return Signed("0x" + raw.hex(), "0x" + digest.hex())

    def skip(self, count: int) -> None:
        """Skip this many nonces."""
        self._nonce += count

    def call(self, contract: bytes, logs: int) -> Signed:
        """Sign a call of a contract that emits this many logs."""
        return self.sign(contract, _GAS + _GAS_A_LOG * logs)

    def create_logger(self, logs: int) -> tuple[Signed, bytes]:
        """Sign the creation of a contract that logs this many transfers per call; return it and the address."""
        address = keccak(rlp_encode([bytes.fromhex(self.address[2:]), _number(self._nonce)]))[12:]
        code = _ONE_LOG * logs
        return self.sign(b"", 1_000_000, data=_CREATE % len(code).to_bytes(2) + code), address


def wallets(count: int) -> list[Wallet]:
    """Return the first accounts of a development chain that was started with this many."""
    return [Wallet(address, key) for address, key in derive_accounts(MNEMONIC, count)]


def _number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8)
