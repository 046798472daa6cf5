"""A chain in memory that advances only on command: blocks, a pool, reorganizations, finality."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import rlp
from eth_account import Account
from eth_utils.crypto import keccak

from payments.fake.contracts import Call, Event, Revert, State

BLOCK_TIME = 2


@dataclass(frozen=True)
class Transaction:
    """A signed transaction, or one that is treated as signed."""

    hash: str
    sender: str
    nonce: int
    to: str
    data: bytes
    fee: int = 10**12
    priority_fee: int = 10**12


@functools.lru_cache(maxsize=4096)
def decoded(raw: bytes) -> Transaction:
    """Decode a signed transaction of type 2."""
    assert raw[0] == 2
    _, nonce, priority_fee, fee, _, to, _, data, *_ = rlp.decode(raw[1:])
    number = functools.partial(int.from_bytes, byteorder="big")
    sender = Account.recover_transaction(raw).lower()
    hash = "0x" + keccak(raw).hex()
    return Transaction(hash, sender, number(nonce), "0x" + to.hex(), data, number(fee), number(priority_fee))


@dataclass
class Landed:
    """A transaction in a block."""

    transaction: Transaction
    succeeded: bool
    events: list[Event]


@dataclass
class Block:
    """A block, and the state after it."""

    number: int
    parent: str
    time: int
    salt: int
    landed: list[Landed]
    state: State

    def logs(self) -> Iterator[tuple[Landed, dict[str, Any]]]:
        """Yield the logs in JSON-RPC form, each with its transaction."""
        index = 0
        for landed in self.landed:
            for address, topics, data in landed.events:
                yield (
                    landed,
                    {
                        "address": address,
                        "topics": ["0x" + each.hex() for each in topics],
                        "data": "0x" + data.hex(),
                        "blockNumber": hex(self.number),
                        "blockHash": self.hash,
                        "transactionHash": landed.transaction.hash,
                        "logIndex": hex(index),
                        "removed": False,
                    },
                )
                index += 1

    @functools.cached_property
    def hash(self) -> str:
        parts = [str(self.number), self.parent, str(self.time), str(self.salt)]
        parts += [each.transaction.hash for each in self.landed]
        return "0x" + keccak(text=" ".join(parts)).hex()


@dataclass
class FakeChain:
    """The chain. `finality` is the distance in blocks of the finalized block from the newest one."""

    chain_id: int = 31337
    finality: int = 40
    time: int = 1_735_689_600
    wallets: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.salt = 0
        self.pool: dict[tuple[str, int], Transaction] = {}
        self.blocks = [Block(0, "0x" + bytes(32).hex(), self.time, 0, [], State())]
        self.finalized = 0
        self.counter = 0
        self.pending = self._fresh()

    @property
    def latest(self) -> Block:
        return self.blocks[-1]

    @property
    def safe(self) -> int:
        return max(self.finalized, self.latest.number - self.finality // 2)

    def change(self, change: Callable[[State], None]) -> None:
        """Change the contracts on behalf of their owner, at the newest block."""
        change(self.pending.state)
        if self.latest.state is not self.pending.state:
            change(self.latest.state)

    def inject(self, sender: str, to: str, data: bytes) -> Transaction:
        """Put a third party's transaction into the pool."""
        self.counter += 1
        nonce = self.pending.state.nonces.get(sender, 0)
        while (sender, nonce) in self.pool:
            nonce += 1
        hash = "0x" + keccak(text=f"injected {self.counter}").hex()
        transaction = Transaction(hash, sender, nonce, to, data)
        self.pool[sender, nonce] = transaction
        return transaction

    def step(self) -> None:
        """Pre-confirm all executable transactions."""
        moved = True
        while moved:
            moved = False
            for key, transaction in sorted(self.pool.items()):
                if self.pending.state.nonces.get(transaction.sender, 0) == transaction.nonce:
                    del self.pool[key]
                    self._execute(transaction)
                    moved = True
                elif self.pending.state.nonces.get(transaction.sender, 0) > transaction.nonce:
                    del self.pool[key]

    def mine(self, blocks: int = 1, *, gap: int = BLOCK_TIME) -> None:
        """Seal the pending block with the pool's transactions, and further blocks; times are `gap` seconds apart."""
        for _ in range(blocks):
            self.time += gap
            self.pending.time = max(self.pending.time, self.time)
            self.step()
            self.time = self.pending.time
            self.blocks.append(self.pending)
            self.finalized = max(self.finalized, self.latest.number - self.finality)
            self.pending = self._fresh()

    def advance(self, seconds: int) -> None:
        """Advance the time of the next block; pre-confirmed transactions stay as they are."""
        self.time += seconds
        if not self.pending.landed:
            self.pending.time = max(self.pending.time, self.time + BLOCK_TIME)

    def reorganize(self, depth: int, *, dropped: bool = False, late: int = 0) -> None:
        """Replace the newest blocks by as many others and one more.

        Their transactions are in the new blocks from block `late` on, or nowhere if they are `dropped`.
        """
        depth = min(depth, self.latest.number - self.finalized)
        undone = [each.transaction for block in self.blocks[len(self.blocks) - depth :] for each in block.landed]
        undone += [each.transaction for each in self.pending.landed]
        del self.blocks[len(self.blocks) - depth :]
        self.salt += 1
        self.pending = self._fresh()
        waiting, self.pool = self.pool, {}
        self.mine(min(late, depth + 1), gap=1)
        if not dropped:
            for each in undone:
                waiting.setdefault((each.sender, each.nonce), each)
        self.pool = waiting
        self.mine(depth + 1 - min(late, depth + 1), gap=1)

    def drop(self) -> None:
        """Clear the pool."""
        self.pool.clear()

    def call(self, block: Block, sender: str, to: str, data: bytes) -> bytes:
        """Return the result of a call. Raise `Revert`; nothing changes."""
        return Call(block.state.copy(), self.chain_id, self.wallets, sender, block.time).execute(to, data)

    def close(self) -> None:
        """Do nothing: the chain is only in memory."""

    def logs(self) -> list[dict[str, Any]]:
        """Return all logs on the chain in JSON-RPC form, including pre-confirmed ones."""
        return [log for block in (*self.blocks, self.pending) for _, log in block.logs()]

    def find(self, hash: str) -> tuple[Block, Landed] | None:
        """Return block and entry of a transaction."""
        for block in (self.pending, *reversed(self.blocks)):
            for each in block.landed:
                if each.transaction.hash == hash:
                    return block, each
        return None

    def _fresh(self) -> Block:
        latest = self.latest
        time = max(latest.time, self.time) + BLOCK_TIME
        return Block(latest.number + 1, latest.hash, time, self.salt, [], latest.state)

    def _execute(self, transaction: Transaction) -> None:
        # A block shares its state with the one before until a transaction changes it.
        before = self.pending.state.copy()
        before.nonces[transaction.sender] = transaction.nonce + 1
        after = before.copy()
        call = Call(after, self.chain_id, self.wallets, transaction.sender, self.pending.time)
        try:
            call.execute(transaction.to, transaction.data)
        except Revert:
            self.pending.state = before
            self.pending.landed.append(Landed(transaction, False, []))
        else:
            self.pending.state = after
            self.pending.landed.append(Landed(transaction, True, call.events))
        self.pending.__dict__.pop("hash", None)
