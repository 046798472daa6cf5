"""A node under random load with a kill in between, and offline verification of everything that it signed."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from eth_utils.crypto import keccak

from foreseal._core import journal_show
from foreseal.preconfirmation import PreconfirmationError, step_signer, verify_preconfirmation
from live import DEV_ACCOUNTS, LiveNode, wait_for
from live.process import command_with
from live.sending import CHAIN_ID
from traffic.wallet import Wallet

# Few blocks stay in memory, so that most receipts come from the store.
PRODUCTION = ("--block-time", "1s", "--step", "50ms")
VALUES = {"store.recent": 1}
SENDERS = 6
# Seconds until a round's transactions must be in steps.
INCLUDED = 60.0
QUANTITIES = ("chainId", "transactionIndex", "blockNumber", "flashblockIndex", "time")
SHORT = ("transactionHash", "hash", "previous", "signature", "signer")
LONG = ("header", "transaction")

Receipt = dict[str, Any]
Step = dict[str, Any]


@dataclass
class Summary:
    """Counts and results of the checks."""

    seed: int
    blocks: int = 0
    steps: int = 0
    """Signed steps of the run, including those that open blocks."""
    filled: int = 0
    """Steps with transactions."""
    receipts: int = 0
    unchanged: int = 0
    """Receipts equal to an earlier read from the pending block."""
    bits: Counter[str] = field(default_factory=Counter)
    """Flipped bits, one at a time, by field."""
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        bits = ", ".join(f"{name} {count:,}" for name, count in sorted(self.bits.items()))
        changes = sum(self.bits.values())
        return (
            f"seed {self.seed}: {self.blocks:,} blocks, one kill, {self.steps:,} signed steps "
            f"({self.filled:,} with transactions), {self.receipts:,} receipts verified, "
            f"{self.unchanged:,} of them the same from the pending block and at the end; "
            f"one bit changed {changes:,} times ({bits}); faults: {len(self.faults)}"
        )


class Campaign:
    """One data directory."""

    def __init__(self, datadir: Path, seed: int, *, every_bit: bool) -> None:
        """With `every_bit` each bit of a receipt is flipped; else one bit per byte in its long fields."""
        self.summary = Summary(seed)
        self._rng = random.Random(seed)
        self._every_bit = every_bit
        self._datadir = datadir
        self._command = [*command_with(VALUES), "dev", "--port", "0", *PRODUCTION, "--datadir", str(datadir)]
        self._wallets = [Wallet(account) for account in DEV_ACCOUNTS[:SENDERS]]
        self._sent: list[str] = []
        self._seen: dict[str, Receipt] = {}
        """Receipts at their first read."""

    def run(self, steps: int) -> Summary:
        """Fill this many steps, half of them before a kill; then verify everything signed."""
        node = LiveNode(self._command)
        try:
            signer = node.rpc("foreseal_status")["signer"]
            self._fill(node, steps // 2)
            node.kill()
            node = LiveNode(self._command)
            assert node.rpc("foreseal_status")["signer"] == signer
            self._fill(node, steps - steps // 2)
            journal = self._journal()
            receipts = [node.rpc("foreseal_preconfirmation", sent) for sent in self._sent]
            headers = {step["hash"]: self._header(node, step) for step in journal}
            assert node.stop() == 0
        finally:
            if node.process.poll() is None:
                node.kill()
        self._check(journal, headers, receipts, signer)
        return self.summary

    def _fill(self, node: LiveNode, steps: int) -> None:
        """Send a few random transactions, wait until they are in a step, and repeat."""
        nonces = {
            wallet.address: int(node.rpc("eth_getTransactionCount", wallet.address, "pending"), 16)
            for wallet in self._wallets
        }
        for _ in range(steps):
            round_ = []
            for _ in range(self._rng.randint(1, 8)):
                wallet = self._rng.choice(self._wallets)
                data = self._rng.randbytes(self._rng.choice((0, 0, 4, 68, 900)))
                to = b"" if self._rng.random() < 0.1 else self._rng.randbytes(20)
                signed = wallet.sign(nonces[wallet.address], to, data if to else b"", value=1)
                nonces[wallet.address] += 1
                round_.append(node.rpc("eth_sendRawTransaction", signed.raw))
            last = round_[-1]
            self._seen[last] = wait_for(partial(node.rpc, "foreseal_preconfirmation", last), INCLUDED, "step")
            self._sent += round_

    def _journal(self) -> list[Step]:
        """Return the steps of the journal's final chain; there was no reorg."""
        appends: list[dict[str, Any]] = []
        journal_show(self._datadir, lambda line: appends.append(orjson.loads(line)))
        records = [record for append in appends for record in append["records"]]
        assert {record["kind"] for record in records} <= {"open", "step", "seal"}
        return [record for record in records if record["kind"] == "step"]

    def _header(self, node: LiveNode, step: Step) -> bytes:
        place = {"blockNumber": hex(step["number"]), "flashblockIndex": hex(step["index"])}
        return bytes.fromhex(node.rpc("debug_getRawHeader", place)[2:])

    def _check(
        self, journal: list[Step], headers: dict[str, bytes], receipts: list[Receipt | None], signer: str
    ) -> None:
        summary = self.summary
        places: dict[str, Step] = {}
        for step in journal:
            summary.steps += 1
            summary.filled += bool(step["transactions"])
            places |= dict.fromkeys(step["transactions"], step)
            if "0x" + keccak(headers[step["hash"]]).hex() != step["hash"]:
                self._fault("header", step)
            self._check_step(step, signer)
        summary.blocks = journal[-1]["number"]
        shown: set[str] = set()
        for sent, receipt in zip(self._sent, receipts, strict=True):
            step = places[sent]
            if receipt is None or not self._fits(receipt, signer) or not self._is_of(receipt, step):
                self._fault("receipt", step)
                continue
            summary.receipts += 1
            if sent in self._seen:
                summary.unchanged += receipt == self._seen[sent]
                if receipt != self._seen[sent]:
                    self._fault("changed", receipt)
            # One receipt per step.
            if step["hash"] not in shown:
                shown.add(step["hash"])
                self._change(receipt, signer)

    def _check_step(self, step: Step, signer: str) -> None:
        """Check the signature alone: also of steps without transactions, and with each of its bits flipped."""
        message = {
            "number": hex(step["number"]),
            "index": hex(step["index"]),
            "hash": step["hash"],
            "parent": step["previous"],
            "time": hex(step["time"]),
            "signature": step["signature"],
        }
        if step_signer(message, CHAIN_ID) != signer:
            self._fault("step", step)
        for name in message:
            change = quantity_bits if name in ("number", "index", "time") else data_bits
            for changed in change(message[name]):
                self.summary.bits[f"step.{name}"] += 1
                if signs(message | {name: changed}) == signer:
                    self._fault(f"a bit of {name}", step)

    def _change(self, receipt: Receipt, signer: str) -> None:
        def refused(name: str, changed: Any) -> None:
            self.summary.bits[name] += 1
            if self._fits(receipt | {name: changed}, signer if name != "signer" else None):
                self._fault(f"a bit of {name}", receipt)

        for name in QUANTITIES:
            for changed in quantity_bits(receipt[name]):
                refused(name, changed)
        for name in SHORT:
            for changed in data_bits(receipt[name]):
                refused(name, changed)
        for name in LONG:
            for changed in data_bits(receipt[name], self._chosen):
                refused(name, changed)
        proof = receipt["proof"]
        for at, node in enumerate(proof):
            for changed in data_bits(node, self._chosen):
                refused("proof", [*proof[:at], changed, *proof[at + 1 :]])

    def _chosen(self) -> list[int]:
        return list(range(8)) if self._every_bit else [self._rng.randrange(8)]

    def _fits(self, receipt: Receipt, signer: str | None) -> bool:
        try:
            verify_preconfirmation(receipt, signer)
        except PreconfirmationError:
            return False
        return True

    def _is_of(self, receipt: Receipt, step: Step) -> bool:
        place = (int(receipt["blockNumber"], 16), int(receipt["flashblockIndex"], 16), int(receipt["time"], 16))
        names = ("hash", "previous", "signature")
        return place == (step["number"], step["index"], step["time"]) and all(
            receipt[name] == step[name] for name in names
        )

    def _fault(self, what: str, where: dict[str, Any]) -> None:
        self.summary.faults.append(f"{what}: {where}")


def signs(message: dict[str, Any]) -> str | None:
    """Return the signer of a message, if there is one."""
    try:
        return step_signer(message, CHAIN_ID)
    except PreconfirmationError:
        return None


def quantity_bits(text: str) -> Iterator[str]:
    """Yield a quantity with each of its 64 bits flipped."""
    for bit in range(64):
        yield hex(int(text, 16) ^ 1 << bit)


def every_bit() -> list[int]:
    """Return all bits of a byte."""
    return list(range(8))


def data_bits(text: str, chosen: Callable[[], list[int]] = every_bit) -> Iterator[str]:
    """Yield bytes with one bit flipped; `chosen` returns the bits per byte."""
    data = bytearray.fromhex(text[2:])
    for at in range(len(data)):
        for bit in chosen():
            data[at] ^= 1 << bit
            yield "0x" + data.hex()
            data[at] ^= 1 << bit


def timed(work: Callable[[], Summary]) -> tuple[Summary, float]:
    """Return a summary and its seconds."""
    begun = time.monotonic()
    return work(), time.monotonic() - begun
