"""A thread that pages through the feed of a node, across its restarts, and maintains the chain by its messages."""

import time
from pathlib import Path
from typing import Any

from cluster.recording import ShownStep
from cluster.step_reader import read_step
from foreseal.client import Cursor
from foreseal.client.flashblock_parts import FlashblockAssembler
from live import wait_for
from live.polling import STARTING, PollingThread
from live.rpc import Rpc
from readers.journal import Journalled, chain_in

RETURNED_STATUSES = {"pooled", "queued", "preconfirmed"}
"""Statuses of a pool transaction whose step was withdrawn, until its next block is sealed."""
# Seconds.
_INTERVAL, _TIMEOUT, _CATCH_UP_TIME = 0.02, 5.0, 30.0
_PAGE_SIZE = "0x40"


class FeedChain:
    """Steps in the order in which a reader was shown them; a withdrawn step must be the newest one, as it was shown."""

    def __init__(self, genesis: str) -> None:
        """`genesis` is the hash of the genesis block."""
        self.chain: list[ShownStep] = []
        """Steps that were shown and not withdrawn."""
        self.shown: dict[str, ShownStep] = {}
        """Every step ever shown, by hash."""
        self.withdrawn = 0
        self.faults: list[str] = []
        self._genesis = genesis

    @property
    def tip(self) -> str:
        """Hash of the newest step, or that of genesis."""
        steps = self.chain
        return steps[-1].hash if steps else self._genesis

    def apply(self, step: ShownStep) -> None:
        """Add a step, or remove it if it was withdrawn; a contradiction is a fault."""
        if step.removed:
            self.withdrawn += 1
            if not self.chain or self.chain.pop().content != step.content:
                self.faults.append(f"{_text(step)} is withdrawn, and was not shown as the newest step")
            return
        if step.previous != self.tip:
            self.faults.append(f"{_text(step)} follows {step.previous}, not {self.tip}")
        index = self.chain[-1].index + 1 if self.chain and self.chain[-1].number == step.number else 0
        if step.index != index:
            self.faults.append(f"{_text(step)} should have index {index}")
        self.shown[step.hash] = step
        self.chain.append(step)

    def journalled(self, datadir: Path) -> list[Journalled]:
        """Return the steps in a journal that lead to the newest step."""
        end = self.chain[-1]
        return chain_in(datadir, Cursor(0, 0, self._genesis), Cursor(end.number, end.index, end.hash))


class FeedReader(PollingThread):
    """Pages of flashblocks from genesis on."""

    def __init__(self, url: str, genesis: str) -> None:
        """`genesis` is the hash of the genesis block. The URL must be the same after a restart."""
        super().__init__(Rpc(url, _TIMEOUT), _INTERVAL)
        self.feed = FeedChain(genesis)
        self._cursor: Any = {"block": "0x0", "index": "0x0", "hash": genesis}
        self._parts = FlashblockAssembler()
        # The cursor before a step of which parts are missing.
        self._before = self._cursor
        self.start()

    def wait_for_newest(self, rpc: Rpc) -> None:
        """Wait until the reader has the step that is the newest of a node."""

        def has_newest() -> bool:
            page = rpc("foreseal_getFlashblocks", None)
            return bool(self.feed.tip == page["cursor"]["hash"])

        wait_for(has_newest, _CATCH_UP_TIME, "newest step in the feed", lambda: f"{self.feed.chain[-2:]}")

    def poll(self) -> bool:
        """Apply one page; return True if it does not end with the newest step."""
        answer = self.rpc.http_call("foreseal_getFlashblocks", self._cursor, _PAGE_SIZE).json()
        if "error" in answer:
            if not self._parts.is_empty:
                # The step may have left the chain.
                self._parts.clear()
                self._cursor = self._before
            elif answer["error"]["code"] != STARTING:
                self.feed.faults.append(f"the feed from {self._cursor}: {answer['error']}")
            return False
        page = answer["result"]
        for message in page["flashblocks"]:
            step = self._parts.add(message)
            if step is not None:
                self.feed.apply(read_step("feed", time.monotonic(), step))
        self._cursor = page["cursor"]
        if not self._parts.is_empty:
            return True
        self._before = self._cursor
        if self._cursor["hash"] != self.feed.tip:
            self.feed.faults.append(f"the cursor is {self._cursor}, the newest step {self.feed.tip}")
        return not page["complete"]


def _text(step: ShownStep) -> str:
    return f"step {step.number}.{step.index} {step.hash[:12]}"
