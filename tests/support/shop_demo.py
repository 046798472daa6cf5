"""`foreseal pay demo --shop` started like by its user."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from live import wait_for
from live.process import STOP_TIME, Served, foreseal_command, stopping

_LINK = re.compile(r"^  (\w[\w ]*\w) +(http://\S+)$", re.MULTILINE)


class ShopDemo(Served):
    """A running demo."""

    URL = re.compile(r"(?<=Demo shop at )http://\S+:\d+")
    READY = "/"

    def __init__(self, *arguments: str) -> None:
        super().__init__([foreseal_command(), "pay", "demo", "--shop", *arguments])
        wait_for(lambda: "Ctrl-C" in self.printed, STOP_TIME, "the links")
        self.links = dict(_LINK.findall(self.printed))
        """Printed links by name."""
        self.service: str = self.links["Service API"].removesuffix("/docs")
        """URL of the merchant service."""
        key = re.search(r"API key +(\S+) \(role admin\)", self.printed)
        assert key is not None, self.printed
        self.admin_key = key[1]
        """API key for the dashboard."""
        self.node: str = self.links["Node"]
        """URL of the node."""

    def children(self) -> list[int]:
        """Return the ids of its child processes."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]


@contextmanager
def shop_demo(*arguments: str) -> Iterator[ShopDemo]:
    """Run the demo; SIGTERM at the end must stop it with exit code 0."""
    with stopping(ShopDemo(*arguments)) as demo:
        yield demo
