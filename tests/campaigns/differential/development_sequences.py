"""Random sequences of development methods, for nodes that should agree on them.

All randomness comes from the given generator. What differs between nodes for one operation (ids of snapshots, hashes of
transactions of accounts without a key) is named by an ordinal.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from live import DEV_ACCOUNTS
from live.sending import GWEI

ALICE, BOB, CAROL = (account.address.lower() for account in DEV_ACCOUNTS[:3])
RICH = "0x" + "a1" * 20
"""An account without a key."""
PLAIN = "0x" + "b2" * 20
"""An account without a key and, at first, without balance."""
RECORDER = "0x" + "c0" * 20
"""Address that gets the code below."""
FEES = "0x" + "fe" * 20
WATCHED = (ALICE, BOB, CAROL, RICH, PLAIN, RECORDER, FEES)
SLOTS = tuple(hex(slot) for slot in range(6))

# Stores NUMBER, GASLIMIT, BASEFEE, COINBASE and CALLVALUE in slots 0 to 4.
RECORDING = "0x" + "436000554560015548600255416003553460045500"
REVERTING = "0x60006000fd"
CREATING = "0x" + "600580600b6000396000f3" + "6000ff" + "0000"
PRICE = 200 * GWEI
GAS = 200_000


@dataclass(frozen=True, slots=True)
class Id:
    """The result of an earlier operation on the same node, by the ordinal of the operation."""

    operation: int


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a method."""

    method: str
    params: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.method}{self.params}"


@dataclass(slots=True)
class State:
    """State of the chains, as far as operations depend on it."""

    time: int
    """Timestamp of the newest block, read before each operation."""
    pending: int = 0
    """Transactions that wait for a block."""
    nonces: dict[str, int] = field(default_factory=dict)
    snapshots: list[int] = field(default_factory=list)
    """Ordinals of the operations that made the snapshots that exist."""


class Operations:
    """An endless supply of operations."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def next(self, state: State) -> Operation:
        """Return an operation that is possible in this state, or one that every node rejects."""
        kinds = [self._send] * 6 + [self._mine] * 3 + [self._time] * 2 + [self._switch, self._snapshot, self._revert]
        # Writes to the state come before the transactions of the block here, and after them elsewhere.
        if not state.pending:
            kinds += [self._write] * 4 + [self._next_block] * 2
        return self._random.choice(kinds)(state)

    def _send(self, state: State) -> Operation:
        random = self._random
        sender = random.choice([ALICE, ALICE, BOB, RICH, PLAIN])
        call: dict[str, Any] = {"from": sender, "gas": hex(GAS), "gasPrice": hex(PRICE)}
        kind = random.random()
        if kind < 0.1:
            call["data"] = CREATING
        else:
            call["to"] = random.choice([RECORDER, RECORDER, BOB, PLAIN, FEES])
        call["value"] = hex(random.choice([0, 1, 10**18, 10**18, 10**30] if random.random() < 0.3 else [0, 1, 10**15]))
        return Operation("eth_sendTransaction", (call,))

    def _mine(self, state: State) -> Operation:
        random = self._random
        kind = random.random()
        if kind < 0.4:
            return Operation("evm_mine", ())
        if kind < 0.6:
            return Operation("evm_mine", (self._timestamp(state),))
        if kind < 0.8:
            return Operation("hardhat_mine", (hex(random.choice([1, 2, 5])),))
        return Operation("hardhat_mine", (hex(random.choice([1, 2, 5])), hex(random.choice([1, 12, 1000]))))

    def _timestamp(self, state: State) -> int:
        later = self._random.choice([100, 1000, 10**6])
        return state.time + later if self._random.random() < 0.85 else state.time - later

    def _time(self, state: State) -> Operation:
        if self._random.random() < 0.5:
            return Operation("evm_increaseTime", (self._random.choice([1, 60, 10**5]),))
        return Operation("evm_setNextBlockTimestamp", (self._timestamp(state),))

    def _switch(self, state: State) -> Operation:
        random = self._random
        if random.random() < 0.4:
            return Operation("evm_setAutomine", (random.random() < 0.6,))
        name = "hardhat_impersonateAccount" if random.random() < 0.7 else "hardhat_stopImpersonatingAccount"
        return Operation(name, (random.choice([RICH, RICH, PLAIN, ALICE]),))

    def _snapshot(self, state: State) -> Operation:
        return Operation("evm_snapshot", ())

    def _revert(self, state: State) -> Operation:
        if state.snapshots and self._random.random() < 0.9:
            return Operation("evm_revert", (Id(self._random.choice(state.snapshots)),))
        return Operation("evm_revert", ("0x7777",))

    def _write(self, state: State) -> Operation:
        random = self._random
        address = random.choice([RICH, RICH, RECORDER, PLAIN, ALICE, BOB])
        kind = random.choice(["Balance", "Nonce", "Code", "StorageAt"])
        if kind == "Balance":
            return Operation("hardhat_setBalance", (address, hex(random.choice([0, 1, 10**18, 10**24]))))
        if kind == "Nonce":
            nonce = state.nonces.get(address, 0)
            return Operation("hardhat_setNonce", (address, hex(max(0, nonce + random.choice([0, 1, 7, -1])))))
        if kind == "Code":
            # Without code, the recorder could be an empty account with storage, which no transaction makes (EIP-161).
            if random.random() < 0.3:
                return Operation("hardhat_setCode", (PLAIN, random.choice([RECORDING, REVERTING, "0x"])))
            return Operation("hardhat_setCode", (RECORDER, random.choice([RECORDING, REVERTING])))
        value = random.choice([0, 1, 2**256 - 1, random.getrandbits(64)])
        return Operation("hardhat_setStorageAt", (RECORDER, hex(random.randrange(6)), f"0x{value:064x}"))

    def _next_block(self, state: State) -> Operation:
        random = self._random
        kind = random.choice(["fee", "coinbase", "limit", "randao"])
        if kind == "fee":
            fee = random.choice([0, 7, GWEI, 50 * GWEI])
            return Operation("hardhat_setNextBlockBaseFeePerGas", (hex(fee),))
        if kind == "coinbase":
            return Operation("hardhat_setCoinbase", (random.choice([FEES, CAROL]),))
        if kind == "limit":
            return Operation("evm_setBlockGasLimit", (hex(random.choice([16_000_000, 30_000_000, 45_000_000])),))
        return Operation("hardhat_setPrevRandao", (f"0x{random.getrandbits(255):064x}",))
