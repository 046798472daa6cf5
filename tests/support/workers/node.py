"""A live node with workers, and a connection to each of its processes."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from live import DEV_ACCOUNTS, LiveNode, Rpc, wait_for
from live.group import names_of, server_of
from live.process import FAST, command_with, foreseal_command
from live.sending import Sender

SECONDS = 30.0
_ADMIN = re.compile(r"admin listener at (\S+)")
# NUMBER, PUSH 0, MSTORE; LOG0 of that word; RETURN of that word.
_LOGS = bytes.fromhex("4360005260206000a060206000f3")
# Copies the code that follows to memory and returns it.
_CREATE = b"\x61%b\x80\x60\x0a\x5f\x39\x5f\xf3"


Wrap = Callable[[Sequence[str]], list[str]]


def make_chain(datadir: Path) -> str:
    """Make a chain with a development node; return its contract, which logs and returns the number of its block."""
    made = LiveNode([foreseal_command(), "dev", "--port", "0", *FAST, "--datadir", str(datadir)])
    try:
        sender = Sender(made.rpc, DEV_ACCOUNTS[-1])
        name = sender.send(to="", gas=200_000, data=_CREATE % len(_LOGS).to_bytes(2) + _LOGS)
        receipt = wait_for(lambda: made.rpc("eth_getTransactionReceipt", name), SECONDS, "receipt")
        return str(receipt["contractAddress"])
    finally:
        made.stop()


class WorkersNode:
    """`foreseal run --workers`, on the chain of a development node."""

    def __init__(
        self,
        datadir: Path,
        workers: int,
        *arguments: str,
        wrap: Wrap = list,
        values: Mapping[str, object] | None = None,
    ) -> None:
        """`wrap` makes the executed command from its arguments. `values`: see `command_with`."""
        self.workers = workers
        self.contract = self._make_chain(datadir)
        """Contract that logs and returns the number of its block."""
        common = ("--port", "0", *FAST, "--datadir", str(datadir))
        logged = ("--log-level", "warn,foreseal.supervisor=info")
        more = ("--workers", str(workers), "--admin", "127.0.0.1:0", *logged, *arguments)
        self.command = [*command_with(values), "run", *common, *more]
        self.live = LiveNode(wrap(self.command))
        match = wait_for(lambda: _ADMIN.search(self.live.printed), SECONDS, "admin URL")
        self.sequencer = Rpc(match[1])
        """The process that the workers follow, by its admin listener."""
        self._open: list[Rpc] = []

    @property
    def others(self) -> list[Rpc]:
        """Processes that show the same chain as the workers; the last one writes it."""
        return [self.sequencer]

    def _make_chain(self, datadir: Path) -> str:
        return make_chain(datadir)

    def rpc(self) -> Rpc:
        """Open a connection to some worker."""
        rpc = Rpc(self.live.url)
        self._open.append(rpc)
        return rpc

    def pids(self, name: str = "") -> list[int]:
        """Return the processes whose names have this prefix."""
        return [pid for who, pid in names_of(self.live.process.pid) if who.startswith(name)]

    def each(self) -> list[Rpc]:
        """Return a connection to each worker."""
        clients: dict[int, Rpc] = {}

        def poll() -> bool:
            rpc = self.rpc()
            if rpc.request("GET", "/readyz").status == 200:
                pid = server_of(rpc, self.pids("worker"))
                if pid is not None:
                    clients.setdefault(pid, rpc)
            return len(clients) == self.workers

        wait_for(poll, SECONDS, "connection to each worker", lambda: f"{clients}\n{self.live.printed[-2000:]}")
        return list(clients.values())

    def close(self) -> None:
        """Close all connections."""
        for rpc in (*self._open, self.sequencer):
            rpc.close()


@contextlib.contextmanager
def stopped_cleanly(node: WorkersNode) -> Iterator[WorkersNode]:
    """Stop a node at the end; it must exit with 0."""
    try:
        yield node
        node.close()
        code = node.live.stop()
        assert code == 0, f"foreseal ended with exit code {code}:\n{node.live.printed[-3000:]}"
    finally:
        node.close()
        if node.live.process.poll() is None:
            node.live.kill()


@contextlib.contextmanager
def workers_node(
    datadir: Path,
    workers: int = 2,
    *arguments: str,
    wrap: Wrap = list,
    values: Mapping[str, object] | None = None,
) -> Iterator[WorkersNode]:
    """Run a node that must stop cleanly."""
    with stopped_cleanly(WorkersNode(datadir, workers, *arguments, wrap=wrap, values=values)) as node:
        yield node
