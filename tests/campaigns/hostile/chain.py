"""A chain for hostile and honest clients: its genesis, its data directory, its nodes and its contents."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from foreseal.ports import next_free_port
from hostile import bytecode
from hostile.build import Build
from hostile.chain_data import GENERATORS
from hostile.facts import (
    BALANCE,
    HOSTILE_ACCOUNTS,
    LOGGER,
    OBSERVED_ACCOUNTS,
    RICH,
    STORED_SLOTS,
    STORING,
    TRACED,
    Facts,
)
from hostile.signing import CHAIN_ID, Account, accounts
from live.blocks import wait_for
from live.process import LiveNode
from live.rpc import Rpc

_LOGGING_CALLS, _LOGGING_GAS = 10, 600_000
_TRACED_GAS = 12_000_000
_SEAL_TIME = 60.0


class Chain:
    """A new chain in a folder."""

    def __init__(self, build: Build, folder: Path, alloc: Mapping[str, Any] | None = None) -> None:
        """Write its genesis; `alloc` has additional accounts."""
        self._alloc = dict(alloc or {})
        self.build = build
        self.folder = folder
        self.datadir = folder / "data"
        self.genesis = folder / "genesis.json"
        self.facts = Facts()
        self.setup = Account("setup-0")
        self.launch: Callable[[Sequence[str]], Sequence[str]] = list
        """Returns the command that runs a command, such as within a limit of memory."""
        self._nonce = 0
        self.genesis.write_bytes(orjson.dumps(self._genesis()))

    def _genesis(self) -> dict[str, Any]:
        made = self.build.run("genesis", "--chain-id", CHAIN_ID, "--fund", f"{self.setup.address}=1000000")
        if made.returncode:
            raise RuntimeError(f"foreseal genesis failed: {made.stderr}")
        genesis: dict[str, Any] = json.loads(made.stdout)
        alloc = genesis["alloc"]
        observed = ("public", "keyed", "public-waiting", "keyed-waiting")
        for role, count in (*((name, OBSERVED_ACCOUNTS) for name in observed), ("hostile", HOSTILE_ACCOUNTS)):
            for account in accounts(role, count):
                alloc[account.address] = {"balance": hex(BALANCE)}
        alloc[RICH] = {"balance": hex(BALANCE)}
        for address, code in ((LOGGER, bytecode.LOGGER), (TRACED, bytecode.TRACED)):
            alloc["0x" + address.hex()] = {"balance": "0x0", "code": "0x" + code.hex()}
        for generator in GENERATORS.values():
            if generator.code:
                alloc["0x" + generator.address.hex()] = generator.genesis_account(BALANCE)
        slots = {f"0x{slot:064x}": f"0x{slot + 1:064x}" for slot in range(STORED_SLOTS)}
        alloc["0x" + STORING.hex()] = {"balance": "0x0", "code": "0x00", "storage": slots}
        alloc |= self._alloc
        return genesis

    def create_key(self, name: str, *options: str) -> str:
        """Create an API key; the data directory must exist."""
        made = self.build.run("keys", "create", name, "--datadir", self.datadir, *options)
        if made.returncode:
            raise RuntimeError(f"foreseal keys create failed: {made.stderr}")
        key = made.stdout.strip()
        self.facts.keys.append(key)
        return key

    def arguments(self, *options: str, port: int = 0) -> list[str]:
        """Return the command that runs a node on the chain."""
        own = ["--datadir", str(self.datadir), "--port", str(port)]
        if not (self.datadir / "genesis.json").exists():
            own += ["--genesis", str(self.genesis)]
        return [str(self.build.executable), "run", *own, *options]

    def start(self, *options: str, port: int | None = None) -> LiveNode:
        """Start a node, by default on a free port, and wait until it is ready. Raise `RuntimeError` if it exits."""
        node = LiveNode(self.launch(self.arguments(*options, port=port or next_free_port())))
        self.facts.port = int(node.url.rpartition(":")[2])
        return node

    def populate(self, rpc: Rpc) -> None:
        """Seal a block of logs and a transaction with millions of steps."""
        self.facts.cursor = rpc("foreseal_getFlashblocks")["cursor"]
        calls = [(LOGGER, _LOGGING_GAS)] * _LOGGING_CALLS
        receipts = self.send(rpc, *calls)
        self.facts.logged_block = receipts[-1]["blockNumber"]
        (traced,) = self.send(rpc, (TRACED, _TRACED_GAS))
        self.facts.traced_transaction, self.facts.traced_block = traced["transactionHash"], traced["blockNumber"]
        last = int(traced["blockNumber"], 16)
        wait_for(lambda: int(rpc("eth_blockNumber"), 16) >= last, _SEAL_TIME, "the sealed block")
        block = self.facts.logged_block
        self.facts.logs = len(rpc("eth_getLogs", {"fromBlock": block, "toBlock": block}))

    def send(self, rpc: Rpc, *calls: tuple[bytes, int]) -> list[dict[str, Any]]:
        """Send transactions of the setup account, each a target and its gas; return their receipts."""
        hashes = []
        for target, gas in calls:
            signed = self.setup.sign(self._nonce, to=target, gas=gas)
            self._nonce += 1
            hashes.append(rpc("eth_sendRawTransaction", signed.raw))
        return [
            wait_for(lambda digest=digest: rpc("eth_getTransactionReceipt", digest), _SEAL_TIME, "receipt")  # type: ignore[misc]
            for digest in hashes
        ]


def terminate(node: LiveNode, patience: float) -> tuple[int | None, float]:
    """Send SIGTERM; return the exit code, None if the node has not ended in time, and the seconds that it took."""
    begin = time.monotonic()
    node.process.terminate()
    try:
        code: int | None = node.process.wait(patience)
    except subprocess.TimeoutExpired:
        code = None
    return code, time.monotonic() - begin


def kill_quietly(node: LiveNode) -> None:
    """Kill a node in any state, with all processes that it started."""
    if node.process.poll() is None:
        node.kill()
    else:
        node.rpc.close()


def pause(seconds: float) -> None:
    """Wait: a campaign measures over time."""
    time.sleep(seconds)
