"""Polls the feed of one process, and records each step that it shows."""

import re
import time
from dataclasses import replace
from typing import Any

from cluster.recording import Recording, ShownStep
from foreseal.client.flashblock_parts import FlashblockAssembler
from live.polling import PollingThread
from live.rpc import Rpc

_INTERVAL = 0.03
_TIMEOUT = 2.0
_PAGE_SIZE = "0x80"
_VIEW = "x-foreseal-view"
_EPOCH = re.compile(r"epoch=(\d+)")
_CURSOR_GONE = -32001


class StepReader(PollingThread):
    """A thread that reads pages of flashblocks, from genesis on."""

    def __init__(self, process: str, port: int, genesis: dict[str, str], recording: Recording) -> None:
        """`genesis` is the cursor of the genesis block."""
        super().__init__(Rpc(f"http://127.0.0.1:{port}", _TIMEOUT), _INTERVAL)
        self.process = process
        self.included: set[str] = set()
        """Hashes of the transactions in the steps of this process."""
        self.newest: ShownStep | None = None
        self._cursor: Any = genesis
        self._parts = FlashblockAssembler()
        # The cursor before a step of which parts are missing.
        self._before = self._cursor
        self._recording = recording
        self.start()

    def poll(self) -> bool:
        """Record one page; return True if it does not end with the newest step."""
        response = self.rpc.http_call("foreseal_getFlashblocks", self._cursor, _PAGE_SIZE)
        answer = response.json()
        at = time.monotonic()
        if "error" in answer:
            if not self._parts.is_empty:
                self._parts.clear()
                self._cursor = self._before
            self._handle_error(answer["error"])
            return False
        page = answer["result"]
        whole = (self._parts.add(message) for message in page["flashblocks"])
        steps = [read_step(self.process, at, message) for message in whole if message is not None]
        if steps and page["complete"]:
            steps[-1] = _with_epoch(steps[-1], response.headers.get(_VIEW, ""))
        self._recording.steps += steps
        for step in steps:
            self.included.update(step.transactions)
            self.newest = step
        self._cursor = page["cursor"]
        if self._parts.is_empty:
            self._before = self._cursor
        return not page["complete"]

    def _handle_error(self, error: dict[str, Any]) -> None:
        oldest = (error.get("data") or {}).get("oldest") if error["code"] == _CURSOR_GONE else None
        if oldest is not None:
            self._cursor = oldest


def read_step(process: str, at: float, message: dict[str, Any]) -> ShownStep:
    """Return the step of a feed message."""
    return ShownStep(
        process,
        at,
        int(message["number"], 16),
        int(message["index"], 16),
        message["hash"],
        message["parent"],
        message["signature"],
        int(message["time"], 16),
        tuple(each["hash"] for each in message["transactions"]),
        removed=bool(message.get("removed")),
    )


def _with_epoch(step: ShownStep, view: str) -> ShownStep:
    """Return the step with the owner epoch of the view `BLOCK.STEP; age=MS; epoch=N`, if that view ends with it."""
    match = _EPOCH.search(view)
    if match is None or view.partition(";")[0].strip() != f"{step.number}.{step.index}":
        return step
    return replace(step, epoch=int(match[1]))
