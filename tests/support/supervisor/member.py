"""A process of a node with a double of the core: `foreseal.supervisor.process` without a chain.

Events are written to `log` in the data directory, one line each. Files in the directory control a process.
`refuse-sequencer` and `refuse-worker` contain a kind and a message with which it fails to start. While `replaying`
exists, the sequencer is not ready; while `broken` exists, workers do not follow. `wedged` blocks the sequencer's
writing thread, `hangs-sequencer` and `hangs-worker` the end of a process, and `held` slow calls. Each heartbeat makes
the file `beats` longer.
"""

import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

from foreseal.errors import NodeError, RpcError
from foreseal.supervisor.process import main
from wedge import lock_up

from fake_core import FakeNode

# Seconds of a slow call.
SLOW = 0.3


class Member(FakeNode):
    """A sequencer that listens on the feed's socket, or a worker that is ready while it can connect there."""

    def __init__(self, settings: bytes) -> None:
        super().__init__(settings)
        self._folder = Path(self.settings["datadir"])
        self._feed: str | None = self.settings.get("feed")
        self._follow: str | None = self.settings.get("follow")
        self._kind = "sequencer" if self._feed else "worker"
        self._listening: socket.socket | None = None
        self.hold = True
        refusal = self._folder / f"refuse-{self._kind}"
        if refusal.exists():
            kind, _, message = refusal.read_text().partition(" ")
            raise NodeError(kind, message)

    def start(self) -> None:
        if self._feed:
            Path(self._feed).unlink(missing_ok=True)
            self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listening.bind(self._feed)
            self._listening.listen()
        self._log("start")

    def stop(self) -> None:
        self._log("stop")
        if (self._folder / f"hangs-{self._kind}").exists():
            threading.Event().wait()

    def liveness(self) -> tuple[str, int, int | None, bool, int | None]:
        with (self._folder / "beats").open("a") as beats:
            beats.write(".")
        if self._feed is None:
            return "following", time.monotonic_ns(), 10_000, False, None
        if (self._folder / "replaying").exists():
            return "replaying", 0, None, False, None
        return "producing", 0 if (self._folder / "wedged").exists() else time.monotonic_ns(), 200, False, None

    def ready(self) -> tuple[bool, str]:
        if self._follow is None:
            return (False, "replaying") if (self._folder / "replaying").exists() else (True, "")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            is_reachable = line.connect_ex(self._follow) == 0
        return (True, "") if is_reachable else (False, "the sequencer is not reachable")

    def health(self) -> tuple[bool, str]:
        return self.ready() if self._follow else (True, "")

    def status(self) -> bytes:
        broken = self._follow and (self._folder / "broken").exists()
        return b'{"phase":"failed","reason":"a frame that nobody knows"}' if broken else super().status()

    def answer(self, method: str, params: bytes, ticket: int, block: int) -> bytes | None:
        if method == "wedge":
            lock_up()
        if method == "pid":
            return b"%d" % os.getpid()
        if method == "sends" and not self.ready()[0]:
            message = "the sequencer is not reachable: no transactions are accepted until it is back"
            raise RpcError(-32002, message, None)
        result = super().answer(method, params, ticket, block)
        if result is None:
            threading.Thread(target=self._answer_later, daemon=True).start()
        return result

    def _answer_later(self) -> None:
        """Answer a slow call, at the earliest once the file `held` does not exist."""
        time.sleep(SLOW)
        while (self._folder / "held").exists():
            time.sleep(0.01)
        self.release(1)

    def _log(self, what: str) -> None:
        name: Any = self.settings.get("name", self._kind)
        with (self._folder / "log").open("a") as log:
            log.write(f"{name} {os.getpid()} {what}\n")


if __name__ == "__main__":
    main(Member)
