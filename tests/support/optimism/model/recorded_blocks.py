"""Recorded chains of shared/vectors/optimism: blocks, receipts and balances, with the encodings of transactions."""

import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

CHAINS = ("jovian", "karst", "karst-reorg")


class RecordedBlock(NamedTuple):
    """One block of an expectation file. `transactions` are encodings, the dictionaries are JSON-RPC objects."""

    block: dict[str, Any]
    receipts: list[dict[str, Any]]
    raw_header: bytes
    raw_receipts: list[bytes]
    balances: dict[str, int]
    transactions: list[bytes]


def unhex(text: str) -> bytes:
    """Return the bytes of 0x hex."""
    return bytes.fromhex(text.removeprefix("0x"))


@cache
def recorded_blocks(folder: Path, name: str) -> list[RecordedBlock]:
    """Return the blocks of one chain from the genesis on."""
    transactions = _payload_transactions(folder, name)
    blocks = []
    for each in json.loads(b"".join(_decompress(folder / f"expect-{name}.json.zst")))["blocks"]:
        number = int(each["block"]["number"], 16)
        blocks.append(
            RecordedBlock(
                block=each["block"],
                receipts=each["receipts"],
                raw_header=unhex(each["rawHeader"]),
                raw_receipts=[unhex(raw) for raw in each["rawReceipts"]],
                balances={address: int(wei, 16) for address, wei in each["balances"].items()},
                transactions=transactions[each["block"]["hash"]] if number else [],
            )
        )
    return blocks


def _payload_transactions(folder: Path, name: str) -> dict[str, list[bytes]]:
    found = {}
    for line in _decompress(folder / f"verifier-{name}.jsonl.zst"):
        request = json.loads(line)["request"]
        if request["method"] == "engine_newPayloadV4":
            payload = request["params"][0]
            found[payload["blockHash"]] = [unhex(raw) for raw in payload["transactions"]]
    return found


def _decompress(file: Path) -> Iterator[bytes]:
    with file.open("rb") as compressed:
        yield from io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(compressed))
