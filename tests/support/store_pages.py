"""Checksums of the pages of a store's file, for tests that modify pages."""

import os
from pathlib import Path

PAGE = 4096
_POLYNOMIAL = 0x82F63B78
_SUM, _BITS, _OVERFLOW = 0x80, 0x3F00, 0x04
# Branch and leaf pages.
_TREE = 0x03


def _table() -> list[int]:
    table = []
    for entry in range(256):
        for _ in range(8):
            entry = (entry >> 1) ^ (_POLYNOMIAL if entry & 1 else 0)
        table.append(entry)
    return table


_TABLE = _table()


def crc32c(data: bytes, seed: int = 0) -> int:
    """Return the CRC-32C of `data`, continuing `seed`."""
    checksum = seed ^ 0xFFFFFFFF
    for byte in data:
        checksum = (checksum >> 8) ^ _TABLE[(checksum ^ byte) & 0xFF]
    return checksum ^ 0xFFFFFFFF


def replace(datadir: Path, old: bytes, new: bytes, *, sealed: bool) -> None:
    """Replace bytes in every page of the store's file that has them; with `sealed`, update these pages' checksums."""
    data = datadir / "store" / "data.mdb"
    before = data.read_bytes()
    assert old in before
    pages = []
    for start in range(0, len(before), PAGE):
        page = before[start : start + PAGE]
        pages.append(_sealed(page.replace(old, new)) if sealed and old in page else page.replace(old, new))
    data.write_bytes(b"".join(pages))


def _sealed(page: bytes) -> bytes:
    """Return a branch or leaf page with its checksum."""
    flags = int.from_bytes(page[10:12], "little")
    assert flags & _SUM
    assert not flags & _OVERFLOW
    checksum = crc32c(page[12:], flags & 0xFF)
    checksum = (checksum ^ (checksum >> 22)) & 0x3FFFFF
    flags = (flags & ~_BITS) | (checksum >> 16) << 8
    return page[:8] + (checksum & 0xFFFF).to_bytes(2, "little") + flags.to_bytes(2, "little") + page[12:]


def damage(datadir: Path, content: bytes) -> None:
    """Flip a bit of every copy of this content, in place, also while a node reads it."""
    with (datadir / "store" / "data.mdb").open("r+b", buffering=0) as data:
        whole = data.read()
        at = whole.find(content)
        assert at >= 0
        while at >= 0:
            os.pwrite(data.fileno(), bytes([content[0] ^ 4]), at)
            at = whole.find(content, at + len(content))


def clear_checksums(datadir: Path) -> None:
    """Write every branch and leaf page as a version without checksums did; no node runs."""
    data = datadir / "store" / "data.mdb"
    before = data.read_bytes()
    pages = [before[start : start + PAGE] for start in range(0, len(before), PAGE)]
    data.write_bytes(b"".join(_unsealed(number, page) for number, page in enumerate(pages)))


def _unsealed(number: int, page: bytes) -> bytes:
    flags = int.from_bytes(page[10:12], "little")
    if int.from_bytes(page[:8], "little") != number or not flags & _SUM or not flags & _TREE or flags & _OVERFLOW:
        return page
    return page[:8] + bytes(2) + (flags & ~(_SUM | _BITS)).to_bytes(2, "little") + page[12:]
