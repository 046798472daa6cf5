"""Storage slots of mapping entries in solc's layout, hashed by eth-utils."""

from eth_utils.crypto import keccak


def to_word(value: str | bytes | int) -> bytes:
    if isinstance(value, int):
        return value.to_bytes(32, "big")
    return (bytes.fromhex(value.removeprefix("0x")) if isinstance(value, str) else value).rjust(32, b"\0")


def at(slot: int, *keys: str | bytes | int) -> int:
    """Return the slot of an entry of a mapping."""
    for key in keys:
        slot = int.from_bytes(keccak(to_word(key) + to_word(slot)), "big")
    return slot
