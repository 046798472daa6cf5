"""Nodes that a program can restart: same port, same chain."""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from differential.anvil import AnvilProcess
from libraries.chains import Chain, anvil_arguments, node_arguments
from live.process import LiveNode, Served, foreseal_command

_POLL_SECONDS = 0.05


@contextlib.contextmanager
def restartable(mode: str, *, is_control: bool) -> Iterator[Chain]:
    """Run a node with a data directory, or anvil with a file of its state; restart it on request."""
    with tempfile.TemporaryDirectory(prefix="restart-") as folder, contextlib.ExitStack() as stack:

        def start(port: int) -> Served:
            if is_control:
                return AnvilProcess([*anvil_arguments(mode), "--port", str(port), "--state", f"{folder}/state.json"])
            options = ["--port", str(port), "--datadir", f"{folder}/chain", *node_arguments(mode)]
            return LiveNode([foreseal_command(), "dev", *options])

        running = _Restarts(start, Path(folder) / "restart")
        stack.callback(running.end)
        yield Chain(running.node.url, running.file)


class _Restarts:
    """A process, and the thread that restarts it."""

    def __init__(self, start: Callable[[int], Served], file: Path) -> None:
        self.node, self.file = start(0), file
        self._start, self._ended = start, threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self.node.kill()

    def _serve(self) -> None:
        while not self._ended.wait(_POLL_SECONDS):
            if self.file.exists():
                self.node.stop()
                self.node = self._start(int(self.node.url.rpartition(":")[2]))
                self.file.unlink()
