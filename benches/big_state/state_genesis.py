"""Genesis of a chain with many holders: accounts with ether, each with tokens of one contract."""

from collections.abc import Iterator
from pathlib import Path

import orjson

from foreseal.bench import token
from foreseal.bench.chain_content import ETHER, BenchAccount, accounts
from foreseal.cli.genesis import build_genesis
from foreseal.codec import keccak, keccak_batch

CHAIN_ID = 31337
SENDERS = 500
TOKEN = bytes(18) + b"\x0f\x0f"
HOLDER_WEI, HOLDER_TOKENS = 1, 10**12
"""Balances of each holder."""
_SENDER_WEI, _SENDER_TOKENS = 10**6 * ETHER, 10**18
# Place of the runtime code in the creation code.
_RUNTIME = slice(0x9C, 0x9C + 0x4FE)
_BALANCES_SLOT = token.BALANCES_SLOT.to_bytes(32)
_CHUNK = 50_000


def holder(index: int) -> bytes:
    """Return the address of a holder."""
    return keccak(index.to_bytes(32))[12:]


def senders() -> list[BenchAccount]:
    """Return the accounts that send, with nonce 0."""
    return accounts(SENDERS)


def write_genesis(path: Path, holders: int, gas_limit: int) -> None:
    """Write a genesis file with this many holders, piece by piece."""
    funded = senders()
    genesis = build_genesis(CHAIN_ID, [("0x" + each.address.hex(), _SENDER_WEI) for each in funded])
    contracts = genesis.pop("alloc")
    genesis["gasLimit"] = hex(gas_limit)
    code = token.CREATION[_RUNTIME].hex()
    with path.open("wb") as file:
        file.write(orjson.dumps(genesis)[:-1] + b',"alloc":{' + orjson.dumps(contracts)[1:-1])
        file.write(b',"0x%b":{"balance":"0x0","code":"0x%b","storage":{' % (TOKEN.hex().encode(), code.encode()))
        slots = [_slot(each.address, _SENDER_TOKENS) for each in funded]
        file.write(b",".join(slots))
        value = _bytes_value(HOLDER_TOKENS)
        for chunk in _chunks(holders):
            keys = keccak_batch([bytes(12) + owner + _BALANCES_SLOT for owner in _holders(chunk)])
            file.write(b"".join(b',"0x%b":%b' % (key.hex().encode(), value) for key in keys))
        file.write(b"}}")
        for chunk in _chunks(holders):
            file.write(b"".join(b',"0x%b":{"balance":"0x1"}' % owner.hex().encode() for owner in _holders(chunk)))
        file.write(b"}}")


def _holders(chunk: range) -> list[bytes]:
    return [digest[12:] for digest in keccak_batch([index.to_bytes(32) for index in chunk])]


def _slot(owner: bytes, tokens: int) -> bytes:
    return b'"%b":%b' % (token.balance_slot(owner).encode(), _bytes_value(tokens))


def _bytes_value(value: int) -> bytes:
    """Return a number as JSON: whole bytes of hex."""
    return b'"0x%b"' % value.to_bytes((value.bit_length() + 7) // 8).hex().encode()


def _chunks(count: int) -> Iterator[range]:
    for start in range(0, count, _CHUNK):
        yield range(start, min(start + _CHUNK, count))
