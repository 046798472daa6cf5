"""A thread that pages through the feed of a node, across its restarts, and maintains the chain by its messages."""

import http.client
import threading
import time
from typing import Any

from cluster.recording import ShownStep
from cluster.step_reader import read_step
from live.rpc import Rpc

_INTERVAL, _TIMEOUT = 0.02, 5.0
_PAGE_SIZE = "0x40"
# The node replays its journal.
_STARTING = -32002


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
        """Add a step, or remove it if it was withdrawn."""
        if step.removed:
            self.withdrawn += 1
            if not self.chain or self.chain.pop().content != step.content:
                self.faults.append(f"{_named(step)} is withdrawn, and was not shown as the newest step")
            return
        if step.previous != self.tip:
            self.faults.append(f"{_named(step)} follows {step.previous}, not {self.tip}")
        index = self.chain[-1].index + 1 if self.chain and self.chain[-1].number == step.number else 0
        if step.index != index:
            self.faults.append(f"{_named(step)} should have index {index}")
        self.shown[step.hash] = step
        self.chain.append(step)


class FeedReader(FeedChain):
    """Pages of flashblocks from genesis on."""

    def __init__(self, url: str, genesis: dict[str, str]) -> None:
        """`genesis` is the cursor of the genesis block. The URL must be the same after a restart."""
        super().__init__(genesis["hash"])
        self._cursor: Any = genesis
        self._rpc = Rpc(url, _TIMEOUT)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading."""
        self._stopped.set()
        self._thread.join(2 * _TIMEOUT)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                complete = self._read_page()
            except (OSError, http.client.HTTPException, ValueError):
                # Killed or not yet started: read again from the same cursor.
                complete = True
            if complete:
                self._stopped.wait(_INTERVAL)
        self._rpc.close()

    def _read_page(self) -> bool:
        """Apply one page. Return True if it ends with the newest step."""
        answer = self._rpc.http_call("foreseal_getFlashblocks", self._cursor, _PAGE_SIZE).json()
        if answer.get("error", {}).get("code") == _STARTING:
            return True
        if "error" in answer:
            self.faults.append(f"the feed from {self._cursor}: {answer['error']}")
            return True
        page = answer["result"]
        for message in page["flashblocks"]:
            self.apply(read_step("feed", time.monotonic(), message))
        self._cursor = page["cursor"]
        if self._cursor["hash"] != self.tip:
            self.faults.append(f"the cursor is {self._cursor}, the newest step {self.tip}")
        return bool(page["complete"])


def _named(step: ShownStep) -> str:
    return f"step {step.number}.{step.index} {step.hash[:12]}"
