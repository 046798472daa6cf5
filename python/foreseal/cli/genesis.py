"""`foreseal genesis`: a genesis file for a new chain."""

from collections.abc import Iterable
from typing import Any

import click
import orjson

from foreseal._core import newest_genesis
from foreseal.cli.options import ParsedValue
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
@click.option(
    "--chain-id", type=ParsedValue("N", parse_chain_id), required=True, help="Chain id, unique to this chain."
)
@click.option(
    "--fund",
    "funded",
    type=ParsedValue("ADDRESS=ETHER", parse_funded),
    multiple=True,
    help="Account and its initial balance in ether; repeatable.",
)
def genesis_command(chain_id: int, funded: tuple[tuple[str, int], ...]) -> None:
    """Print a genesis file in geth's format, for `foreseal run --genesis`.

    It contains the newest mainnet rules from block 0, their system contracts, and the accounts funded by --fund. Edit
    it before the first start; it cannot change afterwards.
    """
    if len({address.lower() for address, _ in funded}) < len(funded):
        raise click.UsageError("--fund: each address may occur only once")
    click.echo(orjson.dumps(build_genesis(chain_id, funded), option=orjson.OPT_INDENT_2))
