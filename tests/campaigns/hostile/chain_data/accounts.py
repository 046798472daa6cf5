"""Accounts: touched, created, given code or a delegation."""

import random

from hostile.chain_data.assembler import gas_loop, push
from hostile.chain_data.generator import Content
from hostile.chain_data.registry import add
from hostile.chain_data.storage import fresh

_FROM_INPUT = b"\x5f\x35"
_NEXT = b"\x60\x01\x01"
_CODE_SIZE = 0x6000
_INITCODE = bytes.fromhex("5a5f52") + push(_CODE_SIZE) + bytes.fromhex("5ff3")
"""Returns 24 KiB that begin with GAS, so that no two contracts have the same code."""
_DEPOSIT = 200 * _CODE_SIZE
_AUTHORIZATIONS = 660
_AUTHORIZATION_GAS = 25_000


def _padded_creation() -> bytes:
    """Return init code of the greatest size that deploys the greatest code."""
    return _INITCODE.ljust(2 * _CODE_SIZE, b"\x5b")


def _delegations(draw: random.Random) -> Content:
    """Return authorizations with random signatures: about half of them are those of an account without a nonce."""
    made = []
    for _ in range(_AUTHORIZATIONS):
        r, s = draw.getrandbits(255), draw.getrandbits(254)
        made.append((0, draw.randbytes(20), 0, draw.getrandbits(1), r, s))
    return Content(authorizations=tuple(made))


add("accounts", "accounts-touched", "6,400 accounts that do not exist",
    gas_loop(b"\x80\x31\x50" + _NEXT, _FROM_INPUT, unroll=16), content=fresh)  # fmt: skip
# CALL with one wei: output, input, value, address, no gas.
add("accounts", "accounts-created", "450 new accounts with one wei each",
    gas_loop(b"\x5f\x5f\x5f\x5f\x60\x01\x85\x5f\xf1\x50" + _NEXT, _FROM_INPUT), content=fresh)  # fmt: skip
add("accounts", "contracts-empty", "500 contracts without code", gas_loop(b"\x5f\x5f\x5f\xf0\x50"))
add("accounts", "contracts-destroyed", "contracts that destroy themselves as they are created",
    gas_loop(push(2) + push(30) + b"\x5f\xf0\x50", push(0x30FF) + b"\x5f\x52"))  # fmt: skip
add("accounts", "code-deployed", "3 contracts with 24 KiB of code that no other has",
    gas_loop(push(len(_INITCODE)) + push(32 - len(_INITCODE)) + b"\x5f\xf0\x50",
             push(_INITCODE) + b"\x5f\x52", reserve=_DEPOSIT + 80_000), least_gas=0.6)  # fmt: skip
add("accounts", "code-creation", "a creation with 48 KiB of init code that deploys 24 KiB",
    gas=6_500_000, content=lambda draw: Content(data=_padded_creation()), is_creation=True, least_gas=0.8)  # fmt: skip
add("accounts", "authorizations", "660 authorizations by accounts that nobody has seen before", b"\x00",
    gas=21_000 + _AUTHORIZATION_GAS * _AUTHORIZATIONS + 60_000, content=_delegations, least_gas=0.5)  # fmt: skip
