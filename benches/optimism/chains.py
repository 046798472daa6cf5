"""Chains of the measurements: nodes under a driver, with funded accounts whose transfers are signed ahead."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from optimism import Driver, Fork, OptimismNode, PlainDriver, op_genesis
from transfer_accounts import ACCOUNTS, CHAIN_ID, TransferAccount, funded_genesis, transfer_accounts

GAS_LIMIT = 400_000_000
"""Gas limit of every block; that of new plain chains."""


def optimism_genesis() -> dict[str, Any]:
    """Return the genesis of an OP chain (Karst) that funds the accounts."""
    plain = orjson.loads(funded_genesis())
    funded = [(address, int(each["balance"], 16)) for address, each in plain["alloc"].items() if "code" not in each]
    return op_genesis(CHAIN_ID, funded, Fork.KARST)


def plain_genesis() -> dict[str, Any]:
    """Return the genesis of a chain without a rollup, with the same accounts and the rules of Osaka."""
    found: dict[str, Any] = orjson.loads(funded_genesis())
    return found


@dataclass
class DrivenChain:
    """A node, its driver, and accounts with the next nonces of its chain."""

    name: str
    node: OptimismNode
    driver: Driver
    accounts: list[TransferAccount]

    def transfers(self, count: int) -> list[str]:
        """Return this many signed transfers, the same number of each account as far as possible."""
        used = self.accounts[: min(count, ACCOUNTS)]
        turns = -(-count // len(used))
        for account in used:
            account.sign(turns)
        raw = [account.pop().raw for _ in range(turns - 1) for account in used]
        return raw + [account.pop().raw for account in used[: count - len(raw)]]

    def stop(self) -> None:
        """Stop the node. Raises AssertionError if it fails."""
        assert self.node.stop() == 0, self.node.printed[-3000:]


def start_optimism(folder: Path, name: str, *arguments: str) -> DrivenChain:
    """Start a node of an OP chain."""
    node = OptimismNode(folder / name, optimism_genesis(), *arguments)
    driver = Driver(node.engine, Fork.KARST, gas_limit=GAS_LIMIT)
    driver.start()
    return DrivenChain(name, node, driver, transfer_accounts())


def start_plain(folder: Path, name: str, *arguments: str) -> DrivenChain:
    """Start a node of a chain without a rollup, under the same driver."""
    node = OptimismNode(folder / name, plain_genesis(), *arguments)
    driver = PlainDriver(node.engine, Fork.KARST)
    driver.start()
    return DrivenChain(name, node, driver, transfer_accounts())
