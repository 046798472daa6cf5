"""Assembly of runtime code that runs until its gas is nearly used."""

STOP = b"\x00"
RESERVE = 0xFFFF
"""Gas that a loop leaves: more than one iteration uses."""
_LONGEST = 12_000
"""Bytes of an unrolled body; analysis of longer code would be measured as well."""


def push(value: int | bytes) -> bytes:
    """Return the shortest push of a value."""
    data = value if isinstance(value, bytes) else value.to_bytes((value.bit_length() + 7) // 8)
    return bytes([0x5F + len(data)]) + data


def store(data: bytes, offset: int = 0) -> bytes:
    """Return code that writes bytes to memory, padded to words."""
    code = b""
    for at in range(0, len(data), 32):
        code += b"\x7f" + data[at : at + 32].ljust(32, b"\0") + push(offset + at) + b"\x52"
    return code


def gas_loop(body: bytes, opening: bytes = b"", *, reserve: int = RESERVE, unroll: int = 1) -> bytes:
    """Return code that runs an opening once, and a body while more gas than the reserve is left.

    The body may use the stack below it, and leaves its height unchanged. `unroll` bodies share one check.
    """
    unroll = max(min(unroll, _LONGEST // len(body)), 1)
    start = push(len(opening))
    # Until GAS is not greater than the reserve.
    check = push(reserve) + b"\x5a\x11" + start + b"\x57"
    return opening + b"\x5b" + body * unroll + check + STOP


def call(address: int, size: int, *, gas: bytes = b"\x5a", returned: int = 0) -> bytes:
    """Return a STATICCALL with the first `size` bytes of memory as its input; its result is dropped."""
    return push(returned) + b"\x5f" + push(size) + b"\x5f" + push(address) + gas + b"\xfa\x50"
