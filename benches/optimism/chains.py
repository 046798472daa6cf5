"""Chains of the measurements: nodes under a driver, with funded accounts whose transfers are signed ahead."""

import itertools
from dataclasses import dataclass
from pathlib import Path

import orjson

from optimism import Driver, Fork, OptimismNode, PlainDriver, op_genesis
from transfer_accounts import ACCOUNTS, TransferAccount, funded_balances, funded_genesis, transfer_accounts

GAS_LIMIT = 400_000_000
"""Gas limit of every block, that of a new chain without a rollup."""


@dataclass
class DrivenChain:
    """A node, its driver, and accounts with the next nonces of its chain."""

    name: str
    node: OptimismNode
    driver: Driver
    accounts: list[TransferAccount]

    def transfers(self, count: int) -> list[str]:
        """Return this many signed transfers, the next ones of each account in rotation."""
        used = self.accounts[: min(count, ACCOUNTS)]
        for account in used:
            account.sign(-(-count // len(used)))
        return [account.pop().raw for account in itertools.islice(itertools.cycle(used), count)]

    def stop(self) -> None:
        """Stop the node. Raise AssertionError if its exit code is not 0."""
        assert self.node.stop() == 0, self.node.printed[-3000:]


def start_optimism(folder: Path, name: str, *arguments: str) -> DrivenChain:
    """Start a node of an OP chain (Karst) under a driver; `name` is that of its folder in `folder`."""
    node = OptimismNode(folder / name, op_genesis(Fork.KARST, funded_balances()), *arguments)
    driver = Driver(node.engine, Fork.KARST, gas_limit=GAS_LIMIT)
    driver.start()
    return DrivenChain(name, node, driver, transfer_accounts())


def start_plain(folder: Path, name: str, *arguments: str) -> DrivenChain:
    """Start a node of a chain without a rollup, with the same accounts and driver and the rules of Osaka."""
    node = OptimismNode(folder / name, orjson.loads(funded_genesis()), *arguments)
    driver = PlainDriver(node.engine, Fork.KARST)
    driver.start()
    return DrivenChain(name, node, driver, transfer_accounts())
