"""A chain that moves only when it is told to."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from foreseal import _core
from foreseal.errors import RpcError
from foreseal.testing.accounts import TestAccount

# Methods after which an automining chain seals a block.
_SUBMISSIONS = frozenset({"eth_sendRawTransaction", "eth_sendTransaction"})
# A folder in memory, where there is one: syncing there costs nothing.
_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """What a test chain is made with. The same settings and calls make the same chain, hashes included."""

    accounts: int = 10
    """Funded accounts."""
    balance: int = 10_000
    """Ether of each."""
    chain_id: int = 31337
    mnemonic: str = "test test test test test test test test test test test junk"
    genesis: Path | None = None
    """Genesis file in geth's format, in place of the development genesis; then the accounts have what it gives them."""
    alloc: Mapping[str, Any] = field(default_factory=dict)
    """What the development genesis has beside the accounts: entries of the `alloc` of such a file, by address in lower
    case."""
    time: int = 1_735_689_600
    """Where the clock begins, seconds since 1970; 2025-01-01 00:00 UTC."""
    automine: bool = True
    """Whether every transaction that is sent gets a sealed block at once."""

    def derived(self) -> tuple[TestAccount, ...]:
        """The accounts, from the mnemonic."""
        return tuple(TestAccount(address, key) for address, key in _core.derive_accounts(self.mnemonic, self.accounts))

    def for_core(self, datadir: Path) -> bytes:
        """As `_core.SteppedNode` takes them, JSON."""
        chain: dict[str, Any] = {
            "kind": "dev",
            "chain_id": self.chain_id,
            "mnemonic": self.mnemonic,
            "accounts": self.accounts,
            "balance": hex(self.balance * 10**18),
            "alloc": self.alloc,
        }
        if self.genesis is not None:
            chain = {"kind": "file", "path": str(self.genesis)}
        given = {
            "datadir": str(datadir),
            "chain": chain,
            "block_time": 1000,
            "log": {"levels": "off"},
            "development": True,
        }
        return orjson.dumps(given)


class Chain:
    """A development node in this process, and its clock.

    Nothing happens by itself: `step` pre-confirms what was sent, `mine` seals, `advance` moves the clock. With
    `automine`, as by default, a transaction that was sent is in a sealed block when the sending call returns. Use it
    from one thread, as a context manager or with `close`.
    """

    def __init__(self, settings: ChainSettings | None = None) -> None:
        """Open a chain of its genesis block. Raises `NodeError`."""
        self.settings = settings or ChainSettings()
        self.automine = self.settings.automine
        """Whether a transaction that is sent is sealed at once; may be set at any time."""
        self.accounts = self.settings.derived()
        """The funded accounts."""
        where = _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else None
        with contextlib.ExitStack() as opening:
            folder = opening.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-", dir=where))
            self._node = _core.SteppedNode(self.settings.for_core(Path(folder)), self.settings.time)
            self._open = opening.pop_all()

    def close(self) -> None:
        """End the chain and remove what it kept. A second call does nothing."""
        self._node.stop()
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def rpc(self, method: str, *params: Any) -> Any:
        """The result of a JSON-RPC call. Raises `RpcError`, whose `data` is JSON bytes."""
        return orjson.loads(self.call(method, orjson.dumps(params, _plain, orjson.OPT_PASSTHROUGH_DATACLASS)))

    def call(self, method: str, params: bytes) -> bytes:
        """The result of a JSON-RPC call, both as JSON bytes. Raises `RpcError`."""
        answer = self._node.call(method, params)
        if self.automine and method in _SUBMISSIONS:
            self._node.seal()
        return answer

    def request(self, method: str, params: Any) -> dict[str, Any]:
        """The response object of a JSON-RPC call, as a client gets it: `result` or `error`."""
        try:
            return {"jsonrpc": "2.0", "id": 1, "result": self.rpc(method, *(params or ()))}
        except RpcError as error:
            failure = {"code": error.code, "message": error.message}
            if error.data is not None:
                failure["data"] = orjson.loads(error.data)
            return {"jsonrpc": "2.0", "id": 1, "error": failure}

    @property
    def time(self) -> int:
        """The clock, seconds since 1970."""
        return self._node.time()

    def advance(self, seconds: int) -> None:
        """Move the clock, and with it the timestamp of the pending block."""
        if seconds < 0:
            raise ValueError("the clock cannot go back: use a rollback")
        self._node.increase_time(seconds)

    def step(self) -> None:
        """Pre-confirm what was sent: it is in the pending block now. The clock does not move."""
        self._node.step()

    def mine(self, blocks: int = 1) -> None:
        """Seal the pending block with what was sent, and `blocks` - 1 more; the clock moves to the last one's time."""
        self._node.mine(blocks)

    def fund(self, address: str | TestAccount, ether: float) -> None:
        """Set the balance of an account. Raises ValueError for what is no address or no balance."""
        wei = round(ether * 10**18)
        self._node.set_balance(bytes.fromhex(str(address).removeprefix("0x")), wei.to_bytes(32, "big"))

    def snapshot(self) -> int:
        """Remember chain, pool and clock, to be taken back once with `revert`."""
        return self._node.snapshot()

    def revert(self, snapshot: int) -> None:
        """Take back everything since a snapshot. Raises ValueError for one that is not there any more."""
        if not self._node.revert(snapshot):
            raise ValueError(f"there is no snapshot {snapshot}: each can be taken back once")

    @contextlib.contextmanager
    def rollback(self) -> Iterator[Self]:
        """A context at whose end everything done in it is taken back, `automine` as well."""
        snapshot, automine = self.snapshot(), self.automine
        try:
            yield self
        finally:
            self.automine = automine
            self.revert(snapshot)


def _plain(value: Any) -> Any:
    """JSON of what clients put into parameters beside plain values: bytes, accounts and mappings."""
    if isinstance(value, bytes | bytearray):
        return "0x" + value.hex()
    if isinstance(value, TestAccount):
        return value.address
    try:
        return dict(value)
    except (TypeError, ValueError):
        raise TypeError(f"{type(value).__name__} cannot be a JSON-RPC parameter") from None
