"""The oracle: the journal's contents and the node's single responses, without feed and client library."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from foreseal.client import Cursor
from live import Rpc
from live.process import foreseal_command
from readers.reader import ReceivedStep, digest

_BLOCKS_AT_ONCE = 20


class Journalled(NamedTuple):
    """A step of the journal."""

    cursor: Cursor
    previous: str
    transactions: tuple[str, ...]


def steps_in(datadir: Path) -> Iterator[Journalled]:
    """Yield all steps in the journal of a data directory, in the order of writing, including reorged ones."""
    command = [foreseal_command(), "journal", "show", str(datadir)]
    for line in subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines():
        for record in orjson.loads(line)["records"]:
            if record["kind"] in ("step", "override"):
                cursor = Cursor(record["number"], record["index"], record["hash"])
                yield Journalled(cursor, record["previous"], tuple(record["transactions"]))


def chain_in(datadir: Path, begin: Cursor, end: Cursor) -> list[Journalled]:
    """Return the steps from `begin` (excluded) to `end`, linked by their hashes."""
    by_hash = {step.cursor.hash: step for step in steps_in(datadir)}
    steps: list[Journalled] = []
    hash = end.hash
    while hash != begin.hash:
        steps.append(by_hash[hash])
        hash = by_hash[hash].previous
    return steps[::-1]


def written_in(datadir: Path, end: Cursor) -> list[Journalled]:
    """Return all steps in the order of writing, up to `end`."""
    steps = []
    for step in steps_in(datadir):
        steps.append(step)
        if step.cursor == end:
            break
    return steps


def compare_with_journal(name: str, chain: list[ReceivedStep], journal: list[Journalled]) -> list[str]:
    """Return the differences between a reader's steps and those of the journal."""
    faults = []
    if len(chain) != len(journal):
        faults.append(f"{name}: {len(chain)} steps, the journal has {len(journal)}")
    for received, written in zip(chain, journal, strict=False):
        if Journalled(received.cursor, received.parent, tuple(hash for hash, _ in received.transactions)) != written:
            faults.append(f"{name}: {received.cursor} is not {written.cursor} of the journal")
            break
    return faults


class Blocks:
    """Transactions of sealed blocks and digests of their logs, by RPC."""

    def __init__(self, rpc: Rpc, first: int, last: int) -> None:
        self.transactions: dict[int, list[tuple[str, bytes]]] = {}
        self.hashes: dict[int, str] = {}
        for begin in range(first, last + 1, _BLOCKS_AT_ONCE):
            numbers = range(begin, min(begin + _BLOCKS_AT_ONCE, last + 1))
            blocks = rpc.batch(*(("eth_getBlockByNumber", hex(each), False) for each in numbers))
            receipts = rpc.batch(*(("eth_getBlockReceipts", hex(each)) for each in numbers))
            for number, block, of_block in zip(numbers, blocks, receipts, strict=True):
                assert int(block["number"], 16) == number
                self.hashes[number] = block["hash"]
                self.transactions[number] = [(each["transactionHash"], digest(_logs(each))) for each in of_block]


def _logs(receipt: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(int(log["logIndex"], 16), log["address"], log["topics"], log["data"]) for log in receipt["logs"]]


def compare_with_blocks(name: str, chain: list[ReceivedStep], blocks: Blocks) -> list[str]:
    """Return the differences between a reader's complete blocks and those of the node."""
    transactions: dict[int, list[tuple[str, bytes]]] = {}
    last: dict[int, str] = {}
    for step in chain:
        # Start of a block that the reader saw completely.
        if step.cursor.index == 0:
            transactions[step.cursor.block] = []
        if step.cursor.block in transactions:
            transactions[step.cursor.block] += step.transactions
            last[step.cursor.block] = step.cursor.hash
    return [
        f"{name}: block {number} is not what the node answers"
        for number, expected in blocks.transactions.items()
        if transactions.get(number) != expected or last[number] != blocks.hashes[number]
    ]
