"""A chain that advances only on command."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from foreseal import _core
from foreseal.errors import RpcError
from foreseal.testing.accounts import TestAccount
from foreseal.testing.folder import chain_folder

# Methods after which an automining chain seals a block.
_SUBMISSIONS = frozenset({"eth_sendRawTransaction", "eth_sendTransaction"})


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """Settings of a test chain. The same settings and calls produce the same chain, hashes included."""

    accounts: int = 10
    """Number of funded accounts."""
    balance: int = 10_000
    """Balance of each account in ether."""
    chain_id: int = 31337
    mnemonic: str = "test test test test test test test test test test test junk"
    genesis: Path | None = None
    """Genesis file in geth's format, instead of the development genesis; it then defines the balances."""
    alloc: Mapping[str, Any] = field(default_factory=dict)
    """Additional entries of the development genesis, in the form of a genesis file's `alloc`, by lower-case address."""
    time: int = 1_735_689_600
    """Initial time of the clock, seconds since 1970; 2025-01-01 00:00 UTC."""
    automine: bool = True
    """True to seal a block for every transaction at once."""
    revert_reason: str = "data"
    """Field of an error that has the revert reason: `data`, or `message` as well."""

    def derived(self) -> tuple[TestAccount, ...]:
        """Return the accounts of the mnemonic."""
        return tuple(TestAccount(address, key) for address, key in _core.derive_accounts(self.mnemonic, self.accounts))

    def for_core(self, datadir: Path) -> bytes:
        """Return the settings for `_core.SteppedNode` as JSON."""
        chain: dict[str, Any] = {
            "kind": "dev",
            "chain_id": self.chain_id,
            "mnemonic": self.mnemonic,
            "accounts": self.accounts,
            "balance": hex(self.balance * 10**18),
            "alloc": self.alloc,
            "timestamp": self.time,
        }
        if self.genesis is not None:
            chain = {"kind": "file", "path": str(self.genesis)}
        configuration = {
            "datadir": str(datadir),
            "chain": chain,
            "block_time": 1000,
            "log": {"levels": "off"},
            "development": True,
            "revert_reason": self.revert_reason,
        }
        return orjson.dumps(configuration)


class Chain:
    """A development node in this process, and its clock.

    The chain does nothing on its own: `step` pre-confirms pending transactions, `mine` seals, `advance` moves the
    clock. With `automine`, the default, a transaction is in a sealed block when the sending call returns. Use it from
    one thread, as a context manager or with `close`.
    """

    def __init__(self, settings: ChainSettings | None = None) -> None:
        """Open a chain at its genesis block. Raise `NodeError`."""
        self.settings = settings or ChainSettings()
        self.automine = self.settings.automine
        """True to seal every transaction at once; may be set at any time."""
        self.accounts = self.settings.derived()
        """The funded accounts."""
        with contextlib.ExitStack() as opening:
            folder = opening.enter_context(chain_folder())
            self._node = _core.SteppedNode(self.settings.for_core(folder), self.settings.time)
            self._open = opening.pop_all()

    def close(self) -> None:
        """Stop the chain, delete its data and release its files and memory. A second call does nothing."""
        self._node.stop()
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def rpc(self, method: str, *params: Any) -> Any:
        """Return the result of a JSON-RPC call. Raise `RpcError`, whose `data` is JSON bytes."""
        return orjson.loads(self.call(method, orjson.dumps(params, _plain, orjson.OPT_PASSTHROUGH_DATACLASS)))

    def call(self, method: str, params: bytes) -> bytes:
        """Execute a JSON-RPC call; parameters and result are JSON bytes. Raise `RpcError`."""
        answer = self._node.call(method, params)
        if self.automine and method in _SUBMISSIONS:
            self._node.seal()
        return answer

    def request(self, method: str, params: Any) -> dict[str, Any]:
        """Return the response object of a JSON-RPC call, in the form that a client receives: `result` or `error`."""
        try:
            return {"jsonrpc": "2.0", "id": 1, "result": self.rpc(method, *(params or ()))}
        except RpcError as error:
            failure = {"code": error.code, "message": error.message}
            if error.data is not None:
                failure["data"] = orjson.loads(error.data)
            return {"jsonrpc": "2.0", "id": 1, "error": failure}

    @property
    def time(self) -> int:
        """Return the clock's time in seconds since 1970."""
        return self._node.time()

    def advance(self, seconds: int) -> None:
        """Advance the clock, and with it the timestamp of the pending block."""
        if seconds < 0:
            raise ValueError("the clock cannot move backwards: use a rollback")
        self._node.increase_time(seconds)

    def step(self) -> None:
        """Pre-confirm submitted transactions: they are then in the pending block. The clock does not move."""
        self._node.step()

    def mine(self, blocks: int = 1) -> None:
        """Seal the pending block with submitted transactions, and `blocks` - 1 more.

        The clock moves to the time of the last block.
        """
        self._node.mine(blocks)

    def fund(self, address: str | TestAccount, ether: float) -> None:
        """Set the balance of an account. Raise ValueError for an invalid address or balance."""
        wei = round(ether * 10**18)
        self._node.set_balance(bytes.fromhex(str(address).removeprefix("0x")), wei.to_bytes(32, "big"))

    def snapshot(self) -> int:
        """Record chain, pool and clock; `revert` restores them once."""
        return self._node.snapshot()

    def revert(self, snapshot: int) -> None:
        """Revert everything since a snapshot. Raise ValueError if it no longer exists."""
        if not self._node.revert(snapshot):
            raise ValueError(f"unknown snapshot {snapshot}: each can be reverted once")

    @contextlib.contextmanager
    def rollback(self) -> Iterator[Self]:
        """Return a context that reverts everything done in it at its end, including `automine`."""
        snapshot, automine = self.snapshot(), self.automine
        try:
            yield self
        finally:
            self.automine = automine
            self.revert(snapshot)


def _plain(value: Any) -> Any:
    """Convert non-JSON parameters of clients: bytes, accounts and mappings."""
    if isinstance(value, bytes | bytearray):
        return "0x" + value.hex()
    if isinstance(value, TestAccount):
        return value.address
    try:
        return dict(value)
    except (TypeError, ValueError):
        raise TypeError(f"{type(value).__name__} cannot be a JSON-RPC parameter") from None
