"""Saved inputs, and damage for runs without the coverage-guided engine."""

import random

from repository import ROOT

SAVED = ROOT / "fuzz" / "corpus"

_TELLING = b'\x00\x01\x7f\x80\x81\xb7\xb8\xbf\xc0\xc1\xf7\xf8\xff"[{0x,:\n'


def inputs(target: str) -> list[bytes]:
    """Return all saved inputs of a target, sorted by name."""
    return [path.read_bytes() for path in sorted((SAVED / target).iterdir())]


def damaged(chance: random.Random, saved: list[bytes], longest: int) -> bytes:
    """Return one of the inputs with a few changes, including parts of others."""
    data = bytearray(chance.choice(saved))
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(data))
        end = min(len(data), start + chance.randint(0, 8))
        match chance.randrange(5):
            case 0 if start < end:
                data[start] ^= 1 << chance.randrange(8)
            case 1:
                data[start:end] = bytes([chance.choice(_TELLING)])
            case 2:
                del data[start:end]
            case 3:
                data[start:start] = data[start:end]
            case _:
                other = chance.choice(saved)
                begin = chance.randint(0, len(other))
                data[start:end] = other[begin : begin + chance.randint(0, 40)]
    return bytes(data[:longest])
