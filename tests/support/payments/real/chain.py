"""A development node in this process with the token and the contracts of a merchant, controlled like a chain in memory.

It has the interface of `FakeChain`, so that the same tests run on both. A reorganization uses `evm_revert` to a
snapshot taken when the block before was sealed, and resubmits the transactions.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from foreseal.errors import RpcError
from foreseal.payments.contracts import (
    TokenGenesis,
    TokenSetup,
    batch_capture_entry,
    checkout_entry,
    payouts_entry,
    token_alloc,
)
from foreseal.testing import Chain, ChainSettings
from live import wait_for
from payments.contracts.doubles import double
from payments.fake.blocks import BLOCK_TIME
from payments.fake.contracts import NAME, PAYOUTS, TOKEN, VERSION
from payments.people import BATCH_CAPTURE, BRANCH, BUYERS, CHECKOUT, EURO, SHOP
from payments.real.storage import State

CHAIN_ID = 31337
_GAS = 500_000
_FEE = 10**12
_PIECE = 100
_KEYS = {account.address.lower(): account for account in (SHOP, BRANCH, *BUYERS)}
EURO_DECIMALS = 18
EURO_FUNDS = 10**24
"""Smallest units of the second token that each buyer has."""


@dataclass(frozen=True)
class Settings(ChainSettings):
    """Settings with a depth of the finalized block."""

    finality: int = 64

    def for_core(self, datadir: Path) -> bytes:
        given = orjson.loads(ChainSettings.for_core(self, datadir))
        depths = {"finalized_depth": self.finality, "safe_depth": self.finality // 2}
        return orjson.dumps(given | depths | {"block_time": BLOCK_TIME * 1000})


def settings_of(finality: int) -> Settings:
    """Return the settings of a chain whose accounts have ether, and tokens of the second kind only."""
    issuer = "0x" + "15" * 20
    setup = TokenSetup(issuer, issuer, issuer, issuer, name=NAME, version=VERSION)
    euro = TokenSetup(issuer, issuer, issuer, issuer, "Euro Coin", "EURC", "EUR", EURO_DECIMALS)
    entries = token_alloc(TokenGenesis(setup), CHAIN_ID, TOKEN) | {
        address: {"balance": hex(10**24)} for address in _KEYS
    }
    funds: dict[str, int] = {buyer.address: EURO_FUNDS for buyer in BUYERS}
    entries |= token_alloc(TokenGenesis(euro, funds), CHAIN_ID, EURO)
    entries |= {PAYOUTS: payouts_entry(TOKEN), CHECKOUT.lower(): checkout_entry(TOKEN, SHOP.address)}
    entries[BATCH_CAPTURE.lower()] = batch_capture_entry(TOKEN, SHOP.address)
    return Settings(accounts=0, chain_id=CHAIN_ID, automine=False, alloc=entries, finality=finality)


class Wallets(dict[str, str]):
    """Contract accounts (ERC-1271), each with the owner of its key."""

    def __init__(self, rpc: Callable[..., Any]) -> None:
        super().__init__()
        self.rpc = rpc

    def __setitem__(self, wallet: str, owner: str) -> None:
        super().__setitem__(wallet, owner)
        code = double("Wallet").code(owner=bytes.fromhex(owner[2:]).rjust(32, b"\0"))
        self.rpc("anvil_setCode", wallet, "0x" + code.hex())


@dataclass(frozen=True)
class Sent:
    """A third party's transaction."""

    hash: str


@dataclass(frozen=True)
class Tip:
    """The newest block, or the pending one."""

    chain: "RealChain"
    name: str

    @cached_property
    def _block(self) -> dict[str, Any]:
        return dict(self.chain.rpc("eth_getBlockByNumber", self.name, True))

    @property
    def number(self) -> int:
        return int(self._block["number"], 16)

    @property
    def hash(self) -> str:
        return str(self._block["hash"])

    @property
    def time(self) -> int:
        return int(self._block["timestamp"], 16)

    @property
    def state(self) -> State:
        return State(self.chain.node, self.name, _KEYS)


class RealChain:
    """The chain. `finality` is the distance in blocks of the finalized block from the newest one."""

    chain_id = CHAIN_ID

    def __init__(self, finality: int = 40, alloc: Mapping[str, Any] | None = None, time: int | None = None) -> None:
        """Open the chain with additional entries of its genesis, at a time in seconds since 1970."""
        self.finality = finality
        settings = settings_of(finality)
        settings = replace(settings, alloc={**settings.alloc, **(alloc or {})}, time=time or settings.time)
        self.node = Chain(settings)
        self.rpc = self.node.rpc
        self.salt = 0
        self.snapshots = {0: self.node.snapshot()}
        """Snapshots by the number of the newest block at that time, as far back as blocks can be reorganized."""
        self.changes: list[tuple[int, Callable[[Any], object]]] = []
        self.wallets = Wallets(self.rpc)

    def close(self) -> None:
        self.node.close()

    @property
    def time(self) -> int:
        return self.node.time

    @property
    def latest(self) -> Tip:
        return Tip(self, "latest")

    @property
    def pending(self) -> Tip:
        return Tip(self, "pending")

    @property
    def finalized(self) -> int:
        return max(0, self.latest.number - self.finality)

    @property
    def pool(self) -> dict[tuple[str, int], str]:
        """Hashes of pending transactions, by sender and account nonce."""
        content = self.rpc("txpool_content")
        return {
            (sender.lower(), int(nonce)): each["hash"]
            for part in ("pending", "queued")
            for sender, by_nonce in dict(content[part] or {}).items()
            for nonce, each in by_nonce.items()
        }

    def number(self, name: str) -> int:
        """Return the number of a block."""
        return Tip(self, name).number

    def change(self, change: Callable[[Any], object]) -> None:
        """Change the contracts on behalf of their owner, at the newest block."""
        self.changes.append((self.latest.number, change))
        change(self.pending.state)

    def inject(self, sender: str, to: str, data: bytes) -> Sent:
        """Send a third party's transaction."""
        nonce, waiting = int(self.rpc("eth_getTransactionCount", sender, "pending"), 16), self.pool
        while (sender, nonce) in waiting:
            nonce += 1
        return Sent(self.rpc("eth_sendRawTransaction", signed(_KEYS[sender], nonce, to, data)))

    def step(self) -> None:
        """Pre-confirm all executable transactions."""
        self.node.step()

    def mine(self, blocks: int = 1) -> None:
        """Seal the pending block with the pool's transactions, and further blocks."""
        quick = max(0, blocks - self.finality - 1)
        for begin in range(0, quick, _PIECE):
            self.node.mine(min(_PIECE, quick - begin))
            # A block more than 1,024 behind the store's head cannot serve as a parent.
            wait_for(lambda: self.rpc("foreseal_status")["store"]["backlog"] < _PIECE * 500, 30, "stored blocks")
        for _ in range(blocks - quick):
            self.node.mine()
            self.snapshots[self.latest.number] = self.node.snapshot()
        oldest = self.finalized
        self.snapshots = {number: each for number, each in self.snapshots.items() if number >= oldest}

    def advance(self, seconds: int) -> None:
        """Advance the time of the next block."""
        if seconds:
            self.node.advance(seconds)

    def reorganize(self, depth: int, *, dropped: bool = False, late: int = 0) -> None:
        """Replace the newest blocks by as many others and one more.

        Their transactions are in the new blocks from block `late` on, or nowhere if they are `dropped`.
        """
        newest, now = self.latest.number, self.time
        depth = min(depth, newest - self.finalized)
        blocks = [hex(number) for number in range(newest - depth + 1, newest + 1)]
        undone = [] if dropped else [raw for block in (*blocks, "pending") for raw in self._raw(block)]
        waiting = [self.rpc("eth_getRawTransactionByHash", hash) for hash in self.pool.values()]
        place = newest - depth
        self.node.revert(self.snapshots[place])
        self.snapshots = {number: each for number, each in self.snapshots.items() if number < place}
        self.snapshots[place] = self.node.snapshot()
        self.drop()
        self.advance(max(0, now - depth * BLOCK_TIME - self.time))
        self.salt += 1
        self.rpc("anvil_setCoinbase", f"0x{self.salt:040x}")
        # These changes are in the block above the newest one and are reverted with it.
        self.changes = [each for each in self.changes if each[0] <= place]
        for number, change in self.changes:
            if number == place:
                change(self.pending.state)
        before = min(late, depth + 1)
        self.mine(before)
        for raw in (*undone, *waiting):
            with contextlib.suppress(RpcError):  # another one with its account nonce exists
                self.rpc("eth_sendRawTransaction", raw)
        self.mine(depth + 1 - before)

    def drop(self) -> None:
        """Clear the pool."""
        for hash in self.pool.values():
            self.rpc("anvil_dropTransaction", hash)

    def _raw(self, block: str) -> list[str]:
        hashes = self.rpc("eth_getBlockByNumber", block, False)["transactions"]
        return [self.rpc("eth_getRawTransactionByHash", hash) for hash in hashes]

    def logs(self) -> list[dict[str, Any]]:
        """Return all logs on the chain in JSON-RPC form, including pre-confirmed ones."""
        return list(self.rpc("eth_getLogs", {"fromBlock": "0x0", "toBlock": "pending"}))


def signed(account: LocalAccount, nonce: int, to: str, data: bytes) -> str:
    """Return a signed transaction for eth_sendRawTransaction."""
    fields: dict[str, Any] = {
        "type": 2,
        "chainId": CHAIN_ID,
        "nonce": nonce,
        "to": to_checksum_address(to),
        "value": 0,
        "data": data,
    }
    fees = {"gas": _GAS, "maxFeePerGas": _FEE, "maxPriorityFeePerGas": _FEE}
    return "0x" + bytes(account.sign_transaction(fields | fees).raw_transaction).hex()
