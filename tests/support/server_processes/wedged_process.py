"""Serves a node that can be wedged: `python wedged_process.py TRANSPORT MS_OF_DRAIN_TIME`.

The method `wedge` holds the interpreter's lock forever, and after the method `hang` the node never stops.
"""

import sys
import threading
from pathlib import Path

from foreseal.server import App, Settings
from foreseal.server.runner import serve
from wedge import lock_up

from fake_core import FakeNode


class Wedged(FakeNode):
    """A node that does not stop."""

    hangs = False

    def answer(self, method: str, params: bytes, ticket: int, block: int) -> bytes | None:
        if method == "wedge":
            print("wedged", flush=True)
            lock_up()
        if method == "hang":
            self.hangs = True
            return b"true"
        return super().answer(method, params, ticket, block)

    def stop(self) -> None:
        if self.hangs:
            threading.Event().wait()


if __name__ == "__main__":
    app = App(Settings(Path("unused"), drain_time=int(sys.argv[2])), make_node=Wedged)
    serve(app, "127.0.0.1", 0, lambda url: print(url, flush=True), transport=sys.argv[1])
