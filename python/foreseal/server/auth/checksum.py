"""Checksum of a JSON file that only this program writes: its last member, over all bytes before it.

SHA-256 detects damage; CRC-32 locates a single changed bit.
"""

import hashlib
import zlib

_CLOSING = b"\n}"
_FORM = b',\n  "checksum": "' + b"." * 64 + b" " + b"." * 8 + b'"\n}\n'
_SHA256, _CRC = slice(17, 81), slice(82, 90)
_DIGIT = ord(".")
_HEX = frozenset(b"0123456789abcdef")
_LOCATED = 1 << 18
"""Largest content in which a changed bit is located, in bytes."""


class ChecksumError(ValueError):
    """The bytes do not match their checksum."""


def add_checksum(text: bytes) -> bytes:
    """Return an indented JSON object with the checksum as its last member."""
    content = text.rstrip().removesuffix(_CLOSING)
    return content + _FORM.replace(b"." * 64, _sha256(content)).replace(b"." * 8, b"%08x" % zlib.crc32(content))


def verify_checksum(data: bytes) -> None:
    """Raise `ChecksumError` unless the object ends with its checksum."""
    content, trailer = data[: -len(_FORM)], data[-len(_FORM) :]
    if len(data) <= len(_FORM):
        raise _error(None)
    wrong = [at for at, (byte, form) in enumerate(zip(trailer, _FORM, strict=True)) if form not in (_DIGIT, byte)]
    if wrong:
        raise _error(len(content) + wrong[0] if len(wrong) == 1 else None)
    stored = trailer[_SHA256], trailer[_CRC]
    expected = _sha256(content), b"%08x" % zlib.crc32(content)
    if stored == expected:
        return
    # One of content, SHA-256 and CRC-32 was changed: the other two match.
    if stored[0] == expected[0]:
        raise _error(len(content) + _CRC.start + _first(stored[1], expected[1]))
    if stored[1] == expected[1]:
        raise _error(len(content) + _SHA256.start + _first(stored[0], expected[0]))
    crc = int(stored[1], 16) if _HEX.issuperset(stored[1]) else 0
    raise _error(_changed_byte(zlib.crc32(content) ^ crc, len(content)))


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _first(stored: bytes, expected: bytes) -> int:
    return next(at for at, (byte, other) in enumerate(zip(stored, expected, strict=True)) if byte != other)


def _error(offset: int | None) -> ChecksumError:
    where = "the checksum does not match" if offset is None else f"one bit is flipped at offset {offset}"
    return ChecksumError(f"the file is damaged: {where}")


def _changed_byte(difference: int, length: int) -> int | None:
    """Return the offset of the byte with a changed bit that explains this difference of two CRC-32."""
    if length > _LOCATED:
        return None
    table = [zlib.crc32(bytes([byte])) ^ zlib.crc32(b"\0") for byte in range(256)]
    effects = [table[1 << bit] for bit in range(8)]
    for at in reversed(range(length)):
        if difference in effects:
            return at
        effects = [effect >> 8 ^ table[effect & 0xFF] for effect in effects]
    return None
