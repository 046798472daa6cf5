"""Small genesis files: an OP chain without the code of its predeploys, and a plain chain."""

from typing import Any

import orjson

from foreseal._core import newest_genesis
from live import DEV_ACCOUNTS

CHAIN_ID = 42069
TIME = 1_700_000_000
L1_BLOCK = "0x4200000000000000000000000000000000000015"
MESSAGE_PASSER = "0x4200000000000000000000000000000000000016"

_FORKS = ("regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian")


def small_genesis() -> dict[str, Any]:
    """Return the genesis of a Jovian chain: predeploys without code, and funded development accounts."""
    genesis = plain_genesis()
    config = genesis["config"]
    # Osaka belongs to Karst; the other times are those of L1.
    for name in ("osakaTime", "bpo1Time", "bpo2Time", "blobSchedule"):
        config.pop(name)
    config |= {f"{fork}Time": 0 for fork in _FORKS} | {"bedrockBlock": 0}
    config["optimism"] = {"eip1559Elasticity": 6, "eip1559Denominator": 50, "eip1559DenominatorCanyon": 250}
    genesis["alloc"] |= {address: {"balance": "0x0"} for address in (L1_BLOCK, MESSAGE_PASSER)}
    return genesis | {"extraData": "0x01000000fa000000060000000000000000", "gasLimit": hex(30_000_000)}


def plain_genesis() -> dict[str, Any]:
    """Return the genesis of a chain with the newest rules of L1, and funded development accounts."""
    genesis: dict[str, Any] = orjson.loads(newest_genesis(CHAIN_ID))
    funded = {account.address: {"balance": hex(10**21)} for account in DEV_ACCOUNTS}
    genesis["alloc"] |= funded
    return genesis | {"timestamp": hex(TIME), "baseFeePerGas": hex(10**9)}
