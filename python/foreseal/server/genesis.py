"""The genesis of a new chain: one to begin with, and whether a chain can go on from it."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from foreseal.errors import NodeError
from foreseal.server.settings import Settings

STORED = "genesis.json"
"""Where a data directory keeps the genesis of its chain."""

# None of them gets anything.
_WORDS = "test test test test test test test test test test test junk"


def newest_genesis(chain_id: int, funded: Mapping[str, int]) -> dict[str, Any]:
    """A genesis in geth's format with the newest rules and their system contracts; `funded` is wei by address."""
    chain = {"kind": "dev", "chain_id": chain_id, "mnemonic": _WORDS, "accounts": 0, "balance": "0x0"}
    with tempfile.TemporaryDirectory(prefix="foreseal-") as folder:
        _begin({"datadir": folder, "chain": chain, "log": {"levels": "off"}}, 0)
        genesis: dict[str, Any] = orjson.loads((Path(folder) / STORED).read_bytes())
    for address, wei in funded.items():
        genesis["alloc"].setdefault(address.lower(), {})["balance"] = hex(wei)
    return genesis


def try_genesis(settings: Settings, now: float) -> None:
    """Make block 1 on the genesis that a new data directory is to begin with, in a folder of its own.

    `now` is in seconds since 1970. Raises `NodeError` if no block can follow it. Said by the first block itself that
    would be too late: the data directory would have that genesis for good.
    """
    datadir = settings.datadir
    if settings.genesis is None or not settings.produce or (datadir / STORED).exists():
        return
    try:
        datadir.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="trial-", dir=datadir) as folder:
            _begin(orjson.loads(settings.for_core()) | {"datadir": folder}, int(now))
    except OSError:
        # For the start itself to say.
        return
    except NodeError as error:
        # So is a disk that is full.
        if error.kind == "production" and not error.message.startswith("journal"):
            refused = f"genesis {settings.genesis}: no block can follow it: {error.message}"
            raise NodeError("genesis", f"{refused} (`foreseal genesis` prints one to begin with)") from None


def _begin(settings: dict[str, Any], now: int) -> None:
    """Begin a chain, in a folder that is new, with block 1."""
    # Imported where a node runs: who only starts processes of nodes does not load it.
    from foreseal._core import SteppedNode

    SteppedNode(orjson.dumps(settings | {"development": True}), now).stop()
