"""Runtime code of expensive contracts."""

from eth_hash.auto import keccak

TRANSFER_TOPIC = keccak(b"Transfer(address,address,uint256)")
KECCAK_LOOP = bytes.fromhex("5b6201000060002050600056")
"""Hashes 64 KiB in an infinite loop."""
JUMP_LOOP = bytes.fromhex("5b600056")
"""The tightest loop."""
# CALLER, ADDRESS and the event as topics, one word of zeros as data.
_ONE_LOG = b"\x30\x33\x7f" + TRANSFER_TOPIC + b"\x60\x20\x5f\xa3"
LOGS_A_CALL = 200
LOGGER = _ONE_LOG * LOGS_A_CALL
"""Emits 200 transfers."""
# Expands memory to 64 KiB, then loops over cheap operations until 10,000 gas are left.
TRACED = bytes.fromhex("60006201000052" + "5b600050600050600050" + "6127105a11" + "60075700")
"""Millions of cheap steps over 64 KiB of memory, until 10,000 gas are left."""

LONG_RESULT = bytes.fromhex("62400000" + "5ff3")
"""Returns 4 MiB of zeros."""


def precompile_loop(address: int, data: bytes) -> bytes:
    """Return a loop that calls a precompiled contract with this input."""
    code = b""
    for offset in range(0, len(data), 32):
        word = data[offset : offset + 32].ljust(32, b"\0")
        code += b"\x7f" + word + b"\x61" + offset.to_bytes(2) + b"\x52"
    start = len(code)
    # Output size and offset, input size and offset, address, all gas.
    called = b"\x5f\x5f\x61" + len(data).to_bytes(2) + b"\x5f\x60" + bytes([address]) + b"\x5a\xfa\x50"
    return code + b"\x5b" + called + b"\x61" + start.to_bytes(2) + b"\x56"


def modexp_loop() -> bytes:
    """Return a loop over modular exponentiations of 256 bytes."""
    sizes = b"".join(size.to_bytes(32) for size in (256, 256, 256))
    return precompile_loop(5, sizes + b"\xff" * 768)


def pairing_input(pairs: int) -> bytes:
    """Return pairs of the generators of bn254."""
    g2 = (
        0x198E9393920D483A7260BFB731FB5D25F1AA493335A9E71297E485B7AEF312C2,
        0x1800DEEF121F1E76426A00665E5C4479674322D4F75EDADD46DEBD5CD992F6ED,
        0x090689D0585FF075EC9E99AD690C3395BC4B313370B38EF355ACDADCD122975B,
        0x12C85EA5DB8C6DEB4AAB71808DCB408FE3D1E7690C43D37B4CE6CC0166FA7DAA,
    )
    return b"".join(word.to_bytes(32) for word in (1, 2, *g2)) * pairs


def pairing_loop() -> bytes:
    """Return a loop over pairings of the generators of bn254 with themselves."""
    return precompile_loop(8, pairing_input(4))


def memory_loop() -> bytes:
    """Return code that expands memory to 1 MiB, then calls itself twice with the remaining gas."""
    return bytes.fromhex("60016210000052" + "5f5f5f5f305afa50" * 2 + "00")


def sload_loop() -> bytes:
    """Return a loop that reads one slot after the other."""
    # Counter on the stack: JUMPDEST DUP1 SLOAD POP PUSH1 1 ADD PUSH1 1 JUMP.
    return bytes.fromhex("5f5b80545060010160015600")


def balance_loop() -> bytes:
    """Return a loop that reads the balance of one account after the other."""
    return bytes.fromhex("5f5b80315060010160015600")


def create_loop() -> bytes:
    """Return a loop that creates contracts with 24 KB of code."""
    # Init code: PUSH2 0x6000 PUSH0 RETURN, in the last five bytes of the first word.
    return bytes.fromhex("646160005ff35f52" + "5b6005601b5ff050600856")


def deep_calls() -> bytes:
    """Return code that calls itself twice with all its gas, up to the depth that the gas allows."""
    return bytes.fromhex("5f5f5f5f5f305af150" * 2 + "00")


def copy_loop() -> bytes:
    """Return a loop that copies 64 KiB within memory."""
    return bytes.fromhex("5b620100005f62010000" + "5e5f56")


def self_code_loop() -> bytes:
    """Return a loop that copies the code of a contract."""
    return bytes.fromhex("5b6160005f5f303c5f56")
