"""The complete list of intended differences from anvil 1.7.1 and hardhat 3.18.0 (edr 0.22.0) in development methods.

Any other difference is a fault.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from differential.development_sequences import Operation, State

BOTH = {
    "writes": "a write to the state belongs to a block here, which automine seals at once; anvil and hardhat change "
    "their newest block. The comparison seals a block after each",
    "writes after transactions": "they follow the transactions of their block here, and precede them elsewhere: none "
    "is made while transactions wait for a block",
    "errors": "compared by presence",
    "results of writes": "null, as in anvil, where hardhat has true",
}
ANVIL_DIFFERENCES = {
    "time": "anvil repeats timestamps within a second, here each is later than the one before, as in hardhat",
    "reverts": "anvil's snapshots do not have the fee recipient, the next base fee or the next timestamp: the "
    "comparison sets all of them after each revert",
    "reverts of the pool": "anvil has other transactions in its pool after a revert: none is made while transactions "
    "wait",
    "hardhat_setPrevRandao": "anvil does not have it",
    "hardhat_mine": "the interval is between blocks in hardhat, and here; anvil counts it before the first block too, "
    "as `anvil_mine` does here: the comparison calls that",
    "automine": "anvil may answer before the block is there, which the comparison waits for",
}
HARDHAT_DIFFERENCES = {
    "hardhat_reset": "hardhat 3 does not have it: the comparison reverts to a first snapshot",
    "automine": "turned on, it seals what waits here and in anvil, and leaves it waiting in hardhat, where the "
    "comparison then mines a block",
    "lower nonces": "hardhat rejects a nonce below the account's; it is accepted here, as in anvil",
    "failed transactions": "hardhat answers with an error although they are sealed, unless throwOnTransactionFailures "
    "is false, as in the comparison",
}
WRITES = ("hardhat_setBalance", "hardhat_setNonce", "hardhat_setCode", "hardhat_setStorageAt")
COMPARED_RESULTS = ("evm_revert",)


@dataclass(frozen=True, slots=True)
class PeerDifferences:
    """Intended differences of one node from Foreseal."""

    is_left_out: Callable[[Operation, State], bool]
    """True for operations that would differ."""
    seconds_per_block: int
    """Seconds by which the timestamp of each block may be lower."""
    reverts_fields: bool
    """True if a revert restores the fields that were set for later blocks."""
    seals_on_automine: bool
    """True if transactions that wait are sealed when automine is enabled, soon after the answer."""
    names: Mapping[str, str]
    """Names of methods that are called instead of those of hardhat."""


def _anvil(operation: Operation, state: State) -> bool:
    if operation.method in ("evm_snapshot", "evm_revert"):
        return state.pending > 0
    return operation.method == "hardhat_setPrevRandao"


def _hardhat(operation: Operation, state: State) -> bool:
    if operation.method != "hardhat_setNonce":
        return False
    address, nonce = operation.params
    return int(nonce, 16) < state.nonces.get(address, 0)


ANVIL = PeerDifferences(
    _anvil, seconds_per_block=1, reverts_fields=False, seals_on_automine=True, names={"hardhat_mine": "anvil_mine"}
)
HARDHAT = PeerDifferences(_hardhat, seconds_per_block=0, reverts_fields=True, seals_on_automine=False, names={})
