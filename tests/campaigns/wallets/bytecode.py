"""Runtime code of wallets that are contracts (ERC-1271): conditions, costs, results, and switches.

A wallet is a condition that leaves a word on the stack, the accepting answer multiplied by it, and a return.
"""

from collections.abc import Sequence

from eth_utils.crypto import keccak

_MAGIC = bytes.fromhex("631626ba7e60e01b")
"""Pushes the accepting answer of isValidSignature as a word."""
_RETURN = bytes.fromhex("5f5260205ff3")
"""Returns the word on the stack."""
ACCEPTING = _MAGIC + _RETURN
REJECTING = bytes.fromhex("5f") + _RETURN
BURNING = bytes.fromhex("5b5f56")
"""The tightest loop: it uses all gas that it receives."""
REVERTING = bytes.fromhex("5f5ffd")
INVALID = bytes.fromhex("fe")
"""The invalid instruction: it uses all gas that it receives, at once."""
EMPTY_RESULT = bytes.fromhex("00")
"""Returns nothing."""
SHORT_RESULT = _MAGIC + bytes.fromhex("5f5260045ff3")
"""Returns the four bytes of the accepting answer without their padding."""
DIRTY_RESULT = _MAGIC + bytes.fromhex("60011760005260206000f3")
"""Returns the accepting answer with another bit set."""
LONG_RESULT_SIZE = 200_000


def _push(value: int | bytes) -> bytes:
    data = value if isinstance(value, bytes) else value.to_bytes(max(1, (value.bit_length() + 7) // 8))
    return bytes([0x5F + len(data)]) + data


def _address(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def accepting_if(condition: bytes) -> bytes:
    """Accept if the condition leaves 1."""
    return _MAGIC + condition + b"\x02" + _RETURN


def _is_caller(addresses: Sequence[str]) -> bytes:
    """Leave 1 if one of these accounts is the caller."""
    code = b"\x5f"
    for each in addresses:
        code += b"\x33\x73" + _address(each) + b"\x14\x17"
    return code


def against_callers(addresses: Sequence[str]) -> bytes:
    """Accept unless one of these contracts calls."""
    return accepting_if(_is_caller(addresses) + b"\x15")


def against_origins(addresses: Sequence[str]) -> bytes:
    """Accept unless one of these accounts sent the transaction."""
    code = b"\x5f"
    for each in addresses:
        code += b"\x32\x73" + _address(each) + b"\x14\x17"
    return accepting_if(code + b"\x15")


def with_gas_above(gas: int) -> bytes:
    """Accept with more gas than this."""
    return accepting_if(_push(gas) + b"\x5a\x11")


def with_gas_below(gas: int) -> bytes:
    """Accept with less gas than this."""
    return accepting_if(_push(gas) + b"\x5a\x10")


def without_price() -> bytes:
    """Accept while GASPRICE is 0."""
    return accepting_if(b"\x3a\x15")


def with_price() -> bytes:
    """Accept while GASPRICE is not 0."""
    return accepting_if(b"\x3a\x15\x15")


def without_base_fee() -> bytes:
    """Accept while BASEFEE is 0."""
    return accepting_if(b"\x48\x15")


def until_block(number: int) -> bytes:
    """Accept up to this block."""
    return accepting_if(_push(number + 1) + b"\x43\x10")


def until_time(seconds: int) -> bytes:
    """Accept up to this block time."""
    return accepting_if(_push(seconds + 1) + b"\x42\x10")


def _jump(condition: bytes, first: bytes, otherwise: bytes) -> bytes:
    """Run `first` if the condition leaves 1, else `otherwise`. Both end themselves."""
    target = len(condition) + 4 + len(otherwise)
    return condition + b"\x61" + target.to_bytes(2) + b"\x57" + otherwise + b"\x5b" + first


def _spend(gas: int, start: int) -> bytes:
    """Use this much gas, below 2^24, in code that begins at offset `start`."""
    # GAS; JUMPDEST GAS DUP2 SUB PUSH3 gas GT PUSH2 start+1 JUMPI
    return b"\x5a\x5b\x5a\x81\x03\x62" + gas.to_bytes(3) + b"\x11\x61" + (start + 1).to_bytes(2) + b"\x57"


def spending(gas: int) -> bytes:
    """Accept after this much gas."""
    return _spend(gas, 0) + ACCEPTING


def spending_for_callers(gas: int, addresses: Sequence[str]) -> bytes:
    """Accept for any caller, and use this much gas if one of these contracts calls."""
    condition = _is_caller(addresses)
    start = len(condition) + 4 + len(ACCEPTING) + 1
    return _jump(condition, _spend(gas, start) + ACCEPTING, ACCEPTING)


def burning_for_callers(addresses: Sequence[str]) -> bytes:
    """Accept, but use all gas if one of these contracts calls."""
    return _jump(_is_caller(addresses), INVALID, ACCEPTING)


def burning_with_price() -> bytes:
    """Accept, but use all gas while GASPRICE is not 0."""
    return _jump(b"\x3a", INVALID, ACCEPTING)


def long_result(size: int = LONG_RESULT_SIZE) -> bytes:
    """Return the accepting answer, followed by zeros up to this size in bytes."""
    return _MAGIC + b"\x5f\x52" + _push(size) + b"\x5f\xf3"


def long_revert(size: int = LONG_RESULT_SIZE) -> bytes:
    """Revert with this many bytes."""
    return _push(size) + b"\x5f\xfd"


def calling(target: str, data: bytes, *, static: bool = False) -> bytes:
    """Call a contract with these data, then accept; `static` permits no change of state."""
    code = b""
    for offset in range(0, len(data), 32):
        code += b"\x7f" + data[offset : offset + 32].ljust(32, b"\0") + b"\x61" + offset.to_bytes(2) + b"\x52"
    # Output, input, and for a call no value.
    code += b"\x5f\x5f\x61" + len(data).to_bytes(2) + b"\x5f" + (b"" if static else b"\x5f")
    return code + b"\x73" + _address(target) + b"\x5a" + (b"\xfa" if static else b"\xf1") + b"\x50" + ACCEPTING


def owned(owner: str | None = None) -> bytes:
    """Accept signatures of this account, or of the account that delegates to this code (EIP-7702)."""
    # The digest, v, r and s are the input of ecrecover at address 1.
    code = bytes.fromhex("600435" + "5f52" + "60a435" + "5f1a" + "602052" + "606435" + "604052" + "608435" + "606052")
    code += bytes.fromhex("6020" + "6080" + "6080" + "5f" + "6001" + "5a" + "fa50")
    expected = b"\x30" if owner is None else b"\x73" + _address(owner)
    return code + accepting_if(bytes.fromhex("608051") + expected + b"\x14")


def switchable() -> bytes:
    """Delegate to the contract in slot 0; a call with one word of data sets it."""
    store = bytes.fromhex("5f355f5500")
    # CALLDATACOPY of everything, DELEGATECALL, RETURNDATACOPY, and return or revert like the target.
    forward = bytes.fromhex("365f5f37" + "5f5f365f5f545af4" + "3d5f5f3e")
    condition = bytes.fromhex("60203614")
    body = len(condition) + 4
    end = body + len(forward) + 3 + 4
    # JUMPI over REVERT to RETURN, by the result of the call.
    forward += b"\x61" + end.to_bytes(2) + b"\x57" + bytes.fromhex("3d5ffd")
    return _jump(condition, store, forward + b"\x5b" + bytes.fromhex("3d5ff3"))


def transfer_data(recipient: str, amount: int) -> bytes:
    """Return the data of a token's transfer."""
    return keccak(text="transfer(address,uint256)")[:4] + _address(recipient).rjust(32, b"\0") + amount.to_bytes(32)
