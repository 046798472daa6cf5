"""Genesis of test chains: OP chains, with short contracts at the predeploys that their rules use, and plain chains."""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from eth_utils.hexadecimal import encode_hex

from foreseal.cli.genesis import build_genesis
from live import DEV_ACCOUNTS
from live.sending import CHAIN_ID
from optimism.predeploys import DEPOSITOR, L1_BLOCK, MESSAGE_PASSER, SEQUENCER_FEE_VAULT

GENESIS_TIME = 1_800_000_000
GAS_LIMIT = 60_000_000
ELASTICITY, DENOMINATOR, CANYON_DENOMINATOR = 6, 50, 250
"""EIP-1559 parameters of OP Mainnet."""

# Stores the arguments of the L1 attributes call (Jovian, 178 bytes) in the slots of L1Block.sol. The arguments follow
# the selector in packed form, so most words need no other change than a shift.
_STORE_L1_ATTRIBUTES = bytes.fromhex(
    # Revert unless the caller is the sender of L1 attributes.
    "3373" + DEPOSITOR.hex() + "14601d575f5ffd5b"
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

_CODE = {L1_BLOCK: _STORE_L1_ATTRIBUTES, MESSAGE_PASSER: _STORE_MESSAGE}

# Forks of the OP stack that are active at genesis, in addition to Karst.
_FORKS = ("regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus", "jovian")
_FUNDED = [(account.address, 10**24) for account in DEV_ACCOUNTS]


class Fork(StrEnum):
    """Newest fork of an OP chain."""

    JOVIAN = "jovian"
    KARST = "karst"

    @property
    def get_payload(self) -> str:
        """Method of the Engine API that returns payloads of this fork."""
        return "engine_getPayloadV5" if self is Fork.KARST else "engine_getPayloadV4"


def op_genesis(fork: Fork = Fork.JOVIAN, funded: Iterable[tuple[str, int]] = _FUNDED) -> dict[str, Any]:
    """Return the genesis of an OP chain in geth's format.

    `funded` are addresses and their balances in wei, by default those of the development accounts.
    """
    # A plain genesis has the contracts of EIP-2935 and EIP-4788, and the forks of Ethereum.
    genesis = build_genesis(CHAIN_ID, funded)
    config = genesis["config"]
    # An OP chain has neither blobs nor the forks that only change their parameters.
    for name in [each for each in config if each in ("blobSchedule", "osakaTime") or each.startswith("bpo")]:
        del config[name]
    config |= {f"{name}Time": 0 for name in _FORKS} | {"bedrockBlock": 0}
    config["optimism"] = {
        "eip1559Elasticity": ELASTICITY,
        "eip1559Denominator": DENOMINATOR,
        "eip1559DenominatorCanyon": CANYON_DENOMINATOR,
    }
    if fork is Fork.KARST:
        config |= {"karstTime": 0, "osakaTime": 0}
    for address, code in _CODE.items():
        genesis["alloc"].setdefault(encode_hex(address), {"balance": "0x0"})["code"] = encode_hex(code)
    return genesis | {
        "timestamp": hex(GENESIS_TIME),
        # Version 1, denominator, elasticity and minimum base fee (Jovian).
        "extraData": encode_hex(b"\x01" + CANYON_DENOMINATOR.to_bytes(4) + ELASTICITY.to_bytes(4) + bytes(8)),
        "gasLimit": hex(GAS_LIMIT),
        "coinbase": encode_hex(SEQUENCER_FEE_VAULT),
        "baseFeePerGas": hex(10**9),
    }


def plain_genesis() -> dict[str, Any]:
    """Return the genesis of a chain without a rollup, with the newest rules of Ethereum and the same accounts."""
    return build_genesis(CHAIN_ID, _FUNDED)


def genesis_bytes(genesis: dict[str, Any]) -> bytes:
    """Return the content of a genesis file."""
    return json.dumps(genesis).encode()
