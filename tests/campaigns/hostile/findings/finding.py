"""A finding: its reproduction from outside, and its verdict."""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hostile.build import Build
from hostile.chain import Chain, kill_quietly
from hostile.wire import Response, Socket
from live.group import group_of
from live.process import LiveNode


@dataclass
class Row:
    """Result of one measurement of a finding."""

    finding: str
    case: str
    measured: str
    is_open: bool


@dataclass
class Bench:
    """Build, folder and options of a reproduction."""

    build: Build
    folder: Path
    addresses: tuple[int, ...] = (1, 10, 100)
    seconds: float = 5.0
    rows: list[Row] = field(default_factory=list)
    on_row: Callable[[Row], None] = print

    def add(self, finding: str, case: str, measured: str, *, is_open: bool) -> None:
        """Record a row."""
        row = Row(finding, case, measured, is_open)
        self.rows.append(row)
        self.on_row(row)

    @contextlib.contextmanager
    def chain(self) -> Iterator[Chain]:
        """Provide a new chain in a new folder."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            yield Chain(self.build, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def node(self, *options: str, keys: int = 0) -> Iterator[tuple[Chain, LiveNode]]:
        """Run a public node on a new chain with this many API keys, and kill it at the end."""
        with self.chain() as chain, self.running(chain, *options, keys=keys) as node:
            yield chain, node

    @contextlib.contextmanager
    def running(self, chain: Chain, *options: str, keys: int = 0) -> Iterator[LiveNode]:
        """Run a public node on a chain."""
        node = chain.start("--public", *options)
        try:
            for number in range(keys):
                chain.create_key(f"key-{number}")
            if keys:
                # Running nodes poll the file of keys four times a second.
                time.sleep(1.2)
            yield node
        finally:
            kill_quietly(node)


def pids_of(node: LiveNode) -> list[int]:
    """Return the processes of a node."""
    return group_of(node.process.pid)


def exchange(port: int, data: bytes, source: str = "127.0.0.2", timeout: float = 10.0) -> Response | None:
    """Send bytes on a new connection and return the response; None if the connection ends without one."""
    try:
        with Socket(port, source, timeout) as line:
            line.send(data)
            return line.response()
    except (OSError, IndexError, ValueError):
        return None
