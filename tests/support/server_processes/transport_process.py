"""Serves a double of the core on a socket, in a separate process.

Usage: `python transport_process.py TRANSPORT PORT SECONDS_TO_OPEN SECONDS_OF_SLOW_CALLS MS_OF_DRAIN_DELAY`.
"""

import sys
import threading
import time
from pathlib import Path

from foreseal.cli.entry import stop_quietly_from_now
from foreseal.server import App, Settings
from foreseal.server.runner import serve
from foreseal.server.sockets.address import AddressError

from fake_core import FakeNode

TRANSPORT, PORT = sys.argv[1], int(sys.argv[2])
SECONDS_TO_OPEN, SECONDS_OF_SLOW_CALLS, DRAIN_DELAY = float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])


class ReportingNode(FakeNode):
    """Reports its start and stop on standard output."""

    def __init__(self, settings: bytes) -> None:
        print("opening", flush=True)
        time.sleep(SECONDS_TO_OPEN)
        super().__init__(settings)
        self.hold = SECONDS_OF_SLOW_CALLS > 0

    def call(self, method: str, params: bytes, ticket: int, caller: object = None) -> bytes | None:
        result = super().call(method, params, ticket)
        if self.hold and result is None:
            timer = threading.Timer(SECONDS_OF_SLOW_CALLS, self.release)
            timer.daemon = True
            timer.start()
        return result

    def start(self) -> None:
        print("started", flush=True)

    def stop(self) -> None:
        print("stopped", flush=True)


if __name__ == "__main__":
    stop_quietly_from_now()
    app = App(Settings(Path("unused"), drain_delay=DRAIN_DELAY), make_node=ReportingNode)
    try:
        serve(app, "127.0.0.1", PORT, lambda url: print(url, flush=True), transport=TRANSPORT)
    except AddressError as error:
        sys.exit(str(error))
