"""Blocks, receipts and balances of the recorded chains, with the encodings of transactions."""

from functools import cache
from typing import Any, NamedTuple

import orjson
from eth_utils.hexadecimal import decode_hex

from optimism.recordings import decompress, recorded_chain, recordings


class RecordedBlock(NamedTuple):
    """A block of a recorded chain. `transactions` are encodings, the dictionaries are JSON-RPC objects."""

    block: dict[str, Any]
    receipts: list[dict[str, Any]]
    raw_header: bytes
    raw_receipts: list[bytes]
    balances: dict[str, int]
    """Balances in wei of fee vaults and L2ToL1MessagePasser after the block."""
    transactions: list[bytes]


@cache
def recorded_blocks(name: str) -> list[RecordedBlock]:
    """Return the blocks of one chain from genesis on; skip the test if there are no recordings."""
    transactions = _payload_transactions(name)
    blocks = []
    for each in recorded_chain(name)["blocks"]:
        number = int(each["block"]["number"], 16)
        blocks.append(
            RecordedBlock(
                block=each["block"],
                receipts=each["receipts"],
                raw_header=decode_hex(each["rawHeader"]),
                raw_receipts=[decode_hex(raw) for raw in each["rawReceipts"]],
                balances={address: int(wei, 16) for address, wei in each["balances"].items()},
                transactions=transactions[each["block"]["hash"]] if number else [],
            )
        )
    return blocks


def _payload_transactions(name: str) -> dict[str, list[bytes]]:
    """Return the transactions of every block that the recorded driver sent, by block hash."""
    transactions = {}
    for line in decompress(recordings() / f"verifier-{name}.jsonl.zst"):
        request = orjson.loads(line)["request"]
        if request["method"] == "engine_newPayloadV4":
            payload = request["params"][0]
            transactions[payload["blockHash"]] = [decode_hex(raw) for raw in payload["transactions"]]
    return transactions
