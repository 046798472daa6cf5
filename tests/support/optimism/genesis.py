"""Genesis of an OP chain with small contracts at the predeploys that the rules of the chain read or write."""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from foreseal.cli.genesis import build_genesis

L1_ATTRIBUTES_CONTRACT = "0x4200000000000000000000000000000000000015"
MESSAGE_PASSER = "0x4200000000000000000000000000000000000016"
SEQUENCER_FEE_VAULT = "0x4200000000000000000000000000000000000011"
L1_ATTRIBUTES_SENDER = "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001"
GENESIS_TIME = 1_800_000_000
GAS_LIMIT = 60_000_000

# Stores the arguments of the L1 attributes call (Jovian, 178 bytes) in the slots of L1Block.sol. The arguments follow
# the selector in packed form, so most words need no other change than a shift.
_STORE_L1_ATTRIBUTES = bytes.fromhex(
    # Revert unless the caller is the sender of L1 attributes.
    "3373" + L1_ATTRIBUTES_SENDER[2:] + "14601d575f5ffd5b"
    # Slot 3, bytes 16 to 31: base fee scalar (4), blob base fee scalar (4), sequence number (8), from offset 4.
    "60043560801c600355"
    # Slot 0, bytes 16 to 31: timestamp (8) and number (8) of the L1 block, from offset 20.
    "60143560801c5f55"
    # Slots 1, 7, 2, 4: base fee, blob base fee, hash and batcher, words from offsets 36, 68, 100 and 132.
    "602435600155"
    "604435600755"
    "606435600255"
    "608435600455"
    # Slot 8, bytes 20 to 31: operator fee scalar (4) and constant (8), from offset 164; bytes 18 and 19: the footprint
    # scalar (2), from offset 176.
    "60a43560a01c"
    "60b03560f01c"
    "60601b17600855"
    "00"
)

# Counts its calls in slot 0 and stores the block number in the slot of the count, so that the storage root (the
# `withdrawalsRoot` of blocks) changes with every call.
_STORE_MESSAGE = bytes.fromhex("5f54600101805f5543905500")

_CODE = {L1_ATTRIBUTES_CONTRACT: _STORE_L1_ATTRIBUTES, MESSAGE_PASSER: _STORE_MESSAGE}

# Times at which forks are active that are newer than those of a plain genesis, in addition to the fork's own.
_FORKS = ("regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian")
_DENOMINATOR, _ELASTICITY = 250, 6


class Fork(StrEnum):
    """Newest fork of an OP chain."""

    JOVIAN = "jovian"
    KARST = "karst"


def op_genesis(
    chain_id: int, funded: Iterable[tuple[str, int]], fork: Fork = Fork.JOVIAN, timestamp: int = GENESIS_TIME
) -> dict[str, Any]:
    """Return a genesis in geth's format, with these addresses and their balances in wei."""
    # A plain genesis has the contracts of EIP-2935 and EIP-4788, and the forks of Ethereum.
    genesis = build_genesis(chain_id, funded)
    config = genesis["config"]
    # An OP chain has neither blobs nor the forks that only change their parameters.
    for name in [each for each in config if each in ("blobSchedule", "osakaTime") or each.startswith("bpo")]:
        del config[name]
    config |= {f"{name}Time": 0 for name in _FORKS} | {"bedrockBlock": 0}
    config["optimism"] = {
        "eip1559Elasticity": _ELASTICITY,
        "eip1559Denominator": 50,
        "eip1559DenominatorCanyon": _DENOMINATOR,
    }
    if fork is Fork.KARST:
        config |= {"karstTime": 0, "osakaTime": 0}
    for address, code in _CODE.items():
        genesis["alloc"].setdefault(address, {"balance": "0x0"})["code"] = "0x" + code.hex()
    return genesis | {
        "timestamp": hex(timestamp),
        # Version 1, denominator, elasticity and minimum base fee (Jovian).
        "extraData": "0x" + (b"\x01" + _DENOMINATOR.to_bytes(4) + _ELASTICITY.to_bytes(4) + bytes(8)).hex(),
        "gasLimit": hex(GAS_LIMIT),
        "coinbase": SEQUENCER_FEE_VAULT,
        "baseFeePerGas": hex(10**9),
    }


def genesis_bytes(genesis: dict[str, Any]) -> bytes:
    """Return the content of a genesis file."""
    return json.dumps(genesis).encode()
