"""Single-purpose contracts in the genesis, controlled by their calldata."""

from differential.assembly import At, Label, assemble, creation_code

FIRST = 0xC0DE00
"""Address of the first contract; the others follow."""

# All calldata becomes init code at the start of memory; the size is on the stack.
_INIT_CODE = "CALLDATASIZE DUP1 PUSH0 PUSH0 CALLDATACOPY"
_KEEP_AND_LOG = "DUP1 PUSH0 SSTORE PUSH0 PUSH0 LOG1"


def _forwarder(kind: str) -> bytes:
    """Return code that calls the address in word 0 with the gas in word 1 and the rest of the calldata.

    It stores and logs the result.
    """
    value = "CALLVALUE" if kind in ("CALL", "CALLCODE") else ""
    return assemble(
        *(64, "CALLDATASIZE SUB DUP1", 64, "PUSH0 CALLDATACOPY PUSH0 SWAP1 PUSH0 SWAP1 PUSH0"),
        *(value, "PUSH0 CALLDATALOAD", 32, "CALLDATALOAD", kind),
        *("PUSH0 SSTORE RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY RETURNDATASIZE PUSH0 KECCAK256 DUP1", 1),
        "SSTORE RETURNDATASIZE PUSH0 LOG1 STOP",
    )


def _churner() -> bytes:
    """Return code that writes to as many slots as word 0 specifies, from the slot in word 2 on.

    The first value is word 1, each later one is higher by one; 0 clears the slots.
    """
    again, done = Label(), Label()
    return assemble(
        *("PUSH0", At(again), "DUP1 PUSH0 CALLDATALOAD GT ISZERO", done, "JUMPI"),
        *(32, "CALLDATALOAD DUP1 ISZERO ISZERO DUP3 MUL ADD"),
        *("DUP2", 64, "CALLDATALOAD ADD SSTORE", 1, "ADD", again, "JUMP", At(done), "STOP"),
    )


def _passing() -> bytes:
    """Return code that creates a contract by CREATE2 and calls it; the contract self-destructs to the caller.

    All of it happens in one transaction. The next contract has the same address.
    """
    init = creation_code(assemble(1, "PUSH0 SSTORE PUSH0 CALLDATALOAD SELFDESTRUCT"))
    start = Label()
    return assemble(
        *(len(init), start, "PUSH0 CODECOPY PUSH0", len(init), "PUSH0 CALLVALUE CREATE2 CALLER PUSH0 MSTORE"),
        *("DUP1 EXTCODEHASH", 1, "SSTORE PUSH0 PUSH0", 32, "PUSH0 PUSH0 DUP6 GAS CALL PUSH0 SSTORE EXTCODEHASH"),
        *(2, "SSTORE STOP", At(start, data=True), init),
    )


def _looper() -> bytes:
    again = Label()
    return assemble(At(again), again, "JUMP")


def _environment() -> bytes:
    """Return code that stores the properties of block and transaction, blob hashes included."""
    words = (
        "NUMBER TIMESTAMP COINBASE GASLIMIT CHAINID BASEFEE BLOBBASEFEE ORIGIN CALLER CALLVALUE GASPRICE SELFBALANCE"
    )
    parts = [part for slot, name in enumerate(words.split()) for part in (name, slot, "SSTORE")]
    return assemble(*parts, "PUSH0 BLOBHASH", 12, "SSTORE", 1, "BLOBHASH", 13, "SSTORE STOP")


FEATURES = {
    "forward_call": _forwarder("CALL"),
    "forward_callcode": _forwarder("CALLCODE"),
    "forward_delegatecall": _forwarder("DELEGATECALL"),
    "forward_staticcall": assemble(
        *(64, "CALLDATASIZE SUB DUP1", 64, "PUSH0 CALLDATACOPY PUSH0 SWAP1 PUSH0 SWAP1 PUSH0 PUSH0"),
        *("CALLDATALOAD", 32, "CALLDATALOAD STATICCALL PUSH0 MSTORE RETURNDATASIZE PUSH0", 32, "RETURNDATACOPY"),
        *("RETURNDATASIZE", 32, "ADD PUSH0 RETURN"),
    ),
    "churner": _churner(),
    "creator": assemble(_INIT_CODE, "PUSH0 CALLVALUE CREATE", _KEEP_AND_LOG, "STOP"),
    # The salt is zero: the same init code gets the same address.
    "creator2": assemble("PUSH0", _INIT_CODE, "PUSH0 CALLVALUE CREATE2", _KEEP_AND_LOG, "STOP"),
    "passing": _passing(),
    # The contract persists, since it was not created in the same transaction (EIP-6780); its balance moves.
    "self_destructor": assemble(1, "PUSH0 SSTORE PUSH0 CALLDATALOAD SELFDESTRUCT"),
    # Reverts its changes, and returns its calldata as the reason.
    "reverter": assemble(1, "PUSH0 SSTORE PUSH0 PUSH0 LOG0", _INIT_CODE, "PUSH0 REVERT"),
    "looper": _looper(),
    "environment": _environment(),
    "logger": assemble(_INIT_CODE, "CALLER SWAP1 PUSH0 LOG1 STOP"),
}
"""Runtime code by name."""

ADDRESSES = {name: f"0x{FIRST + n:040x}" for n, name in enumerate(FEATURES)}
"""Addresses in the genesis."""
