"""Gas of calls in which a payer's code may run, if the payer is an account with a key instead.

A wallet with code (ERC-1271) decides what the check of its signature costs. This table bounds it: a call may need the
ordinary gas and `FeeSettings.payer_code_gas`. A call that is missing here runs no code of a payer, and has the maximum
of a transaction.

The figures are those of this package's contracts on a node, rounded up: the recipient has no tokens yet, and each payer
pays for the first time. `tests/integration/payments/contracts/test_ordinary_gas.py` measures them.
"""

from dataclasses import dataclass
from functools import cache

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError

from foreseal.codec import keccak

_WORD_SIZE = 32


@dataclass(frozen=True, slots=True)
class OrdinaryGas:
    """Gas of one operation."""

    base: int
    """Gas of the transaction, without its items."""
    item: int = 0
    """Gas of each item of the first argument, if that is a list."""


_AUTHORIZATION = "address,address,uint256,uint256,uint256,bytes32"
_PERMIT2 = "((address,uint256),uint256,uint256)"
_EXACT_WITNESS = "(address,uint256)"
_UPTO_WITNESS = "(address,address,uint256)"
_EIP2612 = "(uint256,uint256,bytes32,bytes32,uint8)"
_CHANNEL = "(address,address,address,address,address,uint40,bytes32)"
_CLAIMS = f"(({_CHANNEL},uint128),bytes,uint128)[]"
_MULTICALL = "multicall(bytes[])"

ORDINARY_GAS = {
    f"receiveWithAuthorization({_AUTHORIZATION},uint8,bytes32,bytes32)": OrdinaryGas(94_000),
    f"receiveWithAuthorization({_AUTHORIZATION},bytes)": OrdinaryGas(95_000),
    f"transferWithAuthorization({_AUTHORIZATION},uint8,bytes32,bytes32)": OrdinaryGas(94_000),
    f"transferWithAuthorization({_AUTHORIZATION},bytes)": OrdinaryGas(95_000),
    "cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)": OrdinaryGas(60_000),
    "cancelAuthorization(address,bytes32,bytes)": OrdinaryGas(60_000),
    "capture(bytes32,address,uint256,uint256,uint256,uint8,bytes32,bytes32)": OrdinaryGas(176_000),
    f"settle({_PERMIT2},address,{_EXACT_WITNESS},bytes)": OrdinaryGas(111_000),
    f"settleWithPermit({_EIP2612},{_PERMIT2},address,{_EXACT_WITNESS},bytes)": OrdinaryGas(143_000),
    f"settle({_PERMIT2},uint256,address,{_UPTO_WITNESS},bytes)": OrdinaryGas(112_000),
    f"settleWithPermit({_EIP2612},{_PERMIT2},uint256,address,{_UPTO_WITNESS},bytes)": OrdinaryGas(164_000),
    f"deposit({_CHANNEL},uint128,address,bytes)": OrdinaryGas(183_000),
    f"claimWithSignature({_CLAIMS},bytes)": OrdinaryGas(55_000, item=24_300),
    "settle(address,address)": OrdinaryGas(69_000),
    f"refundWithSignature({_CHANNEL},uint128,uint256,bytes)": OrdinaryGas(92_000),
    _MULTICALL: OrdinaryGas(0),
}
"""Gas by the signature of the function. `multicall` has the gas of its calls."""


def ordinary_gas(data: bytes) -> int | None:
    """Return the ordinary gas of a call, or None if no code of a payer can run in it."""
    if data[:4] == _selector(_MULTICALL):
        return sum(_gas(call) or 0 for call in _calls(data))
    return _gas(data)


def _gas(data: bytes) -> int | None:
    """Return the ordinary gas of a call; that of a multicall within a multicall is 0."""
    rate = _by_selector().get(data[:4])
    return None if rate is None else rate.base + (rate.item * _count(data) if rate.item else 0)


@cache
def _by_selector() -> dict[bytes, OrdinaryGas]:
    return {_selector(signature): gas for signature, gas in ORDINARY_GAS.items()}


@cache
def _selector(signature: str) -> bytes:
    return keccak(signature.encode())[:4]


def _calls(data: bytes) -> tuple[bytes, ...]:
    """Return the calls of a multicall; none if the data are malformed, so that the contract rejects them."""
    try:
        (calls,) = decode(["bytes[]"], data[4:])
    except DecodingError:
        return ()
    return tuple(calls)


def _count(data: bytes) -> int:
    """Return the length of the list that is the first argument, at most the words of the data."""
    begin = int.from_bytes(data[4 : 4 + _WORD_SIZE])
    length = int.from_bytes(data[4:][begin : begin + _WORD_SIZE])
    return min(length, len(data) // _WORD_SIZE)
