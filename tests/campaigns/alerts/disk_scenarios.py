"""Causes in the disk of a node."""

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from alerts.scenario import Scenario, Started, node_job
from live import DEV_ACCOUNTS, live_node
from live.sending import Sender

_TMPFS_SIZE = 160 << 20


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[Started]:
    """Fill the file system of a data directory; needs root."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_TMPFS_SIZE}", "tmpfs", str(disk)], check=True)
    try:
        with ExitStack() as stack:
            node = stack.enter_context(live_node("--datadir", str(disk / "chain"), "--block-time", "1s"))
            with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(1 << 16))
            sender = Sender(node.rpc, DEV_ACCOUNTS[0])

            def send() -> None:
                with contextlib.suppress(Exception):
                    sender.send(data="0x" + "ab" * 60_000, gas=3_000_000)

            yield Started(node_job(node), send)
            # A stop closes the journal, which needs space.
            (disk / "filler").unlink()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


DISK_SCENARIOS = (Scenario("a full disk", frozenset({"ForesealNodeNotReady", "ForesealNoTicks"}), full_disk),)
