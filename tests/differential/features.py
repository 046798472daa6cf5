"""Contracts that do one thing each, told by their calldata what to do it with; they stand in the genesis."""

from differential.assembly import At, Label, assemble, creation_code

FIRST = 0xC0DE00
"""Address of the first of them; the others follow."""

# All calldata becomes init code at the start of memory; the size is on the stack.
_INIT_CODE = "CALLDATASIZE DUP1 PUSH0 PUSH0 CALLDATACOPY"
_KEEP_AND_LOG = "DUP1 PUSH0 SSTORE PUSH0 PUSH0 LOG1"


def _forwarder(kind: str) -> bytes:
    """Calls the address in word 0 with the gas in word 1 and the other calldata; keeps and logs what comes back."""
    value = "CALLVALUE" if kind in ("CALL", "CALLCODE") else ""
    return assemble(
        *(64, "CALLDATASIZE SUB DUP1", 64, "PUSH0 CALLDATACOPY PUSH0 SWAP1 PUSH0 SWAP1 PUSH0"),
        *(value, "PUSH0 CALLDATALOAD", 32, "CALLDATALOAD", kind),
        *("PUSH0 SSTORE RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY RETURNDATASIZE PUSH0 KECCAK256 DUP1", 1),
        "SSTORE RETURNDATASIZE PUSH0 LOG1 STOP",
    )


def _churner() -> bytes:
    """Writes word 1, and one more each time, into as many slots as word 0 says, from slot word 2 on; 0 clears them."""
    again, done = Label(), Label()
    return assemble(
        *("PUSH0", At(again), "DUP1 PUSH0 CALLDATALOAD GT ISZERO", done, "JUMPI"),
        *(32, "CALLDATALOAD DUP1 ISZERO ISZERO DUP3 MUL ADD"),
        *("DUP2", 64, "CALLDATALOAD ADD SSTORE", 1, "ADD", again, "JUMP", At(done), "STOP"),
    )


def _passing() -> bytes:
    """Creates a contract by CREATE2 that destroys itself in favour of the caller, and calls it, all in one transaction.

    The next time it is at the same address.
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
    """Stores what the block and the transaction are, blob hashes included."""
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
    # The salt is zero: the same init code comes to the same address.
    "creator2": assemble("PUSH0", _INIT_CODE, "PUSH0 CALLVALUE CREATE2", _KEEP_AND_LOG, "STOP"),
    "passing": _passing(),
    # Stays where it was, since it was not created in the same transaction (EIP-6780); its balance goes.
    "self_destructor": assemble(1, "PUSH0 SSTORE PUSH0 CALLDATALOAD SELFDESTRUCT"),
    # Undoes what it did, and returns its calldata as the reason.
    "reverter": assemble(1, "PUSH0 SSTORE PUSH0 PUSH0 LOG0", _INIT_CODE, "PUSH0 REVERT"),
    "looper": _looper(),
    "environment": _environment(),
    "logger": assemble(_INIT_CODE, "CALLER SWAP1 PUSH0 LOG1 STOP"),
}
"""Runtime code by name."""

ADDRESSES = {name: f"0x{FIRST + n:040x}" for n, name in enumerate(FEATURES)}
"""Where the genesis has them."""
