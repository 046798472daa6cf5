"""Encoding of call data (Solidity ABI), for calls that are made often; eth-abi costs fifty times as much."""

WORD_SIZE = 32


def encode_value(value: int | str | bytes) -> bytes:
    """Encode an unsigned integer, an address as 0x text, or at most 32 bytes that are padded on the right."""
    if isinstance(value, int):
        return value.to_bytes(WORD_SIZE, "big")
    if isinstance(value, str):
        return bytes.fromhex(value[2:]).rjust(WORD_SIZE, b"\0")
    if len(value) > WORD_SIZE:
        raise ValueError(f"value: must have at most {WORD_SIZE} bytes, got {len(value)}")
    return value.ljust(WORD_SIZE, b"\0")


def encode_values(*values: int | str | bytes) -> bytes:
    """Encode values of static types."""
    return b"".join(map(encode_value, values))


def with_bytes(*values: int | str | bytes, tail: bytes) -> bytes:
    """Encode values of static types, followed by one argument of type `bytes`."""
    padded = tail.ljust(-(-len(tail) // WORD_SIZE) * WORD_SIZE, b"\0")
    return encode_values(*values, (len(values) + 1) * WORD_SIZE, len(tail)) + padded


def with_lists(*values: int | str | bytes, lists: tuple[list[int] | list[str], ...]) -> bytes:
    """Encode values of static types, followed by arguments that are lists of one static type."""
    offset, tails = (len(values) + len(lists)) * WORD_SIZE, []
    offsets = []
    for items in lists:
        tail = encode_values(len(items), *items)
        offsets.append(offset)
        offset += len(tail)
        tails.append(tail)
    return encode_values(*values, *offsets) + b"".join(tails)
