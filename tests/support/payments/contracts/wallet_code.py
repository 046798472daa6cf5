"""Code of wallets (ERC-1271) that accept any signature, under a condition or at a cost."""

# Pushes the accepting answer of isValidSignature as a word; then, returns the word on the stack.
_ACCEPTING, _RETURN = bytes.fromhex("631626ba7e60e01b"), bytes.fromhex("5f5260205ff3")


def spending_wallet(gas: int) -> bytes:
    """Return the code of a wallet that accepts after it has used this much gas, below 2^24."""
    # GAS; JUMPDEST GAS DUP2 SUB PUSH3 gas GT PUSH1 1 JUMPI
    return b"\x5a\x5b\x5a\x81\x03\x62" + gas.to_bytes(3) + b"\x11\x60\x01\x57" + _ACCEPTING + _RETURN


def endless_wallet() -> bytes:
    """Return the code of a wallet that uses all gas that a call has."""
    # JUMPDEST PUSH0 JUMP
    return b"\x5b\x5f\x56"


def unpriced_wallet() -> bytes:
    """Return the code of a wallet that accepts only while GASPRICE is 0, as in an estimate without fees."""
    return _ACCEPTING + b"\x3a\x15\x02" + _RETURN


def wallet_against(origin: str) -> bytes:
    """Return the code of a wallet that accepts unless this account sent the transaction."""
    return _ACCEPTING + b"\x32\x73" + bytes.fromhex(origin.removeprefix("0x")) + b"\x14\x15\x02" + _RETURN
