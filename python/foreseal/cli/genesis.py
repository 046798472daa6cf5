"""`foreseal genesis`: a genesis file for a new chain."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import orjson

from foreseal._core import genesis_hash, newest_genesis
from foreseal.cli.genesis_alloc import read_genesis_alloc
from foreseal.cli.optimism_genesis import different_fields, optimism_genesis
from foreseal.cli.options import FILE, ParsedValue
from foreseal.cli.rollup_config import RollupConfigError, read_rollup_config
from foreseal.server.settings import TABLE
from foreseal.server.settings.kinds import HexBytes
from foreseal.server.settings.model import WEI

_ADDRESS = HexBytes(20, exact=True)
_ETHER, _CHAIN_ID = TABLE["dev.balance"], TABLE["dev.chain_id"]


def parse_funded(text: str) -> tuple[str, int]:
    """Return address and wei of ADDRESS=ETHER. Raise ValueError."""
    address, _, ether = text.partition("=")
    if not ether:
        raise ValueError(f"{text!r} must have the form ADDRESS=ETHER, such as 0xf39F...2266=1000")
    return _ADDRESS.parse(address), int(_ETHER.check(_ETHER.kind.parse(ether))) * WEI


def parse_chain_id(text: str) -> int:
    """Return a chain ID, at least 1. Raise ValueError."""
    return int(_CHAIN_ID.check(_CHAIN_ID.kind.parse(text)))


def build_genesis(chain_id: int, funded: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """Return a genesis in geth's format with the newest rules and these balances in wei."""
    genesis: dict[str, Any] = orjson.loads(newest_genesis(chain_id))
    for address, wei in funded:
        genesis["alloc"].setdefault(address.lower(), {})["balance"] = hex(wei)
    return genesis


@click.command("genesis")
@click.option("--chain-id", type=ParsedValue("N", parse_chain_id), help="Chain id, unique to this chain.")
@click.option(
    "--fund",
    "funded",
    type=ParsedValue("ADDRESS=ETHER", parse_funded),
    multiple=True,
    help="Account and its initial balance in ether; repeatable.",
)
@click.option(
    "--optimism",
    "rollup",
    type=FILE,
    metavar="ROLLUP.json",
    help="Rollup configuration of op-node: print the genesis of its chain instead.",
)
@click.option("--alloc", type=FILE, help="With --optimism: genesis or state dump with the accounts of the predeploys.")
def genesis_command(
    chain_id: int | None, funded: tuple[tuple[str, int], ...], rollup: Path | None, alloc: Path | None
) -> None:
    """Print a genesis file in geth's format, for `foreseal run --genesis`.

    It contains the newest mainnet rules from block 0, their system contracts, and the accounts funded by --fund. Edit
    it before the first start; it cannot change afterwards.

    With --optimism, it is the genesis of an OP chain, whose hash is that of the rollup configuration.
    """
    if rollup is not None:
        if chain_id is not None or funded:
            raise click.UsageError("--optimism: the chain id comes from the file and the accounts from --alloc")
        genesis = _optimism_genesis(rollup, alloc)
    else:
        if alloc is not None:
            raise click.UsageError("--alloc requires --optimism; --fund adds accounts to other chains")
        if chain_id is None:
            raise click.UsageError("Missing option '--chain-id'.")
        if len({address.lower() for address, _ in funded}) < len(funded):
            raise click.UsageError("--fund: each address may occur only once")
        genesis = build_genesis(chain_id, funded)
    click.echo(orjson.dumps(genesis, option=orjson.OPT_INDENT_2))


def _optimism_genesis(rollup: Path, alloc: Path | None) -> dict[str, Any]:
    """Return the genesis of an OP chain. Raise a usage error if its hash is not that of the rollup configuration."""
    try:
        config = read_rollup_config(rollup)
    except (RollupConfigError, OSError) as error:
        raise click.UsageError(f"--optimism: {rollup}: {error}") from None
    if alloc is None:
        raise click.UsageError(
            "--optimism requires --alloc: the accounts of the predeploys come from op-deployer, "
            f"by `op-deployer inspect genesis {config.chain_id}`"
        )
    try:
        accounts = read_genesis_alloc(alloc)
        genesis = optimism_genesis(config, accounts)
        digest = genesis_hash(orjson.dumps(genesis).decode())
    except (ValueError, OSError) as error:
        raise click.UsageError(f"--alloc: {alloc}: {error}") from None
    if digest != config.genesis_hash:
        reasons = different_fields(genesis, accounts.header) or ["the accounts are not those of this chain"]
        raise click.UsageError(
            f"--alloc: {alloc}: the genesis has the hash {digest}, but genesis.l2.hash of {rollup} is "
            f"{config.genesis_hash}: {'; '.join(reasons)}"
        )
    return genesis
